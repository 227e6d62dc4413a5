"""A run of a playbook, as JSON (`netkit.playbook/1`) and as blocks to print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from netkit.model.missing import Missing
from netkit.report.blocks import Banner, Block, Cell, Column, Heading, Listing, Prose, Table, Tone
from netkit_playbooks.documents import plain
from netkit_playbooks.ranking import Ranked, State, Verdict, Weighed
from netkit_playbooks.readings import Readings
from netkit_playbooks.running import Outcome, Run, StepRun

SCHEMA = "netkit.playbook/1"
_TONES: Mapping[Verdict, Tone] = {
    Verdict.NAMED: Tone.BAD,
    Verdict.NOT_NOW: Tone.GOOD,
    Verdict.CANNOT_TELL: Tone.WARN,
}
_SHOWN_CAUSES = 3


def document(run: Run) -> dict[str, Any]:
    """Return a run as plain dicts and lists."""
    cause = run.ranking.cause
    return {
        "schema": SCHEMA,
        "playbook": run.playbook.id,
        "verdict": run.ranking.verdict.value,
        "cause": None if cause is None else cause.id,
        "fix": "" if cause is None else cause.fix,
        "escalate_to": "" if cause is None else cause.escalate_to,
        "ranked": [_ranked(one, run.readings) for one in run.ranking.ranked],
        "missing": list(run.ranking.missing),
        "steps": [_step(one) for one in run.steps],
    }


def _ranked(one: Ranked, readings: Readings) -> dict[str, Any]:
    return {
        "cause": one.cause.id,
        "title": one.cause.title,
        "score": one.score,
        "evidence": [_weighed(each, readings) for each in one.weighed],
    }


def _weighed(one: Weighed, readings: Readings) -> dict[str, Any]:
    seen = {name: plain(readings[name]) for name in one.evidence.when.names if name in readings}
    return {
        "when": one.evidence.when.text,
        "state": one.state.value,
        "weight": one.evidence.weight,
        "because": one.evidence.because,
        "seen": seen,
    }


def _step(one: StepRun) -> dict[str, Any]:
    return {
        "id": one.step.id,
        "kind": one.step.kind.value,
        "command": ["netkit", *one.command],
        "outcome": one.outcome.value,
        "expected": one.expected,
        "seen": one.seen,
    }


def blocks(run: Run) -> Iterator[Block]:
    """Return a run as what to print: the cause first, then what speaks for it, then every step."""
    yield _banner(run)
    yield from _named(run)
    yield Heading(text="What speaks for each cause")
    for one in run.ranking.ranked[:_SHOWN_CAUSES]:
        yield Listing(
            title=f"{one.cause.id} ({one.score:+.1f}): {one.cause.title}",
            items=tuple(_line(each, run.readings) for each in one.weighed),
        )
    yield Heading(text="Steps")
    for step in run.steps:
        yield Prose(text=f"{step.step.id}: {step.outcome.value}. {step.step.ask}")
        yield Prose(text=f"expected {step.expected}; seen {step.seen}. {_next(step)}".rstrip(), indent=4)
    yield _commands(run)


def _commands(run: Run) -> Table:
    # Cells are never wrapped, so that a command can be copied whole.
    rows = (
        (Cell(text=one.step.id), Cell(text=one.step.kind), Cell(text=f"netkit {shlex.join(one.command)}"))
        for one in run.steps
    )
    columns = tuple(Column(title=title) for title in ("step", "kind", "command"))
    return Table(title="Commands", columns=columns, rows=tuple(rows))


def _banner(run: Run) -> Banner:
    cause, verdict = run.ranking.cause, run.ranking.verdict
    texts = {
        Verdict.NAMED: f"{cause.id}: {cause.title}" if cause else "",
        Verdict.NOT_NOW: "what the alert is about is not there at present",
        Verdict.CANNOT_TELL: "what was read names no cause",
    }
    return Banner(word=verdict.value, text=f"{run.playbook.id}: {texts[verdict]}", tone=_TONES[verdict])


def _named(run: Run) -> Iterator[Block]:
    cause = run.ranking.cause
    if cause is not None:
        yield Prose(text=f"Do: {cause.fix}")
        if cause.fix_step:
            yield Prose(text=f"By: the step {cause.fix_step} below, which asks first and prints the way back.")
        yield Prose(text=f"Escalate to: {cause.escalate_to}")
    elif run.ranking.missing:
        yield Listing(title="Not seen, and it could decide", items=run.ranking.missing)


def _line(one: Weighed, readings: Readings) -> str:
    values = (_value(name, readings) for name in one.evidence.when.names)
    if one.state is State.NOT_SEEN:
        return f"not seen: {one.evidence.because} ({one.evidence.when.text}; {one.why})"
    return f"{one.state.value}: {one.evidence.because} ({one.evidence.when.text}; {', '.join(values)})"


def _value(name: str, readings: Readings) -> str:
    reading = readings[name]
    assert not isinstance(reading, Missing)
    where = " ".join(reading.where.values())
    return f"{name} {reading.value:.4g}" + (f" at {where}" if where else "")


def _next(step: StepRun) -> str:
    told = {Outcome.PASS: step.step.on_pass, Outcome.FAIL: step.step.on_fail}
    return told.get(step.outcome, "")
