"""Proves a RoCE QoS chain link by link, or names the broken link.

    NCCL_IB_TC >> 2 = DSCP -> NIC priority (by trust) -> PFC, ECN, buffer of it -> switch: DSCP to class to group and
    queue -> PFC, buffer, ECN, watchdog -> congestion notifications by a queue of their own.

Which priority is meant to be lossless is nobody's word alone: NIC and switch each say it several times (PFC, ECN,
groups), and the one most of them name is meant. A link that names another one is the broken one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from netkit.model.missing import Missing
from netkit.model.qos import Trust
from netkit.roce.qos import HostQos, Intent, SwitchQos

_DETECTION_SECONDS = (0.1, 5.0)
_RESTORATION_SECONDS = (0.1, 60.0)
"""SONiC, PFC watchdog design: accepted ranges."""


class LinkName(StrEnum):
    """The links of the chain, in the order a packet meets them."""

    TRAFFIC_CLASS = "traffic-class"
    NIC_TRUST = "nic-trust"
    NIC_PRIORITY = "nic-priority"
    NIC_PFC = "nic-pfc"
    NIC_ECN = "nic-ecn"
    NIC_BUFFER = "nic-buffer"
    NIC_CNP = "nic-cnp"
    SWITCH_CLASS = "switch-class"
    SWITCH_GROUP = "switch-group"
    SWITCH_QUEUE = "switch-queue"
    SWITCH_PFC = "switch-pfc"
    SWITCH_BUFFER = "switch-buffer"
    SWITCH_ECN = "switch-ecn"
    SWITCH_WATCHDOG = "switch-watchdog"
    SWITCH_CNP = "switch-cnp"
    SWITCH_MTU = "switch-mtu"


class LinkState(StrEnum):
    """Whether a link was proven."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """One link: what was found there, and whether it fits."""

    name: LinkName
    state: LinkState
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QosChain:
    """Every link of one NIC port's way; `priority` is the one meant to be lossless, None where nobody names one."""

    interface: str
    switch_port: str | None
    priority: int | None
    links: tuple[ChainLink, ...]

    @property
    def broken(self) -> ChainLink | None:
        """The first link that does not fit."""
        return next((link for link in self.links if link.state is LinkState.BROKEN), None)

    @property
    def proven(self) -> bool:
        """Whether every link was seen and fits."""
        return all(link.state is LinkState.HOLDS for link in self.links)

    def link(self, name: LinkName) -> ChainLink | None:
        """Return one link; None where the chain does not have it (no switch was given)."""
        return next((link for link in self.links if link.name is name), None)


def prove(intent: Intent, host: HostQos, switch: SwitchQos | None = None, *, meant: int | None = None) -> QosChain:
    """Return the chain of one NIC port, and of the switch port behind it where that is known.

    `meant` is the lossless priority where somebody declared it; else the settings are asked which one they name.
    """
    if meant is None:
        meant = meant_priority(intent, host, switch)
    if meant is None:
        links = tuple(_nothing_lossless(host))
    else:
        links = (
            *_host_links(intent, host, switch, meant),
            *(_switch_links(intent, host, switch, meant) if switch else ()),
        )
    return QosChain(
        interface=host.interface, switch_port=switch.port if switch else None, priority=meant, links=tuple(links)
    )


def meant_priority(intent: Intent, host: HostQos, switch: SwitchQos | None) -> int | None:
    """Return the priority most settings name as the lossless one; the traffic's own decides a tie."""
    votes: Counter[int] = Counter()
    for named in (host.lossless, host.ecn_notification, host.ecn_reaction):
        # A setting that is on for every priority names none.
        if not isinstance(named, Missing) and len(named) < len(_ALL):
            votes.update(named)
    if switch is not None:
        votes.update(switch.lossless)
        votes.update(_switch_names(switch))
    if not votes:
        return None
    own = host.priority_of(intent.dscp)
    most = max(votes.values())
    best = sorted(priority for priority, count in votes.items() if count == most)
    return own if isinstance(own, int) and own in best else best[0]


_ALL = frozenset(range(8))


def _switch_names(switch: SwitchQos) -> Iterable[int]:
    """Return the priorities whose group has a lossless buffer."""
    return (
        priority
        for priority in _ALL
        if (group := switch.groups.get(switch.priority_to_group.get(priority, priority))) is not None and group.lossless
    )


def _nothing_lossless(host: HostQos) -> Iterator[ChainLink]:
    if isinstance(host.lossless, Missing):
        yield _link(LinkName.NIC_PFC, None, str(host.lossless))
    else:
        yield _link(LinkName.NIC_PFC, False, "no priority is lossless, on the NIC or anywhere else")


def _host_links(intent: Intent, host: HostQos, switch: SwitchQos | None, meant: int) -> Iterator[ChainLink]:
    yield _traffic_class(intent, host, switch, meant)
    yield _trust(host)
    yield _priority(intent, host, meant)
    yield _member(LinkName.NIC_PFC, host.lossless, meant, "PFC")
    yield _ecn(host, meant)
    yield _buffer(host, meant)
    yield _cnp(host, meant)


