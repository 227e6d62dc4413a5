"""A playbook's file: YAML between two lines of three hyphens, then the page in Markdown.

`schema.json` beside this module says the same in JSON Schema, for editors and other programs; tests hold the two
together. Nothing is taken that the schema does not know.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from netkit.errors import InputError
from netkit.model.text import visible
from netkit_playbooks import predicate
from netkit_playbooks.playbook import Case, Cause, Evidence, Kind, Likelihood, Panel, Playbook, Radius, Step

HEADINGS = (
    "Meaning",
    "Impact",
    "First 60 seconds",
    "Diagnosis",
    "Mitigation",
    "Verify",
    "Escalate",
    "Prevention",
    "Background",
)
"""Of every page, in this order."""
_PROGRAM = "netkit"
_FENCE = "---\n"
_DEFAULT_TIMEOUT_SECONDS = 30.0
_T = TypeVar("_T")
_Word = TypeVar("_Word", bound=StrEnum)
_SEVERITIES = ("critical", "warning", "none")


def parse(text: str, where: str) -> Playbook:
    """Read a playbook; InputError naming the file and the key for anything that is not one."""
    import yaml

    front, fence, body = text.removeprefix(_FENCE).partition("\n" + _FENCE)
    if not text.startswith(_FENCE) or not fence:
        raise InputError(f"{where} without front matter", "YAML between two lines of ---")
    try:
        keys = yaml.load(front, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are the safe loader
    except (yaml.YAMLError, RecursionError) as fault:
        raise InputError(f"{where}: front matter is no YAML ({visible(str(fault), limit=300)})", "YAML") from fault
    return _playbook(_Keys(keys, where), body.strip() + "\n")


class _Keys:
    """A mapping that says where it stands, and that every key was looked at."""

    def __init__(self, found: object, where: str) -> None:
        if not isinstance(found, Mapping):
            raise InputError(f"{where}: {visible(str(found))!r}", "keys and values")
        self._left = dict(found)
        self.where = where

    def text(self, key: str, otherwise: str | None = None) -> str:
        """Return a text; without `otherwise` it must be there and not be empty."""
        value = self._left.pop(key, otherwise)
        if not isinstance(value, str) or (otherwise is None and not value.strip()):
            raise self._wrong(key, value, "a text")
        return value.strip()

    def number(self, key: str, otherwise: float | None = None) -> float:
        """Return a number of at least 0."""
        value = self._left.pop(key, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self._wrong(key, value, "a number, 0 or more")
        return float(value)

    def flag(self, key: str) -> bool:
        """Return yes or no; no where it is not there."""
        value = self._left.pop(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def word(self, key: str, words: type[_Word], otherwise: _Word | None = None) -> _Word:
        """Return one of a few words."""
        value = self._left.pop(key, otherwise)
        if value not in list(words):
            raise self._wrong(key, value, ", ".join(words))
        return words(value)

    def texts(self, key: str, *, needed: bool = False) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._left.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self._wrong(key, value, "a list of texts")
        if needed and not value:
            raise self._wrong(key, value, "at least one")
        return tuple(value)

    def each(self, key: str, read: Callable[[_Keys], _T], *, needed: bool = True) -> tuple[_T, ...]:
        """Return what `read` makes of every mapping of a list."""
        value = self._left.pop(key, [])
        if not isinstance(value, list) or (needed and not value):
            raise self._wrong(key, value, "a list")
        return tuple(self._one(f"{self.where}: {key} {number}", one, read) for number, one in enumerate(value, start=1))

    def below(self, key: str) -> Mapping[str, Any]:
        """Return a mapping as it stands."""
        value = self._left.pop(key, {})
        if not isinstance(value, Mapping):
            raise self._wrong(key, value, "keys and values")
        return value

    @staticmethod
    def _one(where: str, value: object, read: Callable[[_Keys], _T]) -> _T:
        keys = _Keys(value, where)
        found = read(keys)
        keys.end()
        return found

    def end(self) -> None:
        """Demand that nothing is left."""
        if self._left:
            raise InputError(f"{self.where}: key {', '.join(map(str, self._left))}", "the keys of schema.json")

    def _wrong(self, key: str, value: object, accepted: str) -> InputError:
        return InputError(f"{self.where}: {key}: {visible(str(value), limit=200)}", accepted)


def _playbook(keys: _Keys, body: str) -> Playbook:
    applies = _Keys(keys.below("applies"), f"{keys.where}: applies")
    found = Playbook(
        id=keys.text("id"),
        title=keys.text("title"),
        version=int(keys.number("version")),
        owner=keys.text("owner"),
        alerts=keys.texts("alerts", needed=True),
        profiles=applies.texts("profiles"),
        drivers=applies.texts("drivers"),
        severity=_severity(keys),
        blast_radius=keys.word("blast_radius", Radius),
        causes=keys.each("causes", _cause),
        steps=keys.each("steps", _step),
        verify=tuple(map(predicate.parse, keys.texts("verify"))),
        cases=keys.each("cases", _case),
        dashboards=keys.each("dashboards", _panel),
        text=body,
    )
    applies.end()
    keys.end()
    _agree(found, keys.where)
    return found


def _severity(keys: _Keys) -> str:
    value = keys.text("severity")
    if value not in _SEVERITIES:
        raise InputError(f"{keys.where}: severity: {visible(value)}", ", ".join(_SEVERITIES))
    return value


def _cause(keys: _Keys) -> Cause:
    return Cause(
        id=keys.text("id"),
        title=keys.text("title"),
        likelihood=keys.word("likelihood", Likelihood),
        evidence=keys.each("evidence", _evidence),
        fix=keys.text("fix"),
        fix_step=keys.text("fix_step", ""),
        escalate_to=keys.text("escalate_to"),
    )


def _evidence(keys: _Keys) -> Evidence:
    weight = keys.number("weight")
    return Evidence(
        when=predicate.parse(keys.text("when")),
        weight=weight,
        against=keys.number("against", weight),
        essential=keys.flag("essential"),
        because=keys.text("because"),
    )


def _step(keys: _Keys) -> Step:
    return Step(
        id=keys.text("id"),
        ask=keys.text("ask"),
        run=_command(keys.text("run"), keys.where),
        kind=keys.word("kind", Kind, Kind.READ),
        expect=tuple(map(predicate.parse, keys.texts("expect", needed=True))),
        on_pass=keys.text("on_pass"),
        on_fail=keys.text("on_fail"),
        timeout_seconds=keys.number("timeout", _DEFAULT_TIMEOUT_SECONDS),
        rollback=_command(keys.text("rollback", _PROGRAM), keys.where),
    )


def _command(text: str, where: str) -> tuple[str, ...]:
    """Split a command once, before anything from outside is filled in."""
    words = shlex.split(text)
    if words[:1] != [_PROGRAM]:
        raise InputError(f"{where}: command {visible(text)!r}", "a netkit command")
    return tuple(words[1:])


def _case(keys: _Keys) -> Case:
    readings = keys.below("readings")
    name, cause = keys.text("name"), keys.text("cause")
    values = {str(key): value for key, value in readings.items() if isinstance(value, int | float)}
    if len(values) != len(readings):
        raise InputError(f"{keys.where}: readings", "numbers by name of a signal or rule")
    return Case(name=name, readings=values, cause=None if cause == "none" else cause)


def _panel(keys: _Keys) -> Panel:
    return Panel(uid=keys.text("uid"), title=keys.text("panel"))


def _agree(playbook: Playbook, where: str) -> None:
    """Demand that what names each other in one file exists there."""
    for what, ids in (("causes", [one.id for one in playbook.causes]), ("steps", [one.id for one in playbook.steps])):
        _once(ids, f"{where}: {what}")
    steps = {one.id for one in playbook.steps}
    for cause in playbook.causes:
        if cause.fix_step and cause.fix_step not in steps:
            raise InputError(f"{where}: fix_step {cause.fix_step}", f"one of {', '.join(sorted(steps))}")
    for case in playbook.cases:
        if case.cause is not None and playbook.cause(case.cause) is None:
            raise InputError(f"{where}: case {case.name!r}: cause {case.cause}", "a cause of this playbook, or none")
    for step in playbook.steps:
        if (step.kind is Kind.CHANGE) != bool(step.rollback):
            raise InputError(f"{where}: step {step.id}", "a rollback for every change, and for nothing else")
    found = tuple(line[3:] for line in playbook.text.splitlines() if line.startswith("## "))
    if found != HEADINGS:
        raise InputError(f"{where}: headings {', '.join(found)}", ", ".join(HEADINGS))


def _once(ids: Iterable[str], where: str) -> None:
    listed = list(ids)
    twice = {one for one in listed if listed.count(one) > 1}
    if twice:
        raise InputError(f"{where}: {', '.join(sorted(twice))} twice", "every id once")
