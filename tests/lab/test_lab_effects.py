"""What faults do to the devices of a lab and to the pace of an emulated one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.lab.effects import FABRIC, Device, changed, pair_pace, port_devices, port_pace, settings
from netkit.lab.faults import Fault, Place, Where, checked_fault, parse_pair, with_fault, without_faults
from netkit.lab.shape import Shape, Transport, checked_shape, payload_rate
from netkit.model.probe import Direction

RATE = 25e6
SHAPE = checked_shape(nodes=8, rails=2, leaves=2, rate=RATE, uplink_rate=None)
SPINED = checked_shape(nodes=8, rails=2, leaves=4, rate=RATE, uplink_rate=None)

NODES = st.sampled_from(SHAPE.node_names)
RAILS = st.none() | st.integers(0, 1)
LEAVES = st.sampled_from(SHAPE.leaf_names)
WHERES = st.one_of(
    st.builds(Where, place=st.just(Place.NODE), node=NODES, rail=RAILS),
    st.builds(Where, place=st.sampled_from([Place.LEAF, Place.UPLINK]), leaf=LEAVES),
)
FRACTIONS = st.floats(0.01, 0.95)
SIDED = st.builds(Fault, where=WHERES, direction=st.sampled_from(Direction), slowdown=FRACTIONS)
PAIRED = st.builds(
    lambda ends, rail, slowdown: Fault(
        where=Where(place=Place.PAIR, node=ends[0], peer=ends[1], rail=rail), slowdown=slowdown
    ),
    st.lists(NODES, min_size=2, max_size=2, unique=True),
    RAILS,
    FRACTIONS,
)
DOWNED = st.builds(Fault, where=WHERES, down=st.just(True))
FAULTS = st.one_of(SIDED, PAIRED, DOWNED)


def node_fault(node: str, rail: int | None, direction: Direction = Direction.BOTH, slowdown: float = 0.2) -> Fault:
    return Fault(where=Where(place=Place.NODE, node=node, rail=rail), direction=direction, slowdown=slowdown)


def rates(shape: Shape, *faults: Fault) -> dict[Device, float | None]:
    """Return the new rate of every device the faults change."""
    found = changed(settings(shape, ()), settings(shape, faults))
    return {device: new.rate for device, (_, new) in found.items()}


@given(st.lists(FAULTS, max_size=4), FAULTS)
def test_setting_and_clearing_a_fault_leaves_every_device_as_it_was(active: list[Fault], new: Fault) -> None:
    """Clearing what was just set restores all settings, whatever else is active."""
    others: tuple[Fault, ...] = ()
    for fault in active:
        others = with_fault(others, fault)
    others = without_faults(others, new.where, None)
    again = without_faults(with_fault(others, new), new.where, None)
    assert settings(SHAPE, again) == settings(SHAPE, others)


@given(st.lists(FAULTS, max_size=5).flatmap(lambda chosen: st.tuples(st.just(chosen), st.permutations(chosen))))
def test_the_order_of_faults_does_not_matter(orders: tuple[list[Fault], list[Fault]]) -> None:
    """The deepest cut holds, whichever came first."""
    assert settings(SHAPE, orders[0]) == settings(SHAPE, orders[1])


@given(st.lists(FAULTS, max_size=5), st.sampled_from([SHAPE, SPINED]))
def test_no_fault_makes_anything_faster(active: list[Fault], shape: Shape) -> None:
    """Every rate under faults is at most the healthy one."""
    faults = [fault for fault in active if fault.where.leaf is None or fault.where.leaf in shape.leaf_names]
    for old, new in changed(settings(shape, ()), settings(shape, faults)).values():
        assert old.rate is not None
        assert new.rate is not None
        assert new.rate <= old.rate
        assert all(lane.rate is None or lane.rate < RATE for lane in new.lanes)


@pytest.mark.parametrize(("direction", "ends"), [(Direction.TX, {0}), (Direction.RX, {1}), (Direction.BOTH, {0, 1})])
def test_a_sided_cut_touches_only_that_end_of_the_cable(direction: Direction, ends: set[int]) -> None:
    """What a node sends is cut on its own device, what it receives on the leaf's."""
    devices = port_devices(3, 1)
    assert rates(SHAPE, node_fault("n3", 1, direction)) == {devices[end]: RATE * 0.8 for end in ends}


def test_a_node_without_a_rail_means_all_its_rails() -> None:
    """Two rails, two ends each."""
    touched = rates(SHAPE, node_fault("n3", None))
    assert set(touched) == {*port_devices(3, 0), *port_devices(3, 1)}


