"""A doctor's report as blocks: what is wrong and what to do, what could not be looked at, the counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from netkit.doctor.judge import CheckReport
from netkit.model.check import Outcome, Result, Rule
from netkit.model.finding import Severity
from netkit.report.blocks import Banner, Block, Cell, Column, Heading, Listing, Prose, Table, Tone

Rules = Mapping[str, Rule]
_TONES = {Severity.INFO: Tone.MUTED, Severity.WARNING: Tone.WARN, Severity.CRITICAL: Tone.BAD}
_MOST_SUBJECTS = 12


def blocks(report: CheckReport, rules: Rules) -> Iterator[Block]:
    """Yield the report, the worst first."""
    yield _banner(report)
    for key, group in groupby(_in_order(report.findings), key=lambda one: (one.rule, one.severity)):
        yield from _finding(rules[key[0]], tuple(group), several=len(report.nodes) > 1)
    yield from _not_looked_at(report, rules)
    yield from _silenced(report)
    yield Prose(text=_counted(report), tone=Tone.MUTED)


def _in_order(findings: Sequence[Result]) -> list[Result]:
    weight = list(Severity)
    return sorted(findings, key=lambda one: (-weight.index(one.severity), one.rule))


def _banner(report: CheckReport) -> Banner:
    serious = [one for one in report.findings if one.severity is not Severity.INFO]
    incomplete = report.counts[Outcome.INCOMPLETE.value]
    if serious:
        first = _in_order(serious)[0]
        more = f"; {len(serious) - 1} more" if len(serious) > 1 else ""
        critical = any(one.severity is Severity.CRITICAL for one in serious)
        tone = Tone.BAD if critical else Tone.WARN
        return Banner(word="FINDINGS", text=f"{first.rule} {first.subject}: {first.summary}{more}", tone=tone)
    if not report.counts[Outcome.OK.value] and not report.findings:
        return Banner(word="UNKNOWN", text="nothing could be looked at", tone=Tone.WARN)
    notes = f", {len(report.findings)} worth knowing" if report.findings else ""
    rest = f", {incomplete} not looked at" if incomplete else ""
    return Banner(word="OK", text=f"{report.counts[Outcome.OK.value]} answers are good{notes}{rest}", tone=Tone.GOOD)


def _finding(rule: Rule, found: Sequence[Result], *, several: bool) -> Iterator[Block]:
    severity = found[0].severity
    yield Heading(text=f"{rule.id} {rule.name} [{severity.value}]", tone=_TONES[severity])
    shown = [f"{_subject(one, several=several)}: {one.summary}" for one in found[:_MOST_SUBJECTS]]
    if len(found) > _MOST_SUBJECTS:
        shown.append(f"and {len(found) - _MOST_SUBJECTS} more; --output json has all")
    yield Listing(title="Found", items=tuple(shown))
    evidence = tuple(dict.fromkeys(line for one in found[:_MOST_SUBJECTS] for line in one.evidence))
    if evidence:
        yield Listing(title="Evidence", items=evidence[:_MOST_SUBJECTS])
    remedies = tuple(dict.fromkeys(one.remedy for one in found if one.remedy))
    yield Listing(title="Next", items=(*remedies, f"netkit explain {rule.id}"), numbered=True)


def _subject(one: Result, *, several: bool) -> str:
    return f"{one.node} {one.subject}" if several and one.node else one.subject


def _not_looked_at(report: CheckReport, rules: Rules) -> Iterator[Block]:
    open_ones = [one for one in report.results if one.outcome is Outcome.INCOMPLETE]
    if not open_ones:
        return
    by_rule: dict[tuple[str, str], list[Result]] = {}
    for one in open_ones:
        by_rule.setdefault((one.rule, one.summary), []).append(one)
    rows = tuple(
        (
            Cell(text=rule),
            Cell(text=rules[rule].name),
            Cell(text=str(len(found))),
            Cell(text=summary.removeprefix("could not look: "), tone=Tone.MUTED),
        )
        for (rule, summary), found in sorted(by_rule.items())
    )
    columns = (
        Column(title="rule"),
        Column(title="name"),
        Column(title="subjects", numeric=True),
        Column(title="why not"),
    )
    yield Table(title="Not looked at", columns=columns, rows=rows)


def _silenced(report: CheckReport) -> Iterator[Block]:
    found = [one for one in report.results if one.outcome is Outcome.SILENCED]
    if found:
        items = tuple(f"{one.rule} {one.subject}: {one.summary} ({one.evidence[-1]})" for one in found)
        yield Listing(title="Silenced", items=items)


def _counted(report: CheckReport) -> str:
    counts = report.counts
    asked = len({one.rule for one in report.results})
    words = {
        "good": counts["ok"],
        "found": counts["finding"],
        "not looked at": counts["incomplete"],
        "not applicable": counts["not_applicable"],
        "silenced": counts["silenced"],
    }
    said = ", ".join(f"{count} {word}" for word, count in words.items() if count)
    nodes = f" on {len(report.nodes)} nodes" if len(report.nodes) > 1 else ""
    return f"{asked} rule{'' if asked == 1 else 's'}{nodes}: {said}"


def explanation(rule: Rule) -> Iterator[Block]:
    """Yield everything known about one rule."""
    yield Banner(word=rule.id, text=f"{rule.name} [{rule.severity.value}]", tone=_TONES[rule.severity])
    yield Prose(text=rule.question, tone=Tone.STRONG)
    parts = {
        "Reads": rule.reads,
        "Passes when": rule.passes,
        "Why it matters": rule.why,
        "What to do": rule.remedy,
        "Where the rule comes from": rule.source,
        "Before you believe a finding": rule.caution,
        "Playbook": rule.playbook or "",
    }
    for title, text in parts.items():
        if text:
            yield Heading(text=title, tone=Tone.MUTED)
            yield Prose(text=text, indent=2)


def listing(rules: Rules) -> Iterator[Block]:
    """Yield every rule in one table."""
    rows = tuple(
        (Cell(text=rule.id), Cell(text=rule.name), Cell(text=rule.severity.value), Cell(text=rule.question))
        for rule in rules.values()
    )
    columns = tuple(Column(title=title) for title in ("rule", "name", "severity", "question"))
    yield Table(title=f"{len(rows)} rules", columns=columns, rows=rows, note="netkit explain ID tells all about one")
