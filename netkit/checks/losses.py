"""Lost and repeated packets of RDMA ports, by growth between two readings.

Counter names: `netkit.catalogue.counters` for each driver; units and widths there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.counter_groups import DISCARDS, LINK_ERRORS, RETRIES
from netkit.doctor.growth import Since, grown, since
from netkit.doctor.nic_ports import NicPort
from netkit.model.check import NODE, Result, Rule
from netkit.model.counter import Counter
from netkit.model.finding import Severity
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot

DROPS = Rule(
    id="R14",
    name="nic-discards",
    severity=Severity.WARNING,
    question="Does the NIC keep every packet that arrives?",
    reads="discard and out-of-buffer counters of interface and port, now and in the recording given by --since",
    passes="none was dropped in between",
    why="a packet dropped on a lossless priority means that PFC did not hold: RoCE repeats a whole window",
    remedy="headroom and PFC of the port (R20, R06), then PCIe: a NIC that cannot write to memory fills up",
    source="mlx5 ethtool counters (rx_discards_phy, rx_prioN_discards); oracle-quickstart/oci-hpc",
    caution="drops on lossy priorities are the normal life of TCP: only lossless ones count where priorities are told",
    playbook="lossless-drops",
)
REPEATS = Rule(
    id="R17",
    name="rdma-retransmits",
    severity=Severity.WARNING,
    question="Do connections repeat nothing?",
    reads="out-of-sequence, timeout and retry counters of every port, now and in the recording given by --since",
    passes="fewer than one a second in between",
    why="each is a lost or late packet; a rail with them runs at a fraction while its link looks perfect",
    remedy="losses along the way: switch drops, cable errors, QoS chain (netkit check qos); a slow receiver for rnr",
    source="RDMA hw_counters of mlx5, bnxt_re, irdma, ionic, hns",
    caution="with adaptive routing packets arrive out of order by design: out_of_sequence alone is then no loss",
    playbook="rdma-retransmits",
)
LINK = Rule(
    id="N04",
    name="link-errors",
    severity=Severity.WARNING,
    question="Are the bits on the wire right?",
    reads="symbol, receive and uncorrectable-block counters, now and in the recording given by --since",
    passes="none was counted in between; corrected blocks are no errors",
    why="uncorrectable blocks are lost packets, and the first sign of a dying module or a dirty connector",
    remedy="clean and reseat both ends, then exchange module or cable; mlxlink -d DEVICE -c shows the lanes",
    source="InfiniBand port counters; IEEE 802.3 clause 91 (FEC)",
    caution="every PAM4 link corrects bits all the time: only what could not be corrected counts",
    playbook="rdma-bad-cable",
)
FULL = Rule(
    id="N16",
    name="counter-full",
    severity=Severity.INFO,
    question="Can every error counter still count?",
    reads="InfiniBand port counters and their documented widths",
    passes="no counter stands at its largest value",
    why="a full counter never moves again: rates of it are zero for ever, and alerts on it are silent when it matters",
    remedy="reset the counters (perfquery -R) or reload the driver once the cause is known",
    source="leptonai/gpud PR 943; InfiniBand Architecture 1.4, 16.1.3.5 (counters stick at their maximum)",
    caution="information: it says that something happened since the last reset, not when",
    playbook="rdma-bad-cable",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every training port."""
    if not context.ports:
        yield from (no_ports(rule, snapshot) for rule in (DROPS, REPEATS, LINK, FULL))
        return
    before = since(snapshot, context)
    for port in context.ports:
        yield from _full(port)
        if isinstance(before, Missing):
            yield from (rule.incomplete(port.name, before) for rule in (DROPS, REPEATS, LINK))
        else:
            yield from _port(snapshot, context, port, before)


