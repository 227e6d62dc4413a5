"""The pair matrix of a rail: what each node sent to each partner it met. Of a large gang, the suspects only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from netkit.model.probe import Distance, FaultClass, ProbeReport, Reading
from netkit.model.units import show_line_rate
from netkit.report.heatmap import tint
from netkit.report.html_page import Markup, element, folded, joined, scrolling
from netkit.report.probe_facts import Port, PortFacts, finite, healthy_rates, pair_readings, quiet_band, stands_out

Way = tuple[str, str]

_WHOLE_NODES = 64
_MOST_SUSPECTS = 24
_SHORT_NAME = 5


def pair_matrices(report: ProbeReport, facts: Mapping[Port, PortFacts]) -> Markup:
    """Return one foldable matrix for each rail; the rail that is blamed first stands open."""
    by_rail: dict[int, dict[Way, list[Reading]]] = {rail: {} for rail in range(report.fabric.rails)}
    for reading in pair_readings(report):
        first, second = reading.nodes
        for way in ((first, second), (second, first)):
            by_rail.setdefault(reading.rail, {}).setdefault(way, []).append(reading)
    first_blamed = next((finding.rail or 0 for finding in report.verdict.findings), None)
    return joined(
        folded(f"rail {rail}", _matrix(report, facts, rail, met), opened=rail == first_blamed)
        for rail, met in by_rail.items()
    )


def _matrix(
    report: ProbeReport, facts: Mapping[Port, PortFacts], rail: int, met: Mapping[Way, list[Reading]]
) -> Markup:
    nodes = report.fabric.nodes
    if len(nodes) <= _WHOLE_NODES:
        return _table(report, rail, met, nodes, nodes)
    suspects = _suspects(report, facts, rail)
    if not suspects:
        return element("p", "No port of this rail stands out, so no pair is shown.", class_="calm")
    rows = suspects[:_MOST_SUSPECTS]
    partners = {receiver for sender, receiver in met if sender in set(rows)}
    columns = [node for node in nodes if node in partners]
    said = f"{len(rows)} of {len(nodes):,} nodes: those that stand out on this rail, with the partners they met."
    more = f" {len(suspects) - len(rows):,} more stand out; their pairs are in the JSON form." * (
        len(suspects) > len(rows)
    )
    return joined((element("p", said + more, class_="calm"), _table(report, rail, met, rows, columns)))


def _suspects(report: ProbeReport, facts: Mapping[Port, PortFacts], rail: int) -> list[str]:
    named = {
        node
        for finding in report.verdict.findings
        if finding.rail in {rail, None}
        for node in (finding.node, finding.peer)
        if node is not None
    }
    ordered = [node for node in report.fabric.nodes if node in named]
    known = (node for node in report.fabric.nodes if node not in named and (node, rail) in facts)
    return ordered + [node for node in known if stands_out(report, facts[node, rail])]


def _table(
    report: ProbeReport, rail: int, met: Mapping[Way, list[Reading]], rows: Sequence[str], columns: Sequence[str]
) -> Markup:
    healthy, quiet, blamed = healthy_rates(report), quiet_band(report), _blamed_ways(report, rail)
    upright = "upright" if max(map(len, columns), default=0) > _SHORT_NAME else ""
    titles = (element("th", element("span", one), scope="col", class_="r") for one in columns)
    head = element("tr", element("th", "from \\ to", scope="col"), *titles)
    body = (
        element(
            "tr",
            element("th", sender, scope="row"),
            *(_cell(sender, receiver, met, healthy, quiet, blamed) for receiver in columns),
        )
        for sender in rows
    )
    table = element("table", element("thead", head), element("tbody", *body), class_=f"heat pairs {upright}".rstrip())
    return scrolling(f"Rail {rail}: what the node of a row sent to the node of a column", table)


def _blamed_ways(report: ProbeReport, rail: int) -> frozenset[Way]:
    pairs = [
        (finding.node, finding.peer)
        for finding in report.verdict.findings
        if finding.fault_class is FaultClass.PAIR and finding.rail in {rail, None}
    ]
    return frozenset((one, other) for first, second in pairs if first and second for one, other in _both(first, second))


def _both(first: str, second: str) -> tuple[Way, Way]:
    return (first, second), (second, first)


def _cell(
    sender: str,
    receiver: str,
    met: Mapping[Way, list[Reading]],
    healthy: Mapping[Distance, float],
    quiet: float,
    blamed: frozenset[Way],
) -> Markup:
    if sender == receiver:
        return element("td", "·", class_="self")
    readings = met.get((sender, receiver))
    if not readings:
        return _NEVER_MET
    rates = [(one, rate) for one in readings if (rate := finite(_sent(one, sender))) is not None]
    if not rates:
        return element("td", "?", class_="na", title=str(readings[-1].missing or "no rate"))
    middle = median(rate for _, rate in rates)
    yardstick = healthy.get(readings[-1].distance)
    part = middle / yardstick if yardstick else None
    cpu_bound = all(one.cpu_bound for one, _ in rates)
    looks = ["part"] if cpu_bound else [step] if (step := tint(part, quiet)) != "h0" else []
    mark = "! " if (sender, receiver) in blamed else ""
    shown = show_line_rate(middle) if part is None else f"{part * 100:.0f}"
    return element("td", mark + "c " * cpu_bound + shown, class_=" ".join(looks + ["bad"] * bool(mark)) or None)


_NEVER_MET = element("td", class_="gap")


def _sent(reading: Reading, sender: str) -> float | None:
    return reading.forward if reading.nodes[0] == sender else reading.reverse
