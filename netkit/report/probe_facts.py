"""What a probe report says in numbers: state and share of each port, each rail in one row, the yardsticks.

Pure arithmetic over `netkit.model.probe.ProbeReport`. A reading is set by the slower of its two ends, so the rate a
port is credited with is the best it reached with any partner: a healthy port that once met a slow partner is not
coloured by it, and a slow port is slow with every partner. Readings the processors limited are kept apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from netkit.model.probe import (
    Distance,
    FaultClass,
    GangReading,
    ProbeFinding,
    ProbeReport,
    Reading,
)
from netkit.model.text import visible

Port = tuple[str, int]

# Without a noise figure of its own, a run gets no credit for seeing less than this.
_USUAL_NOISE = 0.06


class PortState(StrEnum):
    """What is known of one port."""

    MEASURED = "measured"
    CPU_BOUND = "cpu-bound"
    """Only readings that the processors set: a lower bound for the link."""
    SHADOWED = "shadowed"
    """Only readings with partners that are blamed themselves: a lower bound too."""
    MISSING = "missing"
    """Asked for and not obtained."""
    UNTESTED = "untested"
    """Never asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortFacts:
    """One rail of one node: its best rate in bytes per second, and that rate as a share of a healthy one."""

    state: PortState
    rate: float | None = None
    share: float | None = None
    note: str = ""
    finding: ProbeFinding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RailFacts:
    """One rail over all its pair readings; rates are bytes per second."""

    rail: int
    middle: float | None
    lowest: float | None
    lowest_pair: tuple[str, ...]
    readings: int
    missing: int
    cpu_bound: int
    gang: GangReading | None
    gang_share: float | None


def finite(value: float | None) -> float | None:
    """Return the number, or None for what is no number at all."""
    return value if value is not None and math.isfinite(value) else None


def healthy_rates(report: ProbeReport) -> Mapping[Distance, float]:
    """Return the rate that counts as 100 %, by distance: this run's own healthy readings, else the line rate.

    When everything is uniformly slow the run holds nothing healthy, and the line rate is the only yardstick.
    """
    line_rate = finite(report.fabric.line_rate)
    rates = dict.fromkeys(Distance, line_rate) if line_rate else {}
    if line_rate is None or not is_uniform(report):
        rates |= {level.distance: level.center for level in report.verdict.noise if (finite(level.center) or 0) > 0}
    return {distance: rate for distance, rate in rates.items() if rate}


def quiet_band(report: ProbeReport) -> float:
    """Return the shortfall that the noise of this run explains."""
    smallest = finite(report.verdict.smallest_detectable_slowdown)
    return _USUAL_NOISE if smallest is None else smallest


def is_uniform(report: ProbeReport) -> bool:
    """Tell whether a finding blames everything alike."""
    return any(finding.fault_class is FaultClass.UNIFORM for finding in report.verdict.findings)


def share(reading: Reading, healthy: Mapping[Distance, float], rate: float | None) -> float | None:
    """Return `rate` of this reading as a share of a healthy one at the same distance."""
    known = finite(rate)
    return known / healthy[reading.distance] if known is not None and reading.distance in healthy else None


def pair_readings(report: ProbeReport) -> Iterator[Reading]:
    """Return the readings between two nodes: the ones that say something about links."""
    return (reading for reading in report.readings if len(reading.nodes) == 2)


def blamed_ports(report: ProbeReport) -> dict[Port, ProbeFinding]:
    """Return the ports that a finding holds responsible; an uplink, a pair and uniform slowness blame no port."""
    blamed: dict[Port, ProbeFinding] = {}
    for finding in report.verdict.findings:
        rails = range(report.fabric.rails) if finding.rail is None else (finding.rail,)
        for node in _blamed_nodes(report, finding):
            blamed |= {(node, rail): finding for rail in rails if (node, rail) not in blamed}
    return blamed


def _blamed_nodes(report: ProbeReport, finding: ProbeFinding) -> Iterable[str]:
    if finding.fault_class in {FaultClass.RAIL, FaultClass.NODE}:
        return (finding.node,) if finding.node is not None else ()
    if finding.fault_class is FaultClass.LEAF:
        return (node for node in report.fabric.nodes if report.fabric.leaf_of.get(node, "") == finding.leaf)
    return ()


