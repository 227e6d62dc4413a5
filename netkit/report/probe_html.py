"""A probe as one HTML page: verdict, what to do next, the symptom, where it is, the readings, and how it ran.

The page holds everything it needs, asks the network for nothing and runs no script, so it can be mailed, attached
to a ticket or opened on a machine without a network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netkit.model.probe import Answer, Distance, PlacementFinding, ProbeFinding, ProbeReport, Reading
from netkit.model.text import visible
from netkit.model.units import show_duration, show_line_rate, show_percent, show_rate, show_size
from netkit.report.heatmap import heat_map, other_blame
from netkit.report.html_page import Markup, element, folded, header_row, joined, page, scrolling, section
from netkit.report.pair_matrix import pair_matrices
from netkit.report.probe_facts import (
    RailFacts,
    blamed_ports,
    finite,
    gang_yardstick,
    healthy_rates,
    port_facts,
    quiet_band,
    rail_facts,
    share,
)
from netkit.report.probe_words import (
    EMULATED,
    EMULATED_WORDS,
    ROUND_WORDS,
    amount,
    best_reading_words,
    counted,
    detail,
    explanation,
    headline,
    noise_sentences,
    scale,
    spans,
    subject,
    yardstick,
)

_OPEN_FINDINGS = 3
_MOST_READINGS = 20_000
# The shapes differ, so the verdict reads without its colour.
_GLYPHS = {
    Answer.SLOW: "M6 0L12 11.5H0Z",
    Answer.HEALTHY: "M6 0A6 6 0 1 0 6.01 0Z",
    Answer.INCONCLUSIVE: "M6 0L12 6L6 12L0 6Z",
}

# Each of the 2(n-1) steps of a ring costs a turn-around that a stream between two nodes does not.
_RING_OVERHEAD = 0.12


def render(report: ProbeReport, *, command: str = "") -> str:
    """Return the whole page; `command` is the command line to print as how it was run, when there was one."""
    title = f"{report.verdict.answer.upper()}: {headline(report)} · netkit probe {visible(report.name)}"
    facts = port_facts(report)
    return page(
        title,
        _banner(report),
        _next_steps(report),
        _symptom(report),
        section(
            "Nodes and rails",
            heat_map(report, facts),
            lead=f"Each number is the {best_reading_words(report)}, over all the partners of a port, in the slower "
            f"direction. {other_blame(report, blamed_ports(report))}".rstrip(),
        ),
        section(
            "Pairs",
            pair_matrices(report, facts),
            lead="What the node of a row sent to the node of a column, by rail: "
            + ("percent of healthy." if healthy_rates(report) else "the rate."),
        ),
        section("Readings, round by round", _readings(report)),
        _limits(report),
        _how(report, command),
    )


def _banner(report: ProbeReport) -> Markup:
    answer = report.verdict.answer
    glyph = element("svg", element("path", d=_GLYPHS[answer]), viewBox="0 0 12 12", aria_hidden="true")
    tag = element("span", EMULATED.upper(), class_="tag") if report.transport == EMULATED else None
    why = explanation(report)
    return element(
        "header",
        element("div", element("span", glyph, answer.value, class_="word"), tag, class_="labels"),
        element("h1", headline(report)),
        element("p", EMULATED_WORDS, class_="warn") if report.transport == EMULATED else None,
        element("p", why, class_="why") if why else None,
        *(element("p", f"Warning: {warning}", class_="warn") for warning in report.warnings),
        element("dl", *_key_facts(report), class_="facts"),
        class_=f"banner {answer}",
    )


def _key_facts(report: ProbeReport) -> Iterator[Markup]:
    smallest = finite(report.verdict.smallest_detectable_slowdown)
    findings = report.verdict.findings
    for title, value in (
        ("Findings", f"{count:,}" if (count := len(findings) + len(report.placement)) else "none"),
        ("Probed", scale(report)),
        ("Smallest visible slowdown", "none at all" if smallest is None else show_percent(smallest)),
        ("Took", show_duration(report.seconds)),
    ):
        yield element("div", element("dt", title), element("dd", value))


def _next_steps(report: ProbeReport) -> Markup:
    findings = report.verdict.findings
    if not findings and not report.placement:
        return section("What to do next", element("p", _NOTHING_FOUND[report.verdict.answer]))
    cards = (_card(finding, opened=number < _OPEN_FINDINGS) for number, finding in enumerate(findings))
    return section("What to do next", *cards, *map(_placement_card, report.placement))


def _placement_card(finding: PlacementFinding) -> Markup:
    return element(
        "details",
        element(
            "summary",
            element("span", f"{finding.node}: {', '.join(finding.gpus)}", class_="name"),
            element("span", finding.severity.value, class_="sev"),
            element("span", "mis-paired", class_="amount"),
        ),
        element(
            "div",
            element("p", finding.summary),
            _items("Next", "ol", finding.next),
            _items("Why we say so", "ul", finding.evidence),
        ),
        class_="finding",
        open="",
    )


_NOTHING_FOUND = {
    Answer.HEALTHY: "Nothing on these links. Keep this page to compare with; "
    "if a job is slow all the same, look at what this probe cannot see, below.",
    Answer.SLOW: "No component could be singled out; the map and the readings below show what was slow.",
    Answer.INCONCLUSIVE: "Clear what kept this run from an answer, above, and probe again. "
    "Nothing here speaks for or against the hardware.",
}


def _card(finding: ProbeFinding, *, opened: bool) -> Markup:
    return element(
        "details",
        element(
            "summary",
            element("span", subject(finding), class_="name"),
            element("span", finding.severity.value, class_="sev"),
            element("span", amount(finding), class_="amount"),
        ),
        element(
            "div",
            element("p", more) if (more := detail(finding)) else None,
            _items("Next", "ol", finding.next),
            _items("Why we say so", "ul", finding.evidence),
        ),
        class_="finding",
        id=f"finding-{finding.id}",
        open="" if opened else None,
    )


def _items(title: str, kind: str, items: tuple[str, ...]) -> Markup | None:
    if not items:
        return None
    return element("div", element("h4", title), element(kind, *(element("li", item) for item in items)))


def _symptom(report: ProbeReport) -> Markup | None:
    if not report.gang_readings:
        return None
    expected = gang_yardstick(report)
    rows = (_gang_row(facts, report) for facts in rail_facts(report) if facts.gang)
    head = header_row("rail", "", "busbw", "of healthy", numeric=frozenset({"busbw", "of healthy"}))
    table = element("table", head, element("tbody", *rows), class_="gang")
    against = f" The mark is {yardstick(report)}, {show_rate(expected)}." if expected else ""
    return section(
        "What a job sees",
        scrolling("All-reduce bus bandwidth by rail", table),
        lead="Bus bandwidth of an all-reduce over all nodes, rail by rail: one slow port holds back its whole rail."
        + against,
    )


def _gang_row(facts: RailFacts, report: ProbeReport) -> Markup:
    gang = facts.gang
    busbw = finite(gang.busbw) if gang else None
    if busbw is None:
        why = str(gang.missing) if gang and gang.missing else "unknown"
        return element("tr", element("td", f"rail {facts.rail}"), element("td", why, class_="calm", colspan=3))
    part = facts.gang_share
    short = part is not None and part < 1 - max(quiet_band(report), _RING_OVERHEAD)
    return element(
        "tr",
        element("td", f"rail {facts.rail}"),
        element("td", _bar(part, short=short)),
        element("td", show_rate(busbw), class_="r"),
        element("td", "unknown" if part is None else show_percent(part), class_="r low" if short else "r"),
    )


def _bar(part: float | None, *, short: bool) -> Markup | None:
    if part is None:
        return None
    # The scale ends above the healthy mark, so that a rail slightly better than healthy still fits.
    width = max(0.0, min(part, 1.1)) / 1.1 * 100
    fill = element("i", class_="short" if short else None, style=f"width:{width:.1f}%")
    return element("div", fill, element("b", style="left:90.9%"), class_="bar", aria_hidden="true")


def _readings(report: ProbeReport) -> Markup:
    healthy, quiet = healthy_rates(report), quiet_band(report)
    by_round: dict[int, list[Reading]] = {one.number: [] for one in report.rounds}
    for reading in report.readings:
        by_round.setdefault(reading.round, []).append(reading)
    all_fit = len(report.readings) <= _MOST_READINGS
    kinds = {one.number: ROUND_WORDS[one.kind] for one in report.rounds}
    out = {one.number: one.sitting_out for one in report.rounds}
    parts = []
    for number, readings in by_round.items():
        shown = [one for one in readings if all_fit or _is_odd(one, healthy, quiet)]
        says = f"Round {number}: {kinds.get(number, 'unplanned')}, {counted(len(readings), 'reading')}"
        parts.append(folded(says, _sat_out(out.get(number, ())), _round_table(number, shown, healthy, quiet)))
    rest = "Only readings that are low, missing or set by the processors are listed; all are in the JSON form."
    return joined((None if all_fit else element("p", rest, class_="lead"), *parts))


def _sat_out(nodes: tuple[str, ...]) -> Markup | None:
    return element("p", f"Sat out: {', '.join(nodes)}.", class_="calm") if nodes else None


def _is_odd(reading: Reading, healthy: Mapping[Distance, float], quiet: float) -> bool:
    part = share(reading, healthy, reading.rate)
    return reading.cpu_bound or finite(reading.rate) is None or (part is not None and part < 1 - quiet)


def _round_table(number: int, readings: list[Reading], healthy: Mapping[Distance, float], quiet: float) -> Markup:
    titles = ("rail", "nodes", "distance", "there", "back", "of healthy", "spread", "")
    head = header_row(*titles, numeric=frozenset({"rail", "there", "back", "of healthy", "spread"}))
    rows = (_reading_row(reading, healthy, quiet) for reading in readings)
    table = element("table", head, element("tbody", *rows), class_="data")
    return scrolling(f"Readings of round {number}", table, class_="tall")


def _reading_row(reading: Reading, healthy: Mapping[Distance, float], quiet: float) -> Markup:
    part = share(reading, healthy, reading.rate)
    low = part is not None and part < 1 - quiet and not reading.cpu_bound
    spread = finite(reading.spread)
    return element(
        "tr",
        element("td", str(reading.rail), class_="r"),
        element("td", " → ".join(map(visible, reading.nodes))),
        element("td", reading.distance.value),
        element("td", _rate(reading.forward), class_="r"),
        element("td", _rate(reading.reverse), class_="r"),
        element("td", "" if part is None else show_percent(part), class_="r low" if low else "r"),
        element("td", "" if spread is None else show_percent(spread), class_="r"),
        element("td", _remark(reading, low=low), class_="why" if reading.missing else None),
    )


def _rate(rate: float | None) -> str:
    known = finite(rate)
    return "?" if known is None else show_line_rate(known)


def _remark(reading: Reading, *, low: bool) -> str:
    if reading.missing is not None:
        return f"missing: {reading.missing}"
    return "set by the processors" if reading.cpu_bound else "low" if low else ""


def _limits(report: ProbeReport) -> Markup:
    *noise, smallest = noise_sentences(report)
    seen = section(
        "What this run could see",
        element(
            "div",
            *(element("p", sentence) for sentence in noise),
            element("p", smallest, class_="last"),
            class_="sentences",
        ),
    )
    if not report.verdict.not_seen:
        return seen
    items = (element("li", item) for item in report.verdict.not_seen)
    return joined((seen, section("What it did not see", element("ul", *items, class_="plainlist"))))


def _how(report: ProbeReport, command: str) -> Markup:
    line_rate = finite(report.fabric.line_rate)
    gangs: dict[str, list[int]] = {}
    for gang in report.gang_readings:
        gangs.setdefault(f"{show_size(gang.bytes)} over {counted(gang.ranks, 'rank')}", []).append(gang.rail)
    pairs = (
        ("Command", element("code", command) if command else None),
        ("Name", report.name),
        ("Started", report.started_at),
        ("Transport", f"{report.transport} (not real links)" if report.transport == EMULATED else report.transport),
        ("Measured with", report.backend),
        ("Gang", scale(report)),
        ("Line rate", show_line_rate(line_rate) if line_rate else "not given"),
        ("All-reduce", "; ".join(f"{what}, rail {spans(rails)}" for what, rails in gangs.items())),
        ("Seed", str(report.seed)),
        ("netkit", report.tool_version),
    )
    rows = (joined((element("dt", title), element("dd", value))) for title, value in pairs if value)
    return section("How it was run", element("dl", *rows, class_="how"))