def test_a_leaf_fault_touches_every_port_under_it_and_nothing_else() -> None:
    """r1l0 serves n0 to n3 on rail 1."""
    fault = Fault(where=Where(place=Place.LEAF, leaf="r1l0"), slowdown=0.2)
    assert set(rates(SHAPE, fault)) == {device for node in range(4) for device in port_devices(node, 1)}


@pytest.mark.parametrize(
    ("shape", "leaf", "touched", "flows"),
    [
        (SHAPE, "r1l0", {"r1l0u", "r1l1u"}, 4),
        (SHAPE, "r1l1", {"r1l0u", "r1l1u"}, 4),
        (SPINED, "r0l2", {"r0l2u", "r0l2d"}, 2),
    ],
)
def test_an_uplink_cut_is_a_share_of_what_the_leaf_can_offer(
    shape: Shape, leaf: str, touched: set[str], flows: int
) -> None:
    """At a slowdown of 0.2 the uplink carries 80 percent of its nodes' full load."""
    found = rates(shape, Fault(where=Where(place=Place.UPLINK, leaf=leaf), slowdown=0.2))
    assert found == {Device(namespace=FABRIC, name=name): pytest.approx(0.8 * flows * RATE) for name in touched}


def test_a_cut_of_a_wide_uplink_still_bites() -> None:
    """An uplink with capacity to spare is cut below the offered load, not below its own rate."""
    wide = checked_shape(nodes=8, rails=1, leaves=2, rate=RATE, uplink_rate=RATE * 40)
    found = rates(wide, Fault(where=Where(place=Place.UPLINK, leaf="r0l0"), slowdown=0.2))
    assert list(found.values()) == pytest.approx([0.8 * 4 * RATE] * 2)


def test_a_sided_uplink_cut_touches_what_leaves_the_named_leaf() -> None:
    """What an uplink sends is the traffic away from its leaf, seen from either leaf."""
    for leaf, device in (("r0l0", "r0l0u"), ("r0l1", "r0l1u")):
        fault = Fault(where=Where(place=Place.UPLINK, leaf=leaf), direction=Direction.TX, slowdown=0.2)
        assert set(rates(SHAPE, fault)) == {Device(namespace=FABRIC, name=device)}


def test_a_pair_fault_holds_only_traffic_between_the_two() -> None:
    """Each of the two gets a lane towards the other, and keeps its own rate."""
    fault = Fault(where=Where(place=Place.PAIR, node="n1", peer="n5", rail=1), slowdown=0.3)
    found = changed(settings(SHAPE, ()), settings(SHAPE, [fault]))
    lanes = {device.namespace: [(lane.address, lane.rate) for lane in new.lanes] for device, (_, new) in found.items()}
    assert lanes == {"n1": [("10.1.0.6", RATE * 0.7)], "n5": [("10.1.0.2", RATE * 0.7)]}
    wanted = settings(SHAPE, [fault])
    assert pair_pace(SHAPE, wanted, 1, 5, 1) == pair_pace(SHAPE, wanted, 5, 1, 1) == payload_rate(RATE) * 0.7
    assert pair_pace(SHAPE, wanted, 1, 4, 1) == payload_rate(RATE)


def test_a_link_that_is_down_carries_nothing() -> None:
    """The pace of a downed port is zero both ways, of its peers towards it too."""
    wanted = settings(SHAPE, [Fault(where=Where(place=Place.NODE, node="n2", rail=0), down=True)])
    pace = port_pace(wanted, 2, 0)
    assert (pace.sent, pace.received) == (0.0, 0.0)
    assert pair_pace(SHAPE, wanted, 7, 2, 0) == 0.0
    assert pair_pace(SHAPE, wanted, 7, 2, 1) == payload_rate(RATE)


@pytest.mark.parametrize(("shape", "leaf", "sender", "receiver"), [(SHAPE, "r0l0", 0, 4), (SPINED, "r0l3", 0, 7)])
def test_a_flow_gets_its_share_of_a_cut_uplink(shape: Shape, leaf: str, sender: int, receiver: int) -> None:
    """Far flows slow by the cut, near ones not at all; a downed uplink carries nothing."""
    cut = settings(shape, [Fault(where=Where(place=Place.UPLINK, leaf=leaf), slowdown=0.2)])
    for ends in ((sender, receiver), (receiver, sender)):
        assert pair_pace(shape, cut, *ends, 0) == pytest.approx(payload_rate(RATE) * 0.8)
    assert pair_pace(shape, cut, 0, 1, 0) == payload_rate(RATE)
    downed = settings(shape, [Fault(where=Where(place=Place.UPLINK, leaf=leaf), down=True)])
    assert pair_pace(shape, downed, sender, receiver, 0) == 0.0


