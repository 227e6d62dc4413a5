"""The proposed rank order: never worse than any search finds, quick, stable, and honest about unknown places."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence

import pytest

from netkit.gangs.rank_order import rank_order, ring_hops, together
from netkit.model.gang import Evidence, Member, Placement, Rank, RankOf

EVIDENCE = Evidence(object="Pod a", field="label", value="0", system="synthetic")


def member(rank: int, node: str, *domains: str) -> Member:
    return Member(
        namespace="a",
        pod=f"p{rank}",
        uid=f"u{rank}",
        phase="Running",
        placement=Placement(node=node, domains=domains) if node else None,
        rank=Rank(number=rank, of=RankOf.NODE, evidence=EVIDENCE),
    )


def fabric(seed: int, most: int = 1024) -> list[Member]:
    """A random fabric: nodes below leaves below spines, ranks thrown on them, several to a node."""
    rng = random.Random(seed)
    ranks = rng.choice([2, 3, 5, 8, 17, 64, 200, rng.randint(2, most)])
    leaves, spines = rng.randint(1, max(1, ranks // 2)), rng.randint(1, 8)
    above = {f"leaf{at}": f"spine{rng.randrange(spines)}" for at in range(leaves)}
    nodes = {f"n{at}": f"leaf{rng.randrange(leaves)}" for at in range(ranks)}
    chosen = [rng.choice(list(nodes)) for _ in range(ranks)]
    return [member(at, node, nodes[node], above[nodes[node]]) for at, node in enumerate(chosen)]


def reference_search(members: Sequence[Member], seed: int) -> int:
    """The fewest cross-leaf hops that other ways find: exhaustion where small, else starts with greedy and swaps."""
    if len(members) <= 6:
        orders = itertools.permutations(members[1:])
        return min(ring_hops((members[0], *order)).cross_leaf for order in orders)
    rng = random.Random(seed)
    return min(ring_hops(nearest_first(members, start)).cross_leaf for start in rng.sample(range(len(members)), 3))


def nearest_first(members: Sequence[Member], start: int) -> list[Member]:
    """Walk to a member of the same node, else leaf, else spine, else anywhere."""
    left = dict.fromkeys(range(len(members)))
    order = [start]
    left.pop(start)
    while left:
        here = members[order[-1]].placement
        assert here is not None
        following = max(left, key=lambda at: closeness(here, members[at].placement))
        order.append(following)
        left.pop(following)
    return [members[at] for at in order]


def closeness(one: Placement, other: Placement | None) -> tuple[bool, ...]:
    assert other is not None
    return (one.leaf == other.leaf, one.domains[1] == other.domains[1], one.node == other.node)


@pytest.mark.parametrize("block", range(4))
def test_never_more_hops_than_a_search_finds(block: int) -> None:
    """On 200 random fabrics of up to 1,024 ranks, each within two seconds; rank 0 stays."""
    for seed in range(50 * block, 50 * block + 50):
        members = fabric(seed, most=1024 if seed % 10 == 0 else 150)
        started = time.process_time()
        order = rank_order(members)
        assert time.process_time() - started < 2
        assert order.best.cross_leaf <= reference_search(members, seed), seed
        assert order.best.cross_leaf <= order.now.cross_leaf
        assert sum(order.best.by_level[2:]) <= sum(order.now.by_level[2:])
        assert order.proposed[0] is members[0]
        assert {one.uid for one in order.proposed} == {one.uid for one in members}


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_reached_at_every_level(seed: int) -> None:
    """A ring through L leaves leaves a leaf L times, through S spines a spine S times: fewer is impossible."""
    order = rank_order(fabric(seed))
    for level, domain in ((1, 0), (2, 1)):
        held = {one.placement.domains[domain] for one in order.proposed if one.placement}
        assert sum(order.best.by_level[level:]) == (len(held) if len(held) > 1 else 0)


def test_the_largest_gang_is_ordered_at_once() -> None:
    """1,024 ranks over 128 nodes: far below two seconds."""
    members = [member(at, f"n{at % 128}", f"leaf{at % 16}", f"spine{at % 4}") for at in range(1024)]
    started = time.process_time()
    order = rank_order(members)
    assert time.process_time() - started < 0.5
    assert (order.now.cross_leaf, order.best.cross_leaf) == (1024, 16)


def test_a_good_order_is_left_alone() -> None:
    """Nothing moves when nothing can be won."""
    members = [member(at, f"n{at}", f"leaf{at // 4}") for at in range(8)]
    order = rank_order(members)
    assert (order.moved, order.proposed) == (0, tuple(members))


def test_members_without_a_place_are_named_and_not_guessed() -> None:
    """A pod without a node, or on a node whose leaf nobody tells, is in no ring."""
    order = rank_order([member(0, "n0", "leaf0"), member(1, ""), member(2, "n2"), member(3, "n3", "leaf0")])
    assert [one.pod for one in order.unplaced] == ["p1", "p2"]
    assert order.now.by_level == (2,)


def test_two_ranks_ring_twice_over_one_link() -> None:
    """A ring of two goes there and back; a ring of one goes nowhere."""
    assert ring_hops([member(0, "a", "x"), member(1, "b", "y")]).by_level == (0, 2)
    assert ring_hops([member(0, "a", "x")]).by_level == ()
    assert together([], {}) == ()