def port_facts(report: ProbeReport) -> dict[Port, PortFacts]:
    """Return what is known of every port, in the order of the fabric."""
    healthy, blamed = healthy_rates(report), blamed_ports(report)
    by_port: dict[Port, list[Reading]] = {}
    for reading in pair_readings(report):
        for node in reading.nodes:
            by_port.setdefault((node, reading.rail), []).append(reading)
    facts = {
        (node, rail): _port((node, rail), by_port.get((node, rail), []), healthy, blamed)
        for node in report.fabric.nodes
        for rail in range(report.fabric.rails)
    }
    fine = 1 - quiet_band(report)
    return {port: _acquitted(one, fine) for port, one in facts.items()}


def _acquitted(facts: PortFacts, fine: float) -> PortFacts:
    """Take the blame for a whole node or leaf off a port of it that is fine itself."""
    wider = facts.finding is not None and facts.finding.fault_class is not FaultClass.RAIL
    clean = facts.state is PortState.MEASURED and facts.share is not None and facts.share >= fine
    return replace(facts, finding=None) if wider and clean else facts


def _port(
    port: Port, readings: list[Reading], healthy: Mapping[Distance, float], blamed: Mapping[Port, ProbeFinding]
) -> PortFacts:
    finding = blamed.get(port)
    measured = [reading for reading in readings if finite(reading.rate) is not None]
    if not measured:
        state = PortState.MISSING if readings else PortState.UNTESTED
        return PortFacts(state=state, note=_why_missing(readings), finding=finding)
    state, telling = _telling(port, measured, blamed)
    best = max(telling, key=lambda reading: share(reading, healthy, reading.rate) or reading.rate or 0.0)
    return PortFacts(state=state, rate=best.rate, share=share(best, healthy, best.rate), finding=finding)


def _telling(
    port: Port, readings: list[Reading], blamed: Mapping[Port, ProbeFinding]
) -> tuple[PortState, list[Reading]]:
    """Return the readings that say most about the port, and what they make of it."""
    clean = [reading for reading in readings if not reading.cpu_bound]
    own = [
        reading
        for reading in clean
        if port in blamed or not any((other, reading.rail) in blamed for other in reading.nodes)
    ]
    if own:
        return PortState.MEASURED, own
    return (PortState.SHADOWED, clean) if clean else (PortState.CPU_BOUND, readings)


def _why_missing(readings: Iterable[Reading]) -> str:
    reasons = [str(reading.missing) if reading.missing else "no rate" for reading in readings]
    return visible(reasons[-1]) if reasons else "never measured"


def stands_out(report: ProbeReport, facts: PortFacts) -> bool:
    """Tell whether a port is blamed, not measured, or lower than this run's noise explains."""
    if facts.finding is not None or facts.state is not PortState.MEASURED:
        return True
    smallest = finite(report.verdict.smallest_detectable_slowdown)
    return facts.share is not None and smallest is not None and facts.share < 1 - smallest


def rail_facts(report: ProbeReport) -> tuple[RailFacts, ...]:
    """Return one summary for each rail."""
    by_rail: dict[int, list[Reading]] = {rail: [] for rail in range(report.fabric.rails)}
    for reading in pair_readings(report):
        by_rail.setdefault(reading.rail, []).append(reading)
    gangs = {gang.rail: gang for gang in report.gang_readings}
    expected = gang_yardstick(report)
    return tuple(_rail(rail, readings, gangs.get(rail), expected) for rail, readings in by_rail.items())


def _rail(rail: int, readings: list[Reading], gang: GangReading | None, expected: float | None) -> RailFacts:
    clean = [(reading, rate) for reading in readings if not reading.cpu_bound and (rate := finite(reading.rate))]
    lowest, low_rate = min(clean, key=lambda pair: pair[1], default=(None, None))
    busbw = finite(gang.busbw) if gang else None
    return RailFacts(
        rail=rail,
        middle=median(rate for _, rate in clean) if clean else None,
        lowest=low_rate,
        lowest_pair=lowest.nodes if lowest else (),
        readings=len(readings),
        missing=sum(finite(reading.rate) is None for reading in readings),
        cpu_bound=sum(reading.cpu_bound for reading in readings),
        gang=gang,
        gang_share=busbw / expected if busbw is not None and expected else None,
    )


def gang_yardstick(report: ProbeReport) -> float | None:
    """Return the busbw a healthy ring would show: it runs at the rate of its slowest kind of link."""
    rates = healthy_rates(report)
    between = [rates[distance] for distance in (Distance.NEAR, Distance.FAR) if distance in rates]
    return min(between, default=None)


def missing_readings(report: ProbeReport) -> tuple[Reading, ...]:
    """Return every reading that holds no rate."""
    return tuple(reading for reading in report.readings if finite(reading.rate) is None)
