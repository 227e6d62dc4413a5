"""Convicted components as findings: what is slow, by how much, on what evidence, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from netkit.model.finding import Severity
from netkit.model.probe import Direction, Fabric, FaultClass, ProbeFinding, Reading
from netkit.model.units import show_line_rate, show_percent
from netkit.probe.localise import Blame, PairKey, Uplink, Whole, median_relative
from netkit.probe.plan import Port

# From this slowdown on a finding pages somebody: a ring all-reduce runs at the pace of its slowest link.
_CRITICAL_SLOWDOWN = 0.25
# A direction belongs to the fault when it lost at least this share of what the slower one lost.
_SAME_LOSS = 0.5
_EVIDENCE_READINGS = 8

_NEXT_STEPS: dict[FaultClass, tuple[str, ...]] = {
    FaultClass.RAIL: (
        "On {node}, read the NIC of rail {rail} (ethtool, ethtool -S, lspci -vv): link, FEC errors, pause frames.",
        "Swap its cable or move it to another switch port and probe again: a fault that moves is the cable.",
    ),
    FaultClass.NODE: (
        "On {node}, look at what its rails share: processors, PCIe root, memory bandwidth, power limits, MTU, tenants.",
        "Keep {node} out of the next gang and probe again without it.",
    ),
    FaultClass.LEAF: (
        "On the switch of leaf {leaf}, rail {rail}, read rates, shaping, PFC pause and drops of every port.",
        "Compare its configuration with the leaf of the same nodes on another rail.",
    ),
    FaultClass.UPLINK: (
        "On leaf {leaf}, rail {rail}, count the uplinks that are up; compare rates and drops with another rail.",
        "Until it is mended, keep rings inside a leaf where the scheduler can.",
    ),
    FaultClass.PAIR: (
        "Look at the path between {node} and {peer} on rail {rail}: an ECMP member, one spine link.",
        "Probe again: a pair that is clean with other source ports was a hash collision.",
    ),
    FaultClass.UNIFORM: (
        "Suspect what all nodes share before any one of them: the line rate given, MTU, a shaper, a software change.",
        "Compare with a run from before the last change; no single node is blamed.",
    ),
}


def whole_finding(accused: Blame, whole: Whole, fabric: Fabric) -> ProbeFinding:
    """Return the finding for a port, a node or a leaf."""
    readings = [reading for port in whole.ports for reading in accused.ports[port]]
    direction, slowdown = _direction(accused, whole.ports)
    fault_class = (
        FaultClass.LEAF if whole.leaf is not None else FaultClass.RAIL if whole.rail is not None else FaultClass.NODE
    )
    subject = {
        FaultClass.LEAF: f"leaf {whole.leaf or '(only leaf)'} of rail {whole.rail}",
        FaultClass.RAIL: f"{whole.node} rail {whole.rail}",
        FaultClass.NODE: f"{whole.node}, on {len(whole.ports)} of {fabric.rails} rails",
    }[fault_class]
    return _finding(
        fault_class,
        subject,
        slowdown,
        direction=direction,
        dead=all(reading.missing for reading in readings),
        evidence=(*_whole_evidence(accused, whole, readings), *_contrast(accused, whole, fabric)),
        node=whole.node,
        rail=whole.rail,
        leaf=whole.leaf,
    )


def uplink_finding(accused: Blame, uplink: Uplink, readings: Sequence[Reading]) -> ProbeFinding:
    """Return the finding for traffic that leaves a leaf."""
    rail, leaves = uplink
    name = ":".join(sorted(leaves))
    rounds = {reading.round for reading in readings}
    level = show_percent(median_relative(accused, readings))
    return _finding(
        FaultClass.UPLINK,
        f"uplink of leaf {name} on rail {rail}",
        1 - median_relative(accused, readings),
        dead=all(reading.missing for reading in readings),
        evidence=(
            f"{len(readings)} readings across leaves in {len(rounds)} rounds, median {level} of the healthy rate there",
            "the same ports are clean under their own leaf",
        ),
        rail=rail,
        leaf=name,
    )


def pair_finding(accused: Blame, pair: PairKey, readings: Sequence[Reading]) -> ProbeFinding:
    """Return the finding for two ports that are slow with each other only."""
    first, second, rail = pair
    return _finding(
        FaultClass.PAIR,
        f"{first} with {second} on rail {rail}",
        1 - median_relative(accused, readings),
        dead=all(reading.missing for reading in readings),
        evidence=(
            _list_readings(accused, readings),
            f"{first} and {second} are both clean on rail {rail} with other partners",
        ),
        node=first,
        rail=rail,
        peer=second,
    )


def small_gang_finding(
    fault_class: FaultClass, reference: float, readings: Sequence[Reading], **names: object
) -> ProbeFinding:
    """Return the finding of a gang too small for a cohort, held against a reference rate in bytes/s."""
    slowdown = 1 - median(reading.rate or 0.0 for reading in readings) / reference
    node, rail, peer = names.get("node"), names.get("rail"), names.get("peer")
    subject = f"{node} with {peer} on rail {rail}" if peer else f"{node} rail {rail}"
    return _finding(
        fault_class,
        subject,
        slowdown,
        evidence=tuple(f"{':'.join(r.nodes)} rail {r.rail}: {show_line_rate(r.rate or 0.0)}" for r in readings),
        node=str(node),
        rail=int(str(rail)),
        peer=str(peer) if peer else None,
    )


def uniform_finding(center: float, line_rate: float) -> ProbeFinding:
    """Return the finding for a fabric that is slow alike everywhere."""
    return _finding(
        FaultClass.UNIFORM,
        "every rail of every node",
        1 - center / line_rate,
        evidence=(
            f"the typical reading is {show_line_rate(center)}, the line rate allows {show_line_rate(line_rate)}",
            "no reading stands out from the others, so no node is blamed",
        ),
    )


def slow_between_leaves_finding(accused: Blame, readings: Sequence[Reading]) -> ProbeFinding:
    """Return the finding for traffic that is slower across leaves on every rail alike."""
    level = median_relative(accused, readings)
    return _finding(
        FaultClass.UPLINK,
        "every path between leaves",
        1 - level,
        evidence=(
            f"readings across leaves are at {show_percent(level)} of those under a leaf, on every rail alike",
            "oversubscribed by design, or every uplink is slow: no rail is left to compare with",
        ),
    )


def _finding(
    fault_class: FaultClass,
    subject: str,
    slowdown: float,
    *,
    evidence: tuple[str, ...],
    direction: Direction = Direction.BOTH,
    dead: bool = False,
    node: str | None = None,
    rail: int | None = None,
    leaf: str | None = None,
    peer: str | None = None,
) -> ProbeFinding:
    side = {Direction.TX: " when sending", Direction.RX: " when receiving", Direction.BOTH: ""}[direction]
    summary = f"{subject} carries no traffic" if dead else f"{subject} is {show_percent(slowdown)} slow{side}"
    names = {"node": node, "rail": "all" if rail is None else rail, "leaf": leaf or "(all)", "peer": peer}
    key = [str(part) for part in (leaf, node, peer) if part] + ([f"r{rail}"] if rail is not None else [])
    return ProbeFinding(
        id="/".join(["probe", fault_class, *key]),
        fault_class=fault_class,
        node=node,
        rail=rail,
        leaf=leaf,
        peer=peer,
        direction=direction,
        slowdown=slowdown,
        severity=Severity.CRITICAL if slowdown >= _CRITICAL_SLOWDOWN else Severity.WARNING,
        summary=summary,
        evidence=evidence,
        next=tuple(step.format(**names) for step in _NEXT_STEPS[fault_class]),
    )


def _direction(accused: Blame, ports: Iterable[Port]) -> tuple[Direction, float]:
    """Which side of the ports is slow, and how slow that side is."""
    seen: dict[Direction, list[float]] = {Direction.TX: [], Direction.RX: []}
    for node, rail in ports:
        for reading in accused.ports[node, rail]:
            sends = reading.nodes[0] == node
            for direction, rate in ((Direction.TX, reading.forward), (Direction.RX, reading.reverse)):
                side = direction if sends else _OTHER_SIDE[direction]
                center = accused.cohorts[reading.distance].center if reading.distance in accused.cohorts else 1.0
                seen[side].append(1 - (rate or 0.0) / center)
    losses = {direction: median(values) for direction, values in seen.items()}
    worst = max(losses, key=lambda direction: losses[direction])
    if losses[_OTHER_SIDE[worst]] >= _SAME_LOSS * losses[worst]:
        return Direction.BOTH, losses[worst]
    return worst, losses[worst]


_OTHER_SIDE = {Direction.TX: Direction.RX, Direction.RX: Direction.TX}


def _whole_evidence(accused: Blame, whole: Whole, readings: Sequence[Reading]) -> tuple[str, ...]:
    if len(whole.ports) == 1:
        chance = accused.chance(readings)
        return (
            _list_readings(accused, readings),
            f"noise alone would do this to one port in {_grouped(1 / max(chance, 1e-12))}",
        )
    return tuple(
        f"{node} rail {rail}: {_list_readings(accused, accused.ports[node, rail])}"
        for node, rail in whole.ports[:_EVIDENCE_READINGS]
    ) + ((f"and {len(whole.ports) - _EVIDENCE_READINGS} more ports",) if len(whole.ports) > _EVIDENCE_READINGS else ())


def _grouped(number: float) -> str:
    """1234567 → `1,000,000`: one digit is all an estimated chance deserves."""
    digits = len(str(int(number))) - 1
    return f"{int(number) // 10**digits * 10**digits:,}"


def _list_readings(accused: Blame, readings: Sequence[Reading]) -> str:
    shown = ", ".join(
        f"{':'.join(reading.nodes)} {'no traffic' if reading.missing else show_percent(accused.relative(reading))}"
        for reading in readings[:_EVIDENCE_READINGS]
    )
    centers = {
        reading.distance: accused.cohorts[reading.distance].center
        for reading in readings
        if reading.distance in accused.cohorts
    }
    healthy = " and ".join(f"{show_line_rate(center)} ({distance})" for distance, center in sorted(centers.items()))
    return (
        f"{len(readings)} of {len(readings)} readings low against a healthy {healthy or 'rate nobody reached'}: {shown}"
    )


def _contrast(accused: Blame, whole: Whole, fabric: Fabric) -> tuple[str, ...]:
    """Say what is clean right beside the culprit: it rules out the wider explanation."""
    if whole.node is None or len(whole.ports) != 1 or fabric.rails == 1:
        return ()
    others = [rail for rail in range(fabric.rails) if rail != whole.rail and (whole.node, rail) not in accused.ports]
    if not others:
        return ()
    rails = ", ".join(map(str, others[:_EVIDENCE_READINGS]))
    return (f"{whole.node} is clean on rail {rails} in the same rounds, so it is not the whole node",)
