"""Runs the steps of a playbook that only read, and weighs what they say.

Commands run in this process, as argument lists, through whatever runs netkit's commands: playbooks know no shell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from netkit.model.missing import Missing
from netkit_playbooks.documents import readings_of
from netkit_playbooks.playbook import Kind, Playbook, Step
from netkit_playbooks.predicate import Predicate
from netkit_playbooks.ranking import Ranking, rank
from netkit_playbooks.readings import Reading, Readings
from netkit_playbooks.targets import Target, UnfilledError

EXIT = "exit"
"""The name of a command's exit status among the readings of its step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a netkit command did: its status, and what it printed and said."""

    status: int
    printed: str
    said: str = ""


Netkit = Callable[[tuple[str, ...], float], Answer]
"""Runs the words after `netkit`, for so many seconds at most."""


class Outcome(StrEnum):
    """What became of a step."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    UNKNOWN = "unknown"
    """It ran, and what it should show could not be seen."""
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One step and what came of it."""

    step: Step
    command: tuple[str, ...]
    """As run, or as written where something is missing."""
    outcome: Outcome
    expected: str
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A playbook run once."""

    playbook: Playbook
    steps: tuple[StepRun, ...]
    readings: Readings
    ranking: Ranking


def run(playbook: Playbook, target: Target, netkit: Netkit, known: Mapping[str, Reading] | None = None) -> Run:
    """Run every step that only reads; `known` are readings somebody has already."""
    readings: dict[str, Reading | Missing] = dict(known or {})
    steps = tuple(_run(step, target, netkit, readings) for step in playbook.steps)
    return Run(playbook=playbook, steps=steps, readings=readings, ranking=rank(playbook, readings))


def _run(step: Step, target: Target, netkit: Netkit, readings: dict[str, Reading | Missing]) -> StepRun:
    expected = "; ".join(one.text for one in step.expect)
    try:
        command = target.fill(step.run)
    except UnfilledError as lack:
        return StepRun(step=step, command=step.run, outcome=Outcome.NOT_RUN, expected=expected, seen=f"needs {lack}")
    if step.kind is not Kind.READ:
        return StepRun(step=step, command=command, outcome=Outcome.NOT_RUN, expected=expected, seen=_ASKS[step.kind])
    answer = netkit(command, step.timeout_seconds)
    found = readings_of(answer.printed)
    readings.update(found)
    outcome, seen = judge(step.expect, {**found, EXIT: Reading(value=float(answer.status))}, answer)
    return StepRun(step=step, command=command, outcome=outcome, expected=expected, seen=seen)


_ASKS = {
    Kind.PROBE: "it sends traffic: run it yourself, it asks first",
    Kind.CHANGE: "it changes a setting: run it on the node, it asks first",
}


def fix_of(done: Run, target: Target) -> tuple[str, ...]:
    """Return the command that mends the named cause; empty where it is work by hand, or something is not known."""
    cause = done.ranking.cause
    step = None if cause is None else done.playbook.step(cause.fix_step)
    try:
        return () if step is None else target.fill(step.run)
    except UnfilledError:
        return ()


def judge(expect: tuple[Predicate, ...], found: Readings, answer: Answer) -> tuple[Outcome, str]:
    """Return whether everything expected is so, and what was seen."""
    answers = [one.holds(found) for one in expect]
    seen = "; ".join(_seen(one, found) for one in expect)
    if any(one is False for one in answers):
        return Outcome.FAIL, seen
    if all(one is True for one in answers):
        return Outcome.PASS, seen
    return Outcome.UNKNOWN, f"{seen} (status {answer.status}: {answer.said})" if answer.said else seen


def _seen(one: Predicate, found: Readings) -> str:
    parts = []
    for name in one.names:
        reading = found.get(name)
        if reading is None:
            parts.append(f"{name} not given")
        elif isinstance(reading, Missing):
            parts.append(f"{name} missing ({reading.detail or reading.reason})")
        else:
            where = " ".join(value for label, value in reading.where.items() if label != "node")
            parts.append(f"{name} {reading.value:.4g}" + (f" ({where})" if where else ""))
    return ", ".join(parts)
