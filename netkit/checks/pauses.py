"""Pauses: the global kind beside PFC, storms, and how long priorities stand still.

IEEE 802.3 annex 31B, 802.1Qbb; driver names in `netkit.catalogue.pause_names`. Storm events: mlx5 ethtool counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from netkit.catalogue.pause_names import PauseCount, PauseMeasure, pause_counts
from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.growth import Since, since
from netkit.model.check import NODE, Result, Rule
from netkit.model.ethernet_link import EthernetLink
from netkit.model.finding import Severity
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.units import show_percent

GLOBAL = Rule(
    id="R10",
    name="global-pause",
    severity=Severity.WARNING,
    question="Is global pause off where PFC is on?",
    reads="pause settings and PFC bits of the interface (ethtool and DCB netlink)",
    passes="neither direction of 802.3x pause is on while a priority is lossless",
    why="global pause stops every priority at once; most NICs then ignore PFC altogether",
    remedy="ethtool -A INTERFACE rx off tx off",
    source="Linux mlx5 and FreeBSD mlx5en driver documentation",
    caution="asked only where PFC is on",
    playbook="qos-mismatch",
)
STORM = Rule(
    id="R15",
    name="pfc-storm",
    severity=Severity.CRITICAL,
    question="Has the NIC seen no pause storm?",
    reads="storm events of the driver now, and in the recording given by --since",
    passes="none since the earlier reading; without one, none since the driver loaded",
    why="a NIC that pauses its switch for long stops the rail, and through it the fabric",
    remedy="drain the node, look for a hung GPU or host; PFC watchdog on the switch",
    source="mlx5 ethtool counters tx_pause_storm_warning_events and _error_events",
    caution="counted since the driver loaded: without --since an old storm is only a warning",
    playbook="pfc-storm",
)
SHARE = Rule(
    id="R16",
    name="pfc-pause-share",
    severity=Severity.WARNING,
    question="Are priorities paused only briefly?",
    reads="pause durations by priority and direction, now and in the recording given by --since",
    passes="less than 1 % of the time between the readings",
    why="sent pauses say that this host cannot take what comes; received ones that the way ahead is full",
    remedy="pauses sent: look at this node's PCIe links (T06, T07) and at its GPUs; pauses received: at the receiver",
    source="mlx5 ethtool counters rx_prioN_pause_duration, tx_prioN_pause_duration (microseconds)",
    caution="needs two readings, and a driver that counts durations and not frames alone",
    playbook="slow-receiver",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    name: str
    driver: str
    link: EthernetLink


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge the interface of every RoCE port."""
    interfaces = tuple(_interfaces(snapshot, context))
    if not interfaces:
        why = _why_none(snapshot, context)
        for rule in (GLOBAL, STORM, SHARE):
            yield no_ports(rule, snapshot) if not context.ports else why(rule)
        return
    before = since(snapshot, context)
    for one in interfaces:
        yield _global(one)
        yield _storm(one, before)
        yield from _share(one, before, context.thresholds.pause_share)


def _interfaces(snapshot: NodeSnapshot, context: Context) -> Iterator[_Interface]:
    for port in context.ports:
        name = port.port.netdev
        netdev = snapshot.netdev(name) if isinstance(name, str) else None
        link = snapshot.ethernet_link(name) if isinstance(name, str) else None
        if port.roce and port.hardware and link is not None and netdev is not None and isinstance(netdev.driver, str):
            yield _Interface(name=link.interface, driver=netdev.driver, link=link)


def _why_none(snapshot: NodeSnapshot, context: Context) -> Callable[[Rule], Result]:
    if not any(port.roce and port.hardware for port in context.ports):
        return lambda rule: rule.not_applicable("no port is RoCE hardware")
    links = snapshot.ethernet_links
    missing = (
        links if isinstance(links, Missing) else Missing(reason=Reason.ABSENT, where="ethtool", detail="not asked")
    )
    return lambda rule: rule.incomplete(NODE, missing)