def _traffic_class(intent: Intent, host: HostQos, switch: SwitchQos | None, meant: int) -> ChainLink:
    """The class is wrong when NIC and switch agree that its DSCP is not the lossless one."""
    name = LinkName.TRAFFIC_CLASS
    own = host.priority_of(intent.dscp)
    said = f"DSCP {intent.dscp}"
    if isinstance(own, Missing):
        return _link(name, None, f"{said}; its priority on the NIC: {own}")
    elsewhere = switch is None or not _reaches(switch, intent.dscp, meant)
    if own == meant or (intent.traffic_class is not None and not elsewhere):
        shown = "not set" if intent.traffic_class is None else str(intent.traffic_class)
        return _link(name, True, f"NCCL_IB_TC {shown}: {said}")
    if intent.traffic_class is None:
        return _link(name, False, f"NCCL_IB_TC is not set: {said} gets priority {own}, the lossless one is {meant}")
    if switch is None:
        return _link(name, True, f"NCCL_IB_TC {intent.traffic_class}: {said}")
    fitting = sorted(dscp for dscp in range(64) if host.priority_of(dscp) == meant and _reaches(switch, dscp, meant))
    better = f"; {', '.join(f'{dscp << 2 | 2}' for dscp in fitting[:3])} would be" if fitting else ""
    return _link(
        name, False, f"NCCL_IB_TC {intent.traffic_class}: {said} is lossless neither on NIC nor switch{better}"
    )


def _reaches(switch: SwitchQos, dscp: int, meant: int) -> bool:
    """Tell whether a DSCP gets group or queue of the lossless priority: one fault may hide the other."""
    traffic_class = switch.class_of(dscp)
    group = switch.group_of(traffic_class) == switch.priority_to_group.get(meant, meant)
    queue = switch.queue_of(traffic_class) == switch.priority_to_queue.get(meant, meant)
    return group or queue


def _trust(host: HostQos) -> ChainLink:
    if isinstance(host.trust, Missing):
        return _link(LinkName.NIC_TRUST, None, str(host.trust))
    good = host.trust is Trust.DSCP
    more = "" if good else ": untagged RoCE gets priority 0 whatever its DSCP"
    return _link(LinkName.NIC_TRUST, good, f"{host.interface} trusts {host.trust.value}{more}")


def _priority(intent: Intent, host: HostQos, meant: int) -> ChainLink:
    own = host.priority_of(intent.dscp)
    if isinstance(own, Missing):
        return _link(LinkName.NIC_PRIORITY, None, str(own))
    said = f"DSCP {intent.dscp} gets priority {own}"
    return _link(LinkName.NIC_PRIORITY, own == meant, said if own == meant else f"{said}, the lossless one is {meant}")


def _member(name: LinkName, named: frozenset[int] | Missing, meant: int, what: str) -> ChainLink:
    if isinstance(named, Missing):
        return _link(name, None, str(named))
    shown = ", ".join(map(str, sorted(named))) or "none"
    good = meant in named
    return _link(name, good, f"{what} on {shown}" + ("" if good else f", not on priority {meant}"))


def _ecn(host: HostQos, meant: int) -> ChainLink:
    np = _member(LinkName.NIC_ECN, host.ecn_notification, meant, "ECN notification")
    rp = _member(LinkName.NIC_ECN, host.ecn_reaction, meant, "ECN reaction")
    order = (LinkState.BROKEN, LinkState.UNKNOWN, LinkState.HOLDS)
    worst = min((np, rp), key=lambda link: order.index(link.state))
    return worst if worst.state is not LinkState.HOLDS else _link(LinkName.NIC_ECN, True, f"{np.said}; {rp.said}")


def _buffer(host: HostQos, meant: int) -> ChainLink:
    name = LinkName.NIC_BUFFER
    if isinstance(host.buffer_of_priority, Missing):
        return _link(name, None, str(host.buffer_of_priority))
    if isinstance(host.buffer_bytes, Missing):
        return _link(name, None, str(host.buffer_bytes))
    mine = host.buffer_of_priority[meant]
    size = host.buffer_bytes[mine] if mine < len(host.buffer_bytes) else 0
    lossless = host.lossless if isinstance(host.lossless, frozenset) else frozenset({meant})
    sharing = [p for p, buffer in enumerate(host.buffer_of_priority) if buffer == mine and p not in lossless | {meant}]
    if size == 0:
        return _link(name, False, f"priority {meant} fills buffer {mine}, which has no bytes")
    if sharing:
        others = ", ".join(map(str, sharing))
        return _link(name, False, f"priority {meant} shares buffer {mine} with lossy priorities {others}")
    return _link(name, True, f"priority {meant} has buffer {mine} of {size} bytes")


