"""Who measures with whom: rounds of disjoint groups, a constant number of them whatever the gang's size.

Round 1 looks inside every node; rounds 2 and 3 are two independent perfect matchings, one under the leaves and
one across them, timed on every rail at once; up to three confirmation rounds give each suspect fresh clean
partners. Everything here is pure: the same fabric and seed give the same plan. Linear in ports.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations

from netkit.model.probe import Distance, Fabric, Group, Round, RoundKind

Port = tuple[str, int]
Pair = tuple[str, str]

# A relative judgement needs a cohort: with three nodes every reading shares a node with every other.
SMALLEST_COHORT = 4
# Repairing a matching looks at this many other pairs before it accepts a less wanted partner.
_REPAIR_TRIES = 32
_REPAIR_PASSES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """What is still open after the rounds so far.

    `ports` are low in every reading they had; `pairs` (with their rail) were low while both ends are clean
    elsewhere; `uplinks` (a rail and its leaves) need every node of the rail to load them again.
    """

    ports: AbstractSet[Port] = frozenset()
    pairs: AbstractSet[tuple[str, str, int]] = frozenset()
    uplinks: AbstractSet[tuple[int, frozenset[str]]] = frozenset()

    def __bool__(self) -> bool:
        """Tell whether anything is open."""
        return bool(self.ports or self.pairs or self.uplinks)


@dataclass(slots=True)
class History:
    """Who already measured with whom, and on which rails."""

    partners: dict[str, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)

    def add(self, groups: Iterable[Group]) -> None:
        """Remember the pairs of a round."""
        for group in groups:
            if len(group.nodes) == 2:
                first, second = group.nodes
                self.partners.setdefault(first, []).append((second, group.rails))
                self.partners.setdefault(second, []).append((first, group.rails))

    def met(self, first: str, second: str, rails: Iterable[int]) -> bool:
        """Tell whether the two nodes were partners on any of the rails."""
        met_on = [on for partner, on in self.partners.get(first, ()) if partner == second]
        return any(rail in on for on in met_on for rail in rails)


def distance(fabric: Fabric, first: str, second: str) -> Distance:
    """Return the distance class of two nodes; without a leaf map everything is near."""
    return Distance.NEAR if fabric.leaf_of.get(first) == fabric.leaf_of.get(second) else Distance.FAR


def intra_round(fabric: Fabric) -> Round:
    """Round 1: every node alone."""
    rails = tuple(range(fabric.rails))
    groups = tuple(Group(nodes=(node,), rails=rails, distance=Distance.INTRA) for node in fabric.nodes)
    return Round(number=1, kind=RoundKind.INTRA, groups=groups)


def near_round(fabric: Fabric, seed: int) -> Round:
    """Round 2: a perfect matching under the leaves; nodes left over in odd leaves are matched with each other."""
    rng = random.Random(f"{seed}:near")
    pairs: list[Pair] = []
    leftovers: list[str] = []
    for members in _shuffled_leaves(fabric, rng):
        pairs += zip(members[0::2], members[1::2], strict=False)
        leftovers += members[len(members) // 2 * 2 :]
    pairs += zip(leftovers[0::2], leftovers[1::2], strict=False)
    return _matching(fabric, 2, pairs, leftovers[len(leftovers) // 2 * 2 :])


def far_round(fabric: Fabric, seed: int, near: Round) -> Round:
    """Round 3: an independent perfect matching across the leaves; whoever sat out before is matched first."""
    history = History()
    history.add(near.groups)
    rng = random.Random(f"{seed}:far")
    pairs, left_out = _across_leaves(fabric, near.sitting_out, range(fabric.rails), history, rng)
    return _matching(fabric, 3, pairs, left_out)


def small_gang_rounds(fabric: Fabric) -> tuple[Round, ...]:
    """Return the rounds for fewer than four nodes: every pair, three readings each for two nodes, one for three."""
    pairs = list(combinations(fabric.nodes, 2))
    if len(pairs) == 1:
        pairs *= 3
    return tuple(
        _matching(fabric, number, [pair], [node for node in fabric.nodes if node not in pair])
        for number, pair in enumerate(pairs, 2)
    )


def confirm_round(fabric: Fabric, number: int, suspicion: Suspicion, history: History, seed: int) -> Round:
    """One confirmation round: suspects with fresh clean partners, suspect pairs again, suspect rails under load."""
    rng = random.Random(f"{seed}:confirm:{number}")
    busy: set[Port] = set()
    groups = [*_loaded_rails(fabric, suspicion, history, rng, busy), *_repeated_pairs(fabric, suspicion, busy)]
    groups += _fresh_partners(fabric, suspicion, history, rng, busy)
    return Round(number=number, kind=RoundKind.CONFIRM, groups=tuple(groups))


def _loaded_rails(
    fabric: Fabric, suspicion: Suspicion, history: History, rng: random.Random, busy: set[Port]
) -> Iterator[Group]:
    for rail in sorted({rail for rail, _ in suspicion.uplinks}):
        suspects = frozenset[str]().union(*(leaves for suspect, leaves in suspicion.uplinks if suspect == rail))
        pairs, _ = _across_leaves(fabric, (), (rail,), history, rng, loaded=suspects)
        for first, second in pairs:
            busy |= {(first, rail), (second, rail)}
            yield Group(nodes=(first, second), rails=(rail,), distance=distance(fabric, first, second))


def _repeated_pairs(fabric: Fabric, suspicion: Suspicion, busy: set[Port]) -> Iterator[Group]:
    for first, second, rail in sorted(suspicion.pairs):
        if (first, rail) not in busy and (second, rail) not in busy:
            busy |= {(first, rail), (second, rail)}
            yield Group(nodes=(first, second), rails=(rail,), distance=distance(fabric, first, second))


def _fresh_partners(
    fabric: Fabric, suspicion: Suspicion, history: History, rng: random.Random, busy: set[Port]
) -> Iterator[Group]:
    open_ports = sorted(port for port in suspicion.ports if port not in busy)
    rng.shuffle(open_ports)
    by_leaf = _by_leaf(fabric, (node for leaf in _shuffled_leaves(fabric, rng) for node in leaf))
    for node, rails in _by_node(open_ports):
        for some_rails in _placeable(node, rails, busy):
            partner = _partner(fabric, node, some_rails, suspicion, history, busy, by_leaf)
            if partner is None:
                continue
            busy |= {(member, rail) for member in (node, partner) for rail in some_rails}
            yield Group(nodes=(node, partner), rails=some_rails, distance=distance(fabric, node, partner))


def _placeable(node: str, rails: tuple[int, ...], busy: set[Port]) -> Iterator[tuple[int, ...]]:
    """Try all free suspect rails of a node with one partner first, then whatever is left one by one."""
    free = tuple(rail for rail in rails if (node, rail) not in busy)
    if free:
        yield free
    for rail in free:
        if (node, rail) not in busy:
            yield (rail,)


def _partner(
    fabric: Fabric,
    node: str,
    rails: tuple[int, ...],
    suspicion: Suspicion,
    history: History,
    busy: set[Port],
    by_leaf: dict[str, list[str]],
) -> str | None:
    """Return the best free partner: clean and fresh under the same leaf, then elsewhere, then merely free."""
    own = fabric.leaf_of.get(node, "")
    homes = [by_leaf.get(own, []), *(members for leaf, members in by_leaf.items() if leaf != own)]
    for wanted_clean, wanted_fresh in ((True, True), (True, False), (False, True), (False, False)):
        for members in homes:
            for other in members:
                if other == node or any((other, rail) in busy for rail in rails):
                    continue
                if wanted_clean and any((other, rail) in suspicion.ports for rail in rails):
                    continue
                if wanted_fresh and history.met(node, other, rails):
                    continue
                members.remove(other)
                members.append(other)  # spread the load: the next suspect starts with another partner
                return other
    return None


def _across_leaves(
    fabric: Fabric,
    wanted: Collection[str],
    rails: Iterable[int],
    history: History,
    rng: random.Random,
    loaded: Collection[str] = (),
) -> tuple[list[Pair], tuple[str, ...]]:
    """Pair nodes of one half of the leaves with nodes of the other; return the pairs, and who is left out.

    The first of every pair belongs to the first half: a pair is measured one way after the other, and an uplink is
    full only when all its traffic crosses it in the same direction. A leaf in the middle is split between the halves
    and fills its uplink half; leaves in `loaded` are kept out of the middle. Nodes in `wanted` are not left out. Pairs
    that share a leaf or met before are mended by swapping partners.
    """
    rails = tuple(rails)
    leaves = _shuffled_leaves(fabric, rng)
    rng.shuffle(leaves)
    leaves = _outermost(leaves, [members for members in leaves if fabric.leaf_of.get(members[0]) in loaded])
    order = [node for members in leaves for node in members]
    left_out = [node for node in reversed(order) if node not in wanted][: len(order) % 2]
    order = [node for node in order if node not in left_out]
    half = len(order) // 2
    pairs = list(zip(order[:half], order[half:], strict=True))
    has_leaves = len(leaves) > 1

    def unwanted(first: str, second: str) -> int:
        same_leaf = has_leaves and distance(fabric, first, second) is Distance.NEAR
        return 2 * same_leaf + history.met(first, second, rails)

    for _ in range(_REPAIR_PASSES):
        left = [index for index, pair in enumerate(pairs) if unwanted(*pair)]
        for index in left:
            _swap_partners(pairs, index, unwanted, rng)
        if not left:
            break
    return pairs, tuple(left_out)


def _outermost(leaves: list[list[str]], outer: list[list[str]]) -> list[list[str]]:
    """Put the outer leaves at the two ends, in turn."""
    inner = [members for members in leaves if members not in outer]
    return [*outer[0::2], *inner, *outer[1::2]]


def _swap_partners(pairs: list[Pair], index: int, unwanted: Callable[[str, str], int], rng: random.Random) -> None:
    first, second = pairs[index]
    for _ in range(_REPAIR_TRIES):
        other = rng.randrange(len(pairs))
        third, fourth = pairs[other]
        before = unwanted(first, second) + unwanted(third, fourth)
        if other != index and unwanted(first, fourth) + unwanted(third, second) < before:
            pairs[index], pairs[other] = (first, fourth), (third, second)
            return


def _matching(fabric: Fabric, number: int, pairs: Iterable[Pair], sitting_out: Iterable[str]) -> Round:
    rails = tuple(range(fabric.rails))
    groups = tuple(Group(nodes=pair, rails=rails, distance=distance(fabric, *pair)) for pair in pairs)
    return Round(number=number, kind=RoundKind.MATCHING, groups=groups, sitting_out=tuple(sitting_out))


def _shuffled_leaves(fabric: Fabric, rng: random.Random) -> list[list[str]]:
    leaves = list(_by_leaf(fabric, fabric.nodes).values())
    for members in leaves:
        rng.shuffle(members)
    return leaves


def _by_leaf(fabric: Fabric, nodes: Iterable[str]) -> dict[str, list[str]]:
    leaves: dict[str, list[str]] = {}
    for node in nodes:
        leaves.setdefault(fabric.leaf_of.get(node, ""), []).append(node)
    return leaves


def _by_node(ports: Iterable[Port]) -> Iterator[tuple[str, tuple[int, ...]]]:
    nodes: dict[str, list[int]] = {}
    for node, rail in ports:
        nodes.setdefault(node, []).append(rail)
    return ((node, tuple(sorted(rails))) for node, rails in nodes.items())
