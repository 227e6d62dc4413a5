"""A correct chain is proven whatever its maps; one wrong field anywhere breaks it at the link that holds the field."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.model.missing import Missing, Reason
from netkit.model.qos import Trust
from netkit.roce.headroom import headroom_bytes
from netkit.roce.qos import HostQos, Intent, Marking, PriorityGroup, SwitchQos, Watchdog
from netkit.roce.qos_chain import LinkName, LinkState, QosChain, prove

_UNREAD = Missing(reason=Reason.UNSUPPORTED, where="made-up")


@dataclass(frozen=True)
class Fabric:
    """A correct chain, and where its parts are."""

    intent: Intent
    host: HostQos
    switch: SwitchQos
    priority: int
    dscp: int
    cnp: int
    lossless_class: int
    cnp_class: int

    def chain(self) -> QosChain:
        return prove(self.intent, self.host, self.switch)


def fabric_of(seed: int) -> Fabric:
    """A random DSCP, priority, class, group and queue, all consistent; everything else lossy and elsewhere."""
    rng = random.Random(seed)
    dscp, cnp = rng.sample(range(1, 64), 2)
    priority, cnp_priority = rng.sample(range(1, 8), 2)
    lossless_class, cnp_class = rng.sample(range(1, 8), 2)
    groups, queues = rng.sample(range(8), 8), rng.sample(range(8), 8)
    others = [number for number in range(8) if number != priority]
    host_map = {code: rng.choice(others) for code in range(64)} | {dscp: priority, cnp: cnp_priority}
    classes = [number for number in range(8) if number != lossless_class]
    switch_map = {code: rng.choice(classes) for code in range(64)} | {dscp: lossless_class, cnp: cnp_class}
    buffers = [0] * 8
    buffers[priority] = 1
    host = HostQos(
        interface="rail0",
        trust=Trust.DSCP,
        dscp_to_priority=host_map,
        lossless=frozenset({priority}),
        ecn_notification=frozenset({priority}),
        ecn_reaction=frozenset({priority}),
        buffer_of_priority=tuple(buffers),
        buffer_bytes=(131072, 393216),
        cnp_dscp=cnp,
        cnp_priority=cnp_priority,
    )
    # Priorities reach groups and queues by maps of their own, which need not be the identity.
    switch = SwitchQos(
        port="Ethernet0",
        dscp_to_class=switch_map,
        class_to_group=dict(enumerate(groups)),
        class_to_queue=dict(enumerate(queues)),
        priority_to_group={number: groups[lossless_class] if number == priority else 8 + number for number in range(8)},
        priority_to_queue={number: queues[lossless_class] if number == priority else 8 + number for number in range(8)},
        lossless=frozenset({priority}),
        groups={groups[lossless_class]: PriorityGroup(lossless=True, xoff_bytes=200_000)},
        marking={queues[lossless_class]: Marking(ecn=True, low_bytes=1 << 20, high_bytes=2 << 20)},
        strict_queues=frozenset({queues[cnp_class]}),
        watchdog=Watchdog(detection_seconds=0.2, restoration_seconds=0.2, action="drop"),
        mtu_bytes=9100,
    )
    return Fabric(
        Intent(traffic_class=dscp << 2 | rng.randrange(4)), host, switch, priority, dscp, cnp, lossless_class, cnp_class
    )


fabrics = st.integers(0, 2**32).map(fabric_of)


@given(fabrics)
def test_a_correct_chain_is_proven(fabric: Fabric) -> None:
    """Whatever DSCP, priority, class, group and queue it uses."""
    chain = fabric.chain()
    assert chain.proven, [one for one in chain.links if one.state is not LinkState.HOLDS]
    assert chain.priority == fabric.priority


def _host(**fields: object) -> Callable[[Fabric], Fabric]:
    return lambda fabric: replace(fabric, host=replace(fabric.host, **fields))  # type: ignore[arg-type]


def _switch(**fields: object) -> Callable[[Fabric], Fabric]:
    return lambda fabric: replace(fabric, switch=replace(fabric.switch, **fields))  # type: ignore[arg-type]


def _host_dscp(fabric: Fabric) -> Fabric:
    assert not isinstance(fabric.host.dscp_to_priority, Missing)
    table = dict(fabric.host.dscp_to_priority) | {fabric.dscp: (fabric.priority + 1) % 8}
    return _host(dscp_to_priority=table)(fabric)


def _switch_dscp(fabric: Fabric) -> Fabric:
    return _switch(dscp_to_class=dict(fabric.switch.dscp_to_class) | {fabric.dscp: fabric.cnp_class})(fabric)


def _class_map(field: str) -> Callable[[Fabric], Fabric]:
    def change(fabric: Fabric) -> Fabric:
        table: dict[int, int] = getattr(fabric.switch, field)
        wrong = table | {fabric.lossless_class: table[fabric.cnp_class]}
        return _switch(**{field: wrong})(fabric)

    return change


def _wrong_class(fabric: Fabric) -> Fabric:
    """The DSCP of the congestion notifications: lossless nowhere."""
    return replace(fabric, intent=Intent(traffic_class=fabric.cnp << 2))


def _cnp_queue(fabric: Fabric) -> Fabric:
    return _switch(dscp_to_class=dict(fabric.switch.dscp_to_class) | {fabric.cnp: fabric.lossless_class})(fabric)


def _headroom(fabric: Fabric) -> Fabric:
    groups = {group: replace(one, xoff_bytes=0) for group, one in fabric.switch.groups.items()}
    return _switch(groups=groups)(fabric)


def _lossy_group(fabric: Fabric) -> Fabric:
    groups = {group: replace(one, lossless=False) for group, one in fabric.switch.groups.items()}
    return _switch(groups=groups)(fabric)


def _marking(**fields: object) -> Callable[[Fabric], Fabric]:
    def change(fabric: Fabric) -> Fabric:
        marks = {queue: replace(one, **fields) for queue, one in fabric.switch.marking.items()}  # type: ignore[arg-type]
        return _switch(marking=marks)(fabric)

    return change


def _watchdog(**fields: object) -> Callable[[Fabric], Fabric]:
    def change(fabric: Fabric) -> Fabric:
        assert fabric.switch.watchdog is not None
        return _switch(watchdog=replace(fabric.switch.watchdog, **fields))(fabric)  # type: ignore[arg-type]

    return change


FAULTS: tuple[tuple[str, LinkName, Callable[[Fabric], Fabric]], ...] = (
    ("no traffic class", LinkName.TRAFFIC_CLASS, lambda one: replace(one, intent=Intent())),
    ("traffic class of another DSCP", LinkName.TRAFFIC_CLASS, _wrong_class),
    ("trust pcp", LinkName.NIC_TRUST, _host(trust=Trust.PCP)),
    ("DSCP entry of the NIC", LinkName.NIC_PRIORITY, _host_dscp),
    ("PFC bit of the NIC", LinkName.NIC_PFC, _host(lossless=frozenset())),
    ("ECN notification", LinkName.NIC_ECN, _host(ecn_notification=frozenset())),
    ("ECN reaction", LinkName.NIC_ECN, _host(ecn_reaction=frozenset())),
    ("shared buffer", LinkName.NIC_BUFFER, _host(buffer_of_priority=(0,) * 8)),
    ("buffer without bytes", LinkName.NIC_BUFFER, _host(buffer_bytes=(524288, 0))),
    ("CNP on the lossless priority", LinkName.NIC_CNP, lambda one: _host(cnp_priority=one.priority)(one)),
    ("DSCP entry of the switch", LinkName.SWITCH_CLASS, _switch_dscp),
    ("group of the class", LinkName.SWITCH_GROUP, _class_map("class_to_group")),
    ("queue of the class", LinkName.SWITCH_QUEUE, _class_map("class_to_queue")),
    ("PFC bit of the switch", LinkName.SWITCH_PFC, _switch(lossless=frozenset())),
    ("lossy group", LinkName.SWITCH_BUFFER, _lossy_group),
    ("no headroom", LinkName.SWITCH_BUFFER, _headroom),
    ("no marking profile", LinkName.SWITCH_ECN, _switch(marking={})),
    ("marking without ECN", LinkName.SWITCH_ECN, _marking(ecn=False)),
    ("thresholds upside down", LinkName.SWITCH_ECN, _marking(low_bytes=4 << 20)),
    ("no watchdog", LinkName.SWITCH_WATCHDOG, _switch(watchdog=None)),
    ("watchdog too slow", LinkName.SWITCH_WATCHDOG, _watchdog(detection_seconds=60.0)),
    ("watchdog back too late", LinkName.SWITCH_WATCHDOG, _watchdog(restoration_seconds=600.0)),
    ("watchdog that only tells", LinkName.SWITCH_WATCHDOG, _watchdog(action="alert")),
    ("CNP in the data's queue", LinkName.SWITCH_CNP, _cnp_queue),
    ("CNP queue not strict", LinkName.SWITCH_CNP, _switch(strict_queues=frozenset())),
)


@pytest.mark.parametrize(("fault", "link", "change"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
def test_one_wrong_field_breaks_the_chain_at_its_link(
    fault: str, link: LinkName, change: Callable[[Fabric], Fabric]
) -> None:
    """The first broken link is the one that holds the field."""

    @settings(max_examples=40)
    @given(fabrics)
    def holds(fabric: Fabric) -> None:
        broken = change(fabric).chain().broken
        assert broken is not None, fault
        assert broken.name is link, (fault, broken)

    holds()


@given(fabrics)
def test_what_was_not_read_is_unknown_and_never_proven(fabric: Fabric) -> None:
    """A NIC that shows none of its settings breaks nothing and proves nothing."""
    blind = replace(
        fabric.host,
        trust=_UNREAD,
        dscp_to_priority=_UNREAD,
        lossless=_UNREAD,
        ecn_notification=_UNREAD,
        ecn_reaction=_UNREAD,
        buffer_of_priority=_UNREAD,
        buffer_bytes=_UNREAD,
        cnp_dscp=_UNREAD,
        cnp_priority=_UNREAD,
    )
    chain = prove(fabric.intent, blind, fabric.switch)
    assert not chain.proven
    nic = [one for one in chain.links if one.name.value.startswith("nic-")]
    assert {one.state for one in nic} == {LinkState.UNKNOWN}


def test_nothing_lossless_anywhere_is_one_broken_link() -> None:
    """There is no priority to follow, and that is said once."""
    host = HostQos(
        interface="rail0",
        trust=Trust.DSCP,
        dscp_to_priority={},
        lossless=frozenset(),
        ecn_notification=_UNREAD,
        ecn_reaction=_UNREAD,
        buffer_of_priority=_UNREAD,
        buffer_bytes=_UNREAD,
        cnp_dscp=_UNREAD,
        cnp_priority=_UNREAD,
    )
    chain = prove(Intent(traffic_class=106), host)
    assert [one.name for one in chain.links] == [LinkName.NIC_PFC]
    assert chain.broken is not None


@given(st.floats(1e9, 1e11), st.floats(0, 1000), st.integers(1500, 9216))
def test_headroom_grows_with_rate_length_and_packet(rate: float, metres: float, mtu: int) -> None:
    """More of any of them never needs less room, and there is always room for two packets."""
    here = headroom_bytes(rate, metres, mtu)
    assert here >= 2 * mtu
    assert headroom_bytes(rate * 2, metres, mtu) >= here
    assert headroom_bytes(rate, metres + 10, mtu) >= here
    assert headroom_bytes(rate, metres, mtu + 100) > here