def _port(snapshot: NodeSnapshot, context: Context, port: NicPort, before: Since) -> Iterator[Result]:
    old = before.port(port)
    if old is None:
        yield from (rule.incomplete(port.name, "the port was not there before") for rule in (DROPS, REPEATS, LINK))
        return
    hardware = grown(old.port.hw_counters, port.port.hw_counters, (*RETRIES, *DISCARDS))
    driver = _driver_growth(snapshot, before, port)
    pma = grown(old.port.counters, port.port.counters, LINK_ERRORS)
    yield _judged(DROPS, port, before, DISCARDS, 0.0, hardware, driver, also=_lossless_discards(snapshot, port))
    yield _judged(REPEATS, port, before, RETRIES, context.thresholds.retransmissions_per_second, hardware)
    blocks = _uncorrectable(snapshot, before, port)
    yield _judged(LINK, port, before, (*LINK_ERRORS, _BLOCKS), 0.0, pma, driver, blocks)


def _judged(
    rule: Rule,
    port: NicPort,
    before: Since,
    names: tuple[str, ...],
    most_per_second: float,
    *groups: dict[str, int] | Missing,
    also: tuple[str, ...] = (),
) -> Result:
    counted = {name: n for group in groups if not isinstance(group, Missing) for name, n in group.items()}
    wanted = {name: n for name, n in counted.items() if name in names or name in also}
    if not wanted:
        missing = next((group for group in groups if isinstance(group, Missing)), None)
        return rule.incomplete(port.name, missing or "the driver has none of the counters")
    over = {name: n for name, n in wanted.items() if n > most_per_second * before.seconds}
    if not over:
        return rule.ok(port.name, f"{len(wanted)} counters stood still for {before.seconds:.0f} s")
    said = ", ".join(f"{name} +{n}" for name, n in sorted(over.items(), key=lambda one: -one[1]))
    return rule.finding(port.name, f"{said} in {before.seconds:.0f} s")


def _driver_growth(snapshot: NodeSnapshot, before: Since, port: NicPort) -> dict[str, int] | Missing:
    name = port.port.netdev
    if not isinstance(name, str):
        return name
    new, old = snapshot.ethernet_link(name), before.snapshot.ethernet_link(name)
    if new is None or old is None:
        return Missing(reason=Reason.ABSENT, where="ethtool", detail=f"{name} was not asked")
    names = (*DISCARDS, *LINK_ERRORS, *(f"rx_prio{priority}_discards" for priority in range(8)))
    return grown(old.driver_statistics, new.driver_statistics, names)


def _lossless_discards(snapshot: NodeSnapshot, port: NicPort) -> tuple[str, ...]:
    link = snapshot.ethernet_link(port.port.netdev) if isinstance(port.port.netdev, str) else None
    if link is None or isinstance(link.bridging, Missing) or isinstance(link.bridging.flow_control, Missing):
        return ()
    return tuple(f"rx_prio{number}_discards" for number, on in enumerate(link.bridging.flow_control.enabled) if on)


_BLOCKS = "uncorrectable_blocks"


def _uncorrectable(snapshot: NodeSnapshot, before: Since, port: NicPort) -> dict[str, int] | Missing:
    name = port.port.netdev
    links = [one.ethernet_link(name) if isinstance(name, str) else None for one in (before.snapshot, snapshot)]
    counts = [
        link.error_correction.uncorrectable_blocks
        for link in links
        if link is not None and not isinstance(link.error_correction, Missing)
    ]
    known = [count for count in counts if isinstance(count, int)]
    if len(known) < 2:
        return Missing(reason=Reason.ABSENT, where="ethtool FEC", detail="block counts are not shown")
    return {_BLOCKS: max(known[1] - known[0], 0)}


def _full(port: NicPort) -> Iterator[Result]:
    groups = [group for group in (port.port.counters, port.port.hw_counters) if not isinstance(group, Missing)]
    if not groups:
        yield FULL.incomplete(port.name, port.port.counters if isinstance(port.port.counters, Missing) else NODE)
        return
    full = [counter for group in groups for counter in group if counter.saturated]
    if full:
        yield FULL.finding(port.name, ", ".join(map(_at, full)))
    else:
        yield FULL.ok(port.name, f"{sum(map(len, groups))} counters have room")


def _at(counter: Counter) -> str:
    return f"{counter.name} stands at {counter.raw}"


CHECK = NodeCheck(id="losses", rules=(DROPS, REPEATS, LINK, FULL), check=check)
