"""A probe as neutral blocks: verdict first, then findings with evidence and next steps, then rails, ports, the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.model.finding import Severity
from netkit.model.probe import Answer, ProbeFinding, ProbeReport
from netkit.model.text import visible
from netkit.model.units import show_duration, show_line_rate, show_percent, show_rate, show_size
from netkit.report.blocks import Banner, Block, Cell, Column, Heading, Listing, Prose, Table, Tone
from netkit.report.probe_facts import PortFacts, PortState, RailFacts, finite, port_facts, rail_facts, stands_out
from netkit.report.probe_words import (
    EMULATED,
    EMULATED_WORDS,
    ROUND_WORDS,
    best_reading_words,
    claim,
    counted,
    detail,
    explanation,
    headline,
    missing_by_group,
    noise_sentences,
    scale,
    spans,
)

# Above this many nodes a grid of every port no longer fits a head; only the ports that stand out are listed.
_GRID_NODES = 64
_GRID_RAILS = 16
_MOST_LISTED = 100

_ANSWER_TONES = {Answer.SLOW: Tone.BAD, Answer.HEALTHY: Tone.GOOD, Answer.INCONCLUSIVE: Tone.WARN}
_SEVERITY_TONES = {Severity.CRITICAL: Tone.BAD, Severity.WARNING: Tone.WARN, Severity.INFO: Tone.STRONG}


def blocks(report: ProbeReport) -> tuple[Block, ...]:
    """Return everything a person reads of a probe, in the order a person reads it."""
    return (
        *_top(report),
        *_findings(report),
        _rails(report),
        *_ports(report),
        *_missing(report),
        _rounds(report),
        *_limits(report),
        *_how(report),
    )


def _top(report: ProbeReport) -> Iterator[Block]:
    verdict = report.verdict
    yield Banner(word=verdict.answer.upper(), text=headline(report), tone=_ANSWER_TONES[verdict.answer])
    if report.transport == EMULATED:
        yield Prose(text=EMULATED_WORDS, tone=Tone.WARN)
    if why := explanation(report):
        yield Prose(text=why)
    yield from (Prose(text=f"Warning: {visible(warning)}", tone=Tone.WARN) for warning in report.warnings)


def _findings(report: ProbeReport) -> Iterator[Block]:
    findings = report.verdict.findings
    for number, finding in enumerate(findings, 1):
        yield from _finding(finding, f"Finding {number} of {len(findings)}")
    for placed in report.placement:
        title = f"Placement: {visible(placed.summary)} [{placed.severity}]"
        yield Heading(text=title, tone=_SEVERITY_TONES[placed.severity])
        yield Listing(title="Evidence", items=tuple(map(visible, placed.evidence)))
        yield Listing(title="Next", items=tuple(map(visible, placed.next)), numbered=True)


def _finding(finding: ProbeFinding, label: str) -> Iterator[Block]:
    title = f"{label}: {claim(finding)} [{finding.severity}]"
    yield Heading(text=title, tone=_SEVERITY_TONES[finding.severity])
    if more := detail(finding):
        yield Prose(text=more, indent=2)
    if finding.evidence:
        yield Listing(title="Evidence", items=tuple(map(visible, finding.evidence)))
    if finding.next:
        yield Listing(title="Next", items=tuple(map(visible, finding.next)), numbered=True)


def _rails(report: ProbeReport) -> Table:
    facts = rail_facts(report)
    titles = ("rail", "median", "lowest", "readings", "missing", "cpu-bound", "busbw", "of healthy")
    columns = tuple(Column(title=title, numeric=True) for title in titles)
    lowest = [f"rail {one.rail}: {' - '.join(map(visible, one.lowest_pair))}" for one in facts if one.lowest_pair]
    lost = [f"rail {one.rail}: {visible(str(one.gang.missing))}" for one in facts if one.gang and one.gang.missing]
    notes = (f"{title}: {'; '.join(items)}." for title, items in (("Lowest pair", lowest), ("No busbw", lost)) if items)
    note = " ".join(notes)
    return Table(title="Rails", columns=columns, rows=tuple(map(_rail_row, facts)), note=note)


def _rail_row(facts: RailFacts) -> tuple[Cell, ...]:
    gang = facts.gang
    busbw = finite(gang.busbw) if gang else None
    why = "not run" if gang is None else gang.missing.reason.value if gang.missing else "unknown"
    return (
        Cell(text=str(facts.rail)),
        _line_rate(facts.middle),
        _line_rate(facts.lowest),
        Cell(text=str(facts.readings)),
        Cell(text=str(facts.missing), tone=Tone.WARN if facts.missing else Tone.MUTED),
        Cell(text=str(facts.cpu_bound), tone=Tone.WARN if facts.cpu_bound else Tone.MUTED),
        Cell(text=why, tone=Tone.WARN) if busbw is None else Cell(text=show_rate(busbw)),
        Cell(text="-", tone=Tone.MUTED) if facts.gang_share is None else Cell(text=show_percent(facts.gang_share)),
    )


def _line_rate(rate: float | None) -> Cell:
    return Cell(text="unknown", tone=Tone.WARN) if rate is None else Cell(text=show_line_rate(rate))


def _ports(report: ProbeReport) -> Iterator[Block]:
    facts = port_facts(report)
    if len(report.fabric.nodes) <= _GRID_NODES and report.fabric.rails <= _GRID_RAILS:
        yield _grid(report, facts)
    else:
        yield from _standing_out(report, facts)


def _grid(report: ProbeReport, facts: dict[tuple[str, int], PortFacts]) -> Table:
    rails = range(report.fabric.rails)
    columns = (Column(title="node"), *(Column(title=f"rail {rail}", numeric=True) for rail in rails))
    rows = tuple(
        (Cell(text=visible(node)), *(_port_cell(facts[node, rail]) for rail in rails)) for node in report.fabric.nodes
    )
    return Table(title=f"Ports, {best_reading_words(report)}", columns=columns, rows=rows, note=_KEY)


_KEY = (
    "! blamed by a finding; ? no reading; c set by the processors and ~ met blamed partners only: the port can do "
    "at least this."
)


_BOUNDS = {PortState.CPU_BOUND: "c", PortState.SHADOWED: "~"}


def _port_cell(facts: PortFacts) -> Cell:
    mark = "!" if facts.finding else ""
    if facts.state in {PortState.MISSING, PortState.UNTESTED}:
        return Cell(text=f"{mark}?", tone=Tone.WARN)
    if facts.share is not None:
        text = f"{facts.share * 100:.0f}%"
    else:
        text = "unknown" if facts.rate is None else show_line_rate(facts.rate)
    if facts.state in _BOUNDS:
        return Cell(text=f"{mark}{_BOUNDS[facts.state]} {text}", tone=Tone.MUTED)
    return Cell(text=mark + text, tone=Tone.BAD if facts.finding else Tone.PLAIN)


def _standing_out(report: ProbeReport, facts: dict[tuple[str, int], PortFacts]) -> Iterator[Block]:
    odd = [(port, one) for port, one in facts.items() if stands_out(report, one)]
    columns = (Column(title="node"), Column(title="rail", numeric=True), Column(title="share", numeric=True))
    rows = tuple((Cell(text=visible(node)), Cell(text=str(rail)), _port_cell(one)) for (node, rail), one in odd)
    rest = f" {len(odd) - _MOST_LISTED:,} more are in the JSON form." if len(odd) > _MOST_LISTED else ""
    title = f"Ports that stand out: {len(odd):,} of {len(facts):,}, {best_reading_words(report)}"
    yield Table(title=title, columns=columns, rows=rows[:_MOST_LISTED], note=_KEY + rest)


def _missing(report: ProbeReport) -> Iterator[Block]:
    missing = missing_by_group(report)
    if not missing:
        return
    columns = tuple(Column(title=title, numeric=title == "round") for title in ("round", "rails", "nodes", "why"))
    rows = tuple(
        (
            Cell(text=str(number)),
            Cell(text=spans(rails)),
            Cell(text=" - ".join(map(visible, nodes))),
            Cell(text=why, tone=Tone.WARN),
        )
        for (number, nodes, why), rails in missing.items()
    )
    rest = f"{len(rows) - _MOST_LISTED:,} more groups are in the JSON form." if len(rows) > _MOST_LISTED else ""
    title = f"Missing readings: {sum(map(len, missing.values())):,}"
    yield Table(title=title, columns=columns, rows=rows[:_MOST_LISTED], note=rest)


def _rounds(report: ProbeReport) -> Table:
    titles = ("round", "what", "groups", "sat out")
    rows = tuple(
        (
            Cell(text=str(one.number)),
            Cell(text=ROUND_WORDS[one.kind]),
            Cell(text=f"{len(one.groups):,}"),
            Cell(text=_names(one.sitting_out), tone=Tone.MUTED),
        )
        for one in report.rounds
    )
    columns = tuple(Column(title=title, numeric=title in {"round", "groups"}) for title in titles)
    return Table(title="Rounds", columns=columns, rows=rows)


def _names(nodes: Iterable[str]) -> str:
    return " ".join(map(visible, nodes)) or "-"


def _limits(report: ProbeReport) -> Iterator[Block]:
    yield Heading(text="What this run could see")
    yield from (Prose(text=sentence, indent=2) for sentence in noise_sentences(report))
    if report.verdict.not_seen:
        yield Listing(title="Not seen", items=tuple(map(visible, report.verdict.not_seen)))


def _how(report: ProbeReport) -> Iterator[Block]:
    yield Heading(text="How it ran")
    yield from (Prose(text=sentence, indent=2) for sentence in how_it_ran(report))


def how_it_ran(report: ProbeReport) -> Iterator[str]:
    """Yield what someone needs to run the same probe again."""
    line_rate = finite(report.fabric.line_rate)
    yield f"{visible(report.name)}: {scale(report)}, took {show_duration(report.seconds)}."
    how = f"transport {visible(report.transport)}, measured with {visible(report.backend)}"
    yield f"Started {visible(report.started_at)}, {how}, seed {report.seed}."
    yield f"Line rate {show_line_rate(line_rate)}." if line_rate else "Line rate not given."
    gangs: dict[tuple[int, int], list[int]] = {}
    for gang in report.gang_readings:
        gangs.setdefault((gang.ranks, gang.bytes), []).append(gang.rail)
    for (ranks, size), rails in gangs.items():
        yield f"All-reduce of {show_size(size)} over {counted(ranks, 'rank')} on rail {spans(rails)}."
    yield f"netkit {visible(report.tool_version)}."
