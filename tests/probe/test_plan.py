"""Rounds of disjoint groups: every matching is perfect, the second is independent, confirmation uses clean partners."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.probe import Distance, Fabric, Round
from netkit.probe.plan import History, Suspicion, confirm_round, far_round, intra_round, near_round, small_gang_rounds


def fabric(nodes: int, rails: int = 2, leaves: int = 1) -> Fabric:
    names = tuple(f"n{index}" for index in range(nodes))
    return Fabric(
        nodes=names, rails=rails, leaf_of={name: f"l{index * leaves // nodes}" for index, name in enumerate(names)}
    )


def ports_used(planned: Round) -> Counter[tuple[str, int]]:
    return Counter((node, rail) for group in planned.groups for node in group.nodes for rail in group.rails)


def pairs(planned: Round) -> set[frozenset[str]]:
    return {frozenset(group.nodes) for group in planned.groups}


@given(nodes=st.integers(4, 120), rails=st.integers(1, 4), leaves=st.integers(1, 6), seed=st.integers(0, 99))
def test_matchings_use_every_port_once_and_leave_out_at_most_one_node(
    nodes: int, rails: int, leaves: int, seed: int
) -> None:
    """In both matchings no port is in two groups, and only an odd node sits out."""
    gang = fabric(nodes, rails, leaves)
    near = near_round(gang, seed)
    for planned in (near, far_round(gang, seed, near)):
        used = ports_used(planned)
        assert set(used.values()) == {1}
        assert len(planned.sitting_out) == nodes % 2
        assert len(used) == (nodes - nodes % 2) * rails


@given(nodes=st.integers(5, 121).filter(lambda n: n % 2 == 1), seed=st.integers(0, 99))
def test_the_node_that_sat_out_is_matched_in_the_next_round(nodes: int, seed: int) -> None:
    """An odd node out is never left out twice in a row."""
    gang = fabric(nodes)
    near = near_round(gang, seed)
    far = far_round(gang, seed, near)
    assert not set(near.sitting_out) & set(far.sitting_out)


@pytest.mark.parametrize(("nodes", "leaves"), [(8, 2), (16, 4), (12, 3), (64, 8), (96, 4)])
def test_the_first_matching_stays_under_the_leaves_and_the_second_crosses_them(nodes: int, leaves: int) -> None:
    """Near pairs share a leaf; far pairs do not, when leaves are even."""
    gang = fabric(nodes, leaves=leaves)
    near = near_round(gang, 1)
    assert {group.distance for group in near.groups} == {Distance.NEAR}
    assert {group.distance for group in far_round(gang, 1, near).groups} == {Distance.FAR}


@pytest.mark.parametrize("nodes", [4, 6, 8, 33, 100])
def test_the_two_matchings_share_no_pair(nodes: int) -> None:
    """A port's two readings come from two partners."""
    gang = fabric(nodes)
    for seed in range(20):
        near = near_round(gang, seed)
        assert not pairs(near) & pairs(far_round(gang, seed, near))


def test_the_same_seed_plans_the_same_rounds() -> None:
    """A plan is repeatable, and another seed gives another plan."""
    gang = fabric(64, leaves=4)
    assert near_round(gang, 3) == near_round(gang, 3)
    assert near_round(gang, 3) != near_round(gang, 4)


def test_the_first_round_looks_inside_every_node() -> None:
    """Intra-node groups hold one node each."""
    assert [group.nodes for group in intra_round(fabric(3)).groups] == [("n0",), ("n1",), ("n2",)]


@pytest.mark.parametrize(("nodes", "expected"), [(1, 0), (2, 3), (3, 3)])
def test_small_gangs_measure_every_pair(nodes: int, expected: int) -> None:
    """Two nodes are measured three times, three nodes once per pair."""
    rounds = small_gang_rounds(fabric(nodes))
    assert len(rounds) == expected
    assert all(len(planned.groups) == 1 for planned in rounds)


@given(nodes=st.integers(6, 60), bad=st.integers(1, 5), seed=st.integers(0, 50))
def test_suspects_are_confirmed_with_fresh_clean_partners(nodes: int, bad: int, seed: int) -> None:
    """While clean nodes suffice, a suspect's partner is neither suspect nor met before."""
    gang = fabric(nodes, rails=2)
    near = near_round(gang, seed)
    history = History()
    history.add(near.groups)
    suspects = {(f"n{index}", 1) for index in range(bad)}
    planned = confirm_round(gang, 4, Suspicion(ports=suspects), history, seed)
    assert set(ports_used(planned).values()) == {1}
    if nodes < 2 * bad + 2:
        return
    for group in planned.groups:
        suspect, partner = group.nodes
        assert (suspect, 1) in suspects
        assert (partner, 1) not in suspects
        assert frozenset(group.nodes) not in pairs(near)


def test_a_suspect_uplink_is_loaded_by_every_node_of_its_rail() -> None:
    """Confirming an uplink with two pairs would not fill it."""
    gang = fabric(16, rails=3, leaves=2)
    planned = confirm_round(gang, 4, Suspicion(uplinks={(2, frozenset({"l0", "l1"}))}), History(), 0)
    assert ports_used(planned) == Counter({(f"n{index}", 2): 1 for index in range(16)})
    assert {group.distance for group in planned.groups} == {Distance.FAR}


@pytest.mark.parametrize(("nodes", "leaves"), [(8, 2), (12, 3), (20, 5), (16, 4)])
def test_a_suspect_uplink_carries_all_its_traffic_one_way_at_a_time(nodes: int, leaves: int) -> None:
    """Every node of the suspect leaf is on the same side of its pair, so the uplink is full in each direction."""
    gang = fabric(nodes, rails=1, leaves=leaves)
    for leaf in set(gang.leaf_of.values()):
        planned = confirm_round(gang, 4, Suspicion(uplinks={(0, frozenset({leaf}))}), History(), 0)
        sides = {
            group.nodes.index(node) for group in planned.groups for node in group.nodes if gang.leaf_of[node] == leaf
        }
        assert len(sides) == 1


def test_a_suspect_pair_is_measured_again_as_it_is() -> None:
    """Only the same two ports together can show a pair fault."""
    planned = confirm_round(fabric(8), 4, Suspicion(pairs={("n1", "n5", 0)}), History(), 0)
    assert [(group.nodes, group.rails) for group in planned.groups] == [(("n1", "n5"), (0,))]


def test_suspects_without_clean_partners_confirm_each_other() -> None:
    """When a whole rail is low there is nobody clean to ask."""
    gang = fabric(4, rails=1)
    planned = confirm_round(gang, 4, Suspicion(ports={(node, 0) for node in gang.nodes}), History(), 0)
    assert ports_used(planned) == Counter({(node, 0): 1 for node in gang.nodes})
