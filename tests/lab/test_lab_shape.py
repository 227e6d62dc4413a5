"""Names, addresses and limits of a lab."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.lab.shape import (
    NODES,
    RAILS,
    Shape,
    Transport,
    checked_name,
    checked_shape,
    leaf_place,
    node_index,
    payload_rate,
    port_name,
)

MBIT = 1e6 / 8


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    nodes = draw(st.integers(NODES[0], 48))
    leaves = draw(st.integers(1, nodes))
    return checked_shape(nodes=nodes, rails=draw(st.integers(1, 4)), leaves=leaves, rate=200 * MBIT, uplink_rate=None)


@given(shapes(), st.sampled_from(Transport))
def test_every_port_has_an_address_of_its_own_that_a_host_may_have(shape: Shape, transport: Transport) -> None:
    """No two ports share an address, and none is the network or broadcast address of its rail."""
    rows = [
        ipaddress.IPv4Interface(shape.address(node, rail, transport) + "/16")
        for rail in range(shape.rails)
        for node in range(shape.nodes)
    ]
    assert len({row.ip for row in rows}) == shape.nodes * shape.rails
    assert all(row.ip not in (row.network.network_address, row.network.broadcast_address) for row in rows)


def test_the_largest_lab_stays_within_its_address_range() -> None:
    """Node 255 of rail 15 still has an address in the rail's network, and device names fit the kernel's 15."""
    shape = checked_shape(nodes=NODES[-1], rails=RAILS[-1], leaves=256, rate=None, uplink_rate=None)
    assert shape.address(255, 15, Transport.NAMESPACES) == "10.15.1.0"
    names = [port_name(255, 15), *(cable.far_device for cable in shape.cables(15))]
    assert max(map(len, names)) <= 15


@given(shapes())
def test_nodes_are_spread_evenly_over_leaves(shape: Shape) -> None:
    """Leaf sizes differ by at most one and no leaf is empty."""
    sizes = [shape.leaf_size(leaf) for leaf in range(shape.leaves)]
    assert sum(sizes) == shape.nodes
    assert 0 < min(sizes) <= max(sizes) <= min(sizes) + 1


@given(shapes())
def test_the_default_uplink_carries_everything_a_leaf_can_send(shape: Shape) -> None:
    """Without --uplink-rate no leaf is oversubscribed."""
    assert shape.uplink_rate is not None
    assert shape.rate is not None
    assert all(shape.uplink_rate >= shape.offered_flows(leaf) * shape.rate for leaf in range(shape.leaves))


@pytest.mark.parametrize(("leaves", "cables"), [(1, 0), (2, 1), (3, 3), (8, 8)])
def test_two_leaves_share_one_cable_and_more_hang_from_a_spine(leaves: int, cables: int) -> None:
    """The number of cables of a rail follows from its leaves."""
    shape = checked_shape(nodes=8, rails=1, leaves=leaves, rate=MBIT, uplink_rate=None)
    assert len(shape.cables(0)) == cables


def test_several_uplinks_are_as_many_cables_that_share_the_load() -> None:
    """Each has a name of its own at either end, and together they carry what one would have."""
    shape = checked_shape(nodes=8, rails=2, leaves=2, rate=100 * MBIT, uplink_rate=None, uplinks=4)
    cables = [cable for rail in range(2) for cable in shape.cables(rail)]
    assert len({name for cable in cables for name in (cable.device, cable.far_device)}) == 16
    assert shape.uplink_rate == 100 * MBIT


def test_payload_is_within_one_percent_of_the_wire() -> None:
    """Jumbo frames lose less than one percent to headers."""
    assert 0.99 < payload_rate(1.0) < 1.0


@pytest.mark.fault("I14")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nodes": 1}, "--nodes 1: accepted is 2 to 256 (did you mean '2'?)"),
        ({"nodes": 257}, "--nodes 257: accepted is 2 to 256 (did you mean '256'?)"),
        ({"rails": 0}, "--rails 0: accepted is 1 to 16 (did you mean '1'?)"),
        ({"leaves": 9}, "--leaves 9: accepted is 1 to 8 (did you mean '8'?)"),
        ({"rate": 1.0}, "--rate 8 bit/s: accepted is 1 Mbit/s to 32 Gbit/s, or none for unshaped"),
        ({"uplink_rate": 1.0}, "--uplink-rate 8 bit/s: accepted is 1 Mbit/s to 32 Gbit/s, or none for unshaped"),
        ({"uplinks": 9}, "--uplinks 9: accepted is 1 to 8 (did you mean '8'?)"),
        ({"uplinks": 4, "leaves": 3}, "--uplinks 4 with 3 leaves: accepted is several uplinks between 2 leaves"),
        ({"rate": None, "uplink_rate": MBIT}, "--uplink-rate with --rate none: accepted is"),
    ],
)
def test_a_shape_no_lab_can_have_is_refused_in_one_line(change: dict[str, float | None], said: str) -> None:
    """Each limit is named with its range."""
    wanted = {"nodes": 8, "rails": 2, "leaves": None, "rate": 200 * MBIT, "uplink_rate": None} | change
    with pytest.raises(InputError) as refused:
        checked_shape(**wanted)  # type: ignore[arg-type]
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a/b", "../x", "a b", "x" * 25, "lab\n", "l\x1b[2J", "läb"])
def test_a_name_that_is_no_plain_word_is_refused(name: str) -> None:
    """Lab names become file names: nothing but short plain words."""
    with pytest.raises(InputError) as refused:
        checked_name(name)
    assert str(refused.value).isprintable()


def test_a_wrong_node_or_leaf_is_answered_with_the_range_and_the_nearest_name() -> None:
    """`n33` of eight nodes is n3 mistyped; `r9l0` names a rail that is not there."""
    shape = checked_shape(nodes=8, rails=2, leaves=2, rate=MBIT, uplink_rate=None)
    with pytest.raises(InputError, match=r"node 'n33': accepted is n0 to n7 \(did you mean 'n3'\?\)"):
        node_index(shape, "n33")
    with pytest.raises(InputError, match=r"leaf 'r9l0': accepted is r0l0 to r1l1 .* \(did you mean 'r0l0'|r1l0"):
        leaf_place(shape, "r9l0")
    assert leaf_place(shape, "r1l0") == (1, 0)
