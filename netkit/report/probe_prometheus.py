"""A probe as Prometheus text, fit for node_exporter's textfile collector.

Every series carries `probe`, the name of the run, so that files of several probes can lie side by side. Labels are
bounded by the gang (nodes, rails, findings): nothing that changes with every run, such as a seed, becomes a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from netkit.model.probe import Answer, ProbeFinding, ProbeReport
from netkit.report.exposition import Family, Sample, render_families
from netkit.report.probe_facts import PortState, finite, missing_readings, port_facts

# A textfile much larger than this slows every scrape of the node that holds it.
_MOST_PORTS = 16_384


def render(report: ProbeReport) -> str:
    """Return the report as exposition text; what was not measured is absent."""
    return render_families(_families(report))


def _families(report: ProbeReport) -> Iterator[Family]:
    verdict = report.verdict
    yield _family(
        report,
        "info",
        "Which netkit probed, and how traffic ran; always 1.",
        [({"transport": report.transport, "version": report.tool_version}, 1)],
    )
    yield _family(
        report,
        "verdict",
        "1 for the verdict of the last probe, 0 for the others.",
        [({"verdict": answer.value}, float(answer is verdict.answer)) for answer in Answer],
    )
    yield _family(
        report,
        "finding_slowdown_ratio",
        "Share of its healthy rate that a blamed component has lost; one series for each finding.",
        [(_finding_labels(finding), finding.slowdown) for finding in verdict.findings],
    )
    yield _family(
        report,
        "smallest_detectable_slowdown_ratio",
        "Smallest slowdown the last probe could have seen; absent when it could have seen none.",
        [({}, verdict.smallest_detectable_slowdown)],
    )
    yield _family(
        report,
        "port_rate_bytes_per_second",
        "Payload rate of one rail of one node: the best over its partners of the slower direction, readings the "
        "processors limited left out.",
        _port_rates(report),
    )
    yield _family(
        report,
        "healthy_rate_bytes_per_second",
        "Payload rate of a healthy pair in the last probe, by distance.",
        [({"distance": level.distance.value}, level.center) for level in verdict.noise],
    )
    yield _family(
        report,
        "gang_busbw_bytes_per_second",
        "Bus bandwidth of an all-reduce over all nodes of one rail.",
        [({"rail": str(gang.rail)}, gang.busbw) for gang in report.gang_readings],
    )
    yield from _size_and_time(report)


def _size_and_time(report: ProbeReport) -> Iterator[Family]:
    readings = report.readings
    missing = len(missing_readings(report))
    cpu_bound = sum(reading.cpu_bound and finite(reading.rate) is not None for reading in readings)
    states = {"measured": len(readings) - missing - cpu_bound, "missing": missing, "cpu_bound": cpu_bound}
    yield _family(
        report,
        "readings",
        "Readings of the last probe, by state.",
        [({"state": state}, float(number)) for state, number in states.items()],
    )
    for name, text, value in (
        ("ports", "Rails of nodes that were to be probed.", float(report.fabric.ports)),
        ("rounds", "Rounds the last probe took.", float(len(report.rounds))),
        ("duration_seconds", "How long the last probe took.", report.seconds),
        ("timestamp_seconds", "When the last probe started, in seconds since 1970.", _epoch(report.started_at)),
    ):
        yield _family(report, name, text, [({}, value)])


def _family(report: ProbeReport, name: str, text: str, series: Iterable[tuple[dict[str, str], float | None]]) -> Family:
    samples = tuple(Sample(labels={"probe": report.name} | labels, value=value) for labels, value in series)
    return Family(name=f"netkit_probe_{name}", help=text, samples=samples)


def _finding_labels(finding: ProbeFinding) -> dict[str, str]:
    return {
        "id": finding.id,
        "class": finding.fault_class.value,
        "node": finding.node or "",
        "rail": "" if finding.rail is None else str(finding.rail),
        "leaf": finding.leaf or "",
        "peer": finding.peer or "",
        "direction": finding.direction.value,
        "severity": finding.severity.value,
    }


def _port_rates(report: ProbeReport) -> Iterator[tuple[dict[str, str], float | None]]:
    """Yield the measured ports; of a very large gang the slowest ones."""
    known = [
        (port, facts)
        for port, facts in port_facts(report).items()
        if facts.state is PortState.MEASURED and finite(facts.rate) is not None
    ]
    if len(known) > _MOST_PORTS:
        known = sorted(known, key=lambda item: item[1].rate or 0.0)[:_MOST_PORTS]
    for (node, rail), facts in known:
        yield {"node": node, "rail": str(rail)}, facts.rate


def _epoch(started_at: str) -> float | None:
    try:
        moment = datetime.fromisoformat(started_at)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