def _global(one: _Interface) -> Result:
    dcb, pause = one.link.bridging, one.link.pause
    if isinstance(dcb, Missing) or isinstance(dcb.flow_control, Missing):
        return GLOBAL.incomplete(one.name, dcb if isinstance(dcb, Missing) else "PFC was not read")
    if not any(dcb.flow_control.enabled):
        return GLOBAL.not_applicable("no priority is lossless", one.name)
    if isinstance(pause, Missing):
        return GLOBAL.incomplete(one.name, pause)
    on = [word for word, value in (("receives", pause.receives), ("sends", pause.sends)) if value is True]
    if on:
        return GLOBAL.finding(one.name, f"{one.name} {' and '.join(on)} global pause beside PFC")
    unknown = next((value for value in (pause.receives, pause.sends) if isinstance(value, Missing)), None)
    return GLOBAL.ok(one.name, "off") if unknown is None else GLOBAL.incomplete(one.name, unknown)


def _counts(driver: str, link: EthernetLink) -> tuple[PauseCount, ...] | Missing:
    if isinstance(link.driver_statistics, Missing):
        return link.driver_statistics
    return pause_counts(driver, link.driver_statistics)


def _storm(one: _Interface, before: Since | Missing) -> Result:
    counts = _counts(one.driver, one.link)
    if isinstance(counts, Missing):
        return STORM.incomplete(one.name, counts)
    storms = {count.name: count.value for count in counts if count.measure in _STORMS}
    if not storms:
        return STORM.incomplete(one.name, f"the driver {one.driver} does not count storms")
    old = _earlier(one, before)
    past = {} if isinstance(old, Missing) else {count.name: count.value for count in old}
    grown = {name: value - past.get(name, 0) for name, value in storms.items() if value > past.get(name, 0)}
    if not grown:
        return STORM.ok(one.name, "none")
    said = ", ".join(f"{name} {value:.0f}" for name, value in grown.items())
    if isinstance(old, Missing):
        return STORM.finding(one.name, f"{said} since the driver loaded", severity=Severity.WARNING)
    return STORM.finding(one.name, f"{said} since the earlier reading")


_STORMS = frozenset({PauseMeasure.STORM_WARNINGS, PauseMeasure.STORM_ERRORS})


def _earlier(one: _Interface, before: Since | Missing) -> tuple[PauseCount, ...] | Missing:
    if isinstance(before, Missing):
        return before
    link = before.snapshot.ethernet_link(one.name)
    if link is None:
        return Missing(reason=Reason.ABSENT, where="--since", detail=f"{one.name} was not there")
    return _counts(one.driver, link)


def _share(one: _Interface, before: Since | Missing, most: float) -> Iterator[Result]:
    now, old = _counts(one.driver, one.link), _earlier(one, before)
    if isinstance(now, Missing) or isinstance(old, Missing) or isinstance(before, Missing):
        missing = next(value for value in (now, old, before) if isinstance(value, Missing))
        yield SHARE.incomplete(one.name, missing)
        return
    past = {count.name: count.value for count in old}
    shares = [
        (count, (count.value - past[count.name]) / before.seconds)
        for count in now
        if count.measure is PauseMeasure.SECONDS and count.name in past
    ]
    if not shares:
        yield SHARE.incomplete(one.name, f"the driver {one.driver} does not count pause time")
        return
    over = [(count, share) for count, share in shares if share >= most]
    for count, share in over:
        way = "paused by its peer" if count.received else "pausing its peer"
        which = "every priority" if count.priority is None else f"priority {count.priority}"
        yield SHARE.finding(one.name, f"{which} was {way} {show_percent(share)} of the time", count.name)
    if not over:
        longest = max((share for _, share in shares), default=0.0)
        yield SHARE.ok(one.name, f"at most {show_percent(longest)} of the time")


CHECK = NodeCheck(id="pauses", rules=(GLOBAL, STORM, SHARE), check=check)