def _cnp(host: HostQos, meant: int) -> ChainLink:
    name = LinkName.NIC_CNP
    if isinstance(host.cnp_priority, Missing):
        return _link(name, None, str(host.cnp_priority))
    lossless = host.lossless if isinstance(host.lossless, frozenset) else frozenset({meant})
    said = f"congestion notifications leave with priority {host.cnp_priority}"
    if host.cnp_priority in lossless | {meant}:
        return _link(name, False, f"{said}, which PFC may pause")
    return _link(name, True, said)


def _switch_links(intent: Intent, host: HostQos, switch: SwitchQos, meant: int) -> Iterator[ChainLink]:
    yield from _classes(intent.dscp, switch, meant)
    yield _member(LinkName.SWITCH_PFC, switch.lossless, meant, "PFC")
    yield _switch_buffer(switch, switch.priority_to_group.get(meant, meant))
    yield _switch_ecn(switch, switch.priority_to_queue.get(meant, meant))
    yield _watchdog(switch)
    yield _switch_cnp(host, switch, meant)


def _classes(dscp: int, switch: SwitchQos, meant: int) -> Iterator[ChainLink]:
    """A class wrong in both group and queue is a wrong class; wrong in one, that one's map is at fault."""
    traffic_class = switch.class_of(dscp)
    group, queue = switch.group_of(traffic_class), switch.queue_of(traffic_class)
    right_group, right_queue = switch.priority_to_group.get(meant, meant), switch.priority_to_queue.get(meant, meant)
    said = f"{switch.port}: DSCP {dscp} is class {traffic_class}"
    if group != right_group and queue != right_queue:
        yield _link(
            LinkName.SWITCH_CLASS, False, f"{said}, group {group}, queue {queue}: not those of priority {meant}"
        )
        return
    yield _link(LinkName.SWITCH_CLASS, True, said)
    for name, what, got, right in (
        (LinkName.SWITCH_GROUP, "group", group, right_group),
        (LinkName.SWITCH_QUEUE, "queue", queue, right_queue),
    ):
        more = "" if got == right else f", priority {meant} has {what} {right}"
        yield _link(name, got == right, f"class {traffic_class} has {what} {got}{more}")


def _switch_buffer(switch: SwitchQos, group: int) -> ChainLink:
    name = LinkName.SWITCH_BUFFER
    profile = switch.groups.get(group)
    if profile is None or not profile.lossless:
        return _link(name, False, f"group {group} of {switch.port} has no lossless buffer")
    if profile.xoff_bytes == 0:
        return _link(name, False, f"group {group} of {switch.port} has no headroom: what arrives after a pause is lost")
    shown = profile.xoff_bytes if isinstance(profile.xoff_bytes, int) else "its own"
    return _link(name, True, f"group {group} is lossless with {shown} bytes of headroom")


def _switch_ecn(switch: SwitchQos, queue: int) -> ChainLink:
    name = LinkName.SWITCH_ECN
    marking = switch.marking.get(queue)
    if marking is None or not marking.ecn:
        return _link(name, False, f"queue {queue} of {switch.port} does not mark congestion")
    if not 0 < marking.low_bytes < marking.high_bytes:
        return _link(name, False, f"queue {queue} marks from {marking.low_bytes} to {marking.high_bytes} bytes")
    return _link(name, True, f"queue {queue} marks from {marking.low_bytes} to {marking.high_bytes} bytes")


def _watchdog(switch: SwitchQos) -> ChainLink:
    name, dog = LinkName.SWITCH_WATCHDOG, switch.watchdog
    if dog is None:
        return _link(name, False, f"{switch.port} has no PFC watchdog: one broken host can pause the whole fabric")
    low, high = _DETECTION_SECONDS
    said = f"{dog.action} after {dog.detection_seconds:g} s, back after {dog.restoration_seconds:g} s"
    if not low <= dog.detection_seconds <= high or not (
        _RESTORATION_SECONDS[0] <= dog.restoration_seconds <= _RESTORATION_SECONDS[1]
    ):
        return _link(name, False, f"{said}: outside what the watchdog accepts")
    if dog.action not in {"drop", "forward"}:
        return _link(name, False, f"{said}: it only tells, the storm goes on")
    return _link(name, True, said)


def _switch_cnp(host: HostQos, switch: SwitchQos, meant: int) -> ChainLink:
    name = LinkName.SWITCH_CNP
    if isinstance(host.cnp_dscp, Missing):
        return _link(name, None, str(host.cnp_dscp))
    traffic_class = switch.class_of(host.cnp_dscp)
    queue = switch.queue_of(traffic_class)
    said = f"congestion notifications (DSCP {host.cnp_dscp}) leave by queue {queue}"
    if queue == switch.priority_to_queue.get(meant, meant):
        return _link(name, False, f"{said}, that of the data they should slow down")
    if queue not in switch.strict_queues:
        return _link(name, False, f"{said}, which is not served first")
    return _link(name, True, f"{said}, served first")


def _link(name: LinkName, good: bool | None, said: str) -> ChainLink:
    state = LinkState.UNKNOWN if good is None else LinkState.HOLDS if good else LinkState.BROKEN
    return ChainLink(name=name, state=state, said=said)