def test_an_unshaped_lab_sets_no_pace() -> None:
    """Without a rate nothing limits a port."""
    shape = checked_shape(nodes=4, rails=1, leaves=2, rate=None, uplink_rate=None)
    wanted = settings(shape, ())
    assert pair_pace(shape, wanted, 0, 3, 0) is None
    assert port_pace(wanted, 0, 0).sent is None


NODE = Where(place=Place.NODE, node="n1", rail=0)
PAIR = Where(place=Place.PAIR, node="n1", peer="n2")


@pytest.mark.fault("I14")
@pytest.mark.parametrize(
    ("fault", "transport", "said"),
    [
        (
            Fault(where=Where(place=Place.NODE, node="n9"), slowdown=0.2),
            Transport.NAMESPACES,
            "node 'n9': accepted is n0 to n7",
        ),
        (
            Fault(where=Where(place=Place.NODE, node="n1", rail=2), slowdown=0.2),
            Transport.NAMESPACES,
            "--rail 2: accepted is 0 to 1",
        ),
        (
            Fault(where=Where(place=Place.LEAF, leaf="r0l2"), slowdown=0.2),
            Transport.NAMESPACES,
            "leaf 'r0l2': accepted is r0l0 to r1l1",
        ),
        (
            Fault(where=Where(place=Place.PAIR, node="n1", peer="n1"), slowdown=0.2),
            Transport.NAMESPACES,
            "--pair n1:n1",
        ),
        (Fault(where=NODE), Transport.NAMESPACES, "a fault without an effect"),
        (Fault(where=NODE, down=True, direction=Direction.TX), Transport.NAMESPACES, "--down with --direction"),
        (Fault(where=NODE, delay=2.5), Transport.NAMESPACES, "--delay 2.5s: accepted is up to 2s"),
        (Fault(where=PAIR, loss=0.1), Transport.NAMESPACES, "--pair with --loss"),
        (Fault(where=PAIR, slowdown=0.1, direction=Direction.RX), Transport.NAMESPACES, "--pair with --direction"),
        (Fault(where=NODE, loss=0.1), Transport.EMULATED, "--loss or --delay in an emulated lab"),
    ],
)
def test_a_fault_this_lab_cannot_carry_is_refused_with_what_it_can(
    fault: Fault, transport: Transport, said: str
) -> None:
    """One line with the accepted range."""
    with pytest.raises(InputError) as refused:
        checked_fault(SHAPE, fault, transport)
    assert str(refused.value).startswith(said)


def test_what_needs_a_rate_or_an_uplink_is_refused_where_there_is_none() -> None:
    """An unshaped lab has nothing to cut, a lab of one leaf has no uplink."""
    bare = checked_shape(nodes=2, rails=1, leaves=1, rate=None, uplink_rate=None)
    with pytest.raises(InputError, match="--slowdown in an unshaped lab"):
        checked_fault(bare, node_fault("n1", 0), Transport.NAMESPACES)
    with pytest.raises(InputError, match="--uplink r0l0: accepted is a lab with two or more leaves"):
        checked_fault(bare, Fault(where=Where(place=Place.UPLINK, leaf="r0l0"), down=True), Transport.NAMESPACES)


def test_a_new_fault_replaces_an_older_one_on_the_same_part_and_direction() -> None:
    """A pair has no order; another direction is another fault."""
    one = Fault(where=Where(place=Place.PAIR, node="n1", peer="n2"), slowdown=0.2)
    other = Fault(where=Where(place=Place.PAIR, node="n2", peer="n1"), slowdown=0.4)
    assert with_fault((one,), other) == (other,)
    sent, received = node_fault("n1", 0, Direction.TX), node_fault("n1", 0, Direction.RX)
    assert with_fault((sent,), received) == (sent, received)
    assert without_faults((sent, received), sent.where, Direction.TX) == (received,)
    assert without_faults((sent, received, one), None, None) == ()


@pytest.mark.fault("I14")
@pytest.mark.parametrize("text", ["", "n1", "n1:", ":n2", ":"])
def test_a_pair_is_two_names_with_a_colon(text: str) -> None:
    """Anything else is refused with the form that is accepted."""
    with pytest.raises(InputError, match="two nodes as A:B"):
        parse_pair(text)
    assert parse_pair("n1:n5") == ("n1", "n5")
