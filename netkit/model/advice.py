"""Advice: one setting to change, with its reason, what was seen, how to change it, and how to get back.

Changes are values, never text of a shell: whoever prints one quotes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from shlex import join, quote
from typing import Any


class Target(StrEnum):
    """Where the setting lives."""

    ENV = "env"
    HOST = "host"
    POD = "pod"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An environment variable of the job; None is not set."""

    name: str
    present: str | None
    proposed: str | None

    @property
    def apply(self) -> str:
        """The line of a shell that sets it."""
        return assignment(self.name, self.proposed)

    @property
    def rollback(self) -> str:
        """The line of a shell that gives it back the value it has now."""
        return assignment(self.name, self.present)


def assignment(name: str, value: str | None) -> str:
    """Return `export NAME=value` or `unset NAME`, quoted for a POSIX shell."""
    return f"unset {quote(name)}" if value is None else f"export {name}={_quoted(value)}"


def _quoted(value: str) -> str:
    """Quote always: zsh takes the word after a leading `=`, as in `=mlx5_0`, for a command's name."""
    return "'" + value.replace("'", "'\"'\"'") + "'"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFile:
    """A file of sysfs or procfs that takes a new value, and shows the present one when read."""

    path: str
    present: str
    proposed: str

    @property
    def apply(self) -> str:
        """The command that writes the new value."""
        return _write(self.path, self.proposed)

    @property
    def rollback(self) -> str:
        """The command that writes back what was read."""
        return _write(self.path, self.present)


def _write(path: str, value: str) -> str:
    return f"printf '%s\\n' {quote(value)} > {quote(path)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program's argument list that changes a setting, the one that changes it back, the one that shows it."""

    changes: tuple[str, ...]
    restores: tuple[str, ...]
    shows: tuple[str, ...]

    @property
    def apply(self) -> str:
        """The command."""
        return join(self.changes)

    @property
    def rollback(self) -> str:
        """The command that undoes it."""
        return join(self.restores)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPatch:
    """A strategic merge patch of the spec of pods, and the one that takes it back; `container` fields go into one."""

    pod: Mapping[str, Any]
    container: Mapping[str, Any]
    undo_pod: Mapping[str, Any]
    undo_container: Mapping[str, Any]

    @property
    def apply(self) -> str:
        """The patch as JSON, which is YAML too."""
        return json.dumps(_patch(self.pod, self.container, ANY_CONTAINER), sort_keys=True)

    @property
    def rollback(self) -> str:
        """The patch that undoes it."""
        return json.dumps(_patch(self.undo_pod, self.undo_container, ANY_CONTAINER), sort_keys=True)

    def patch_of(self, container: str) -> dict[str, Any]:
        """Return the patch with the container of this name."""
        return _patch(self.pod, self.container, container)


ANY_CONTAINER = "CONTAINER"
"""Stands for the container that holds the job where nobody said its name."""


def _patch(pod: Mapping[str, Any], container: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**pod, **({"containers": [{"name": name, **container}]} if container else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """What no single command does the same way everywhere: firmware menus, kubelet files, another machine."""

    apply: str
    rollback: str


Change = Variable | KernelFile | Program | PodPatch | ByHand


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """What a vendor publishes for the same setting, where that differs from the proposal."""

    profile: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One setting of one node to change. `now` and `proposed` are for people; `changes` are exact."""

    id: str
    node: str
    target: Target
    setting: str
    now: str
    proposed: str
    reason: str
    evidence: tuple[str, ...]
    source: str
    effect: str
    risk: str
    changes: tuple[Change, ...]
    conflicts: tuple[Conflict, ...] = ()

    @property
    def apply(self) -> str:
        """Every command, one a line."""
        return "\n".join(change.apply for change in self.changes)

    @property
    def rollback(self) -> str:
        """Every command that undoes it, the last change first."""
        return "\n".join(change.rollback for change in reversed(self.changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What would be advised about if it could be seen; `published` are the values vendors give for it."""

    id: str
    node: str
    subject: str
    why: str
    published: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceReport:
    """All that is advised, and all that could not be judged."""

    nodes: tuple[str, ...]
    advice: tuple[Advice, ...]
    unseen: tuple[Unseen, ...]

    def about(self, target: Target) -> tuple[Advice, ...]:
        """Return the advice that concerns one place."""
        return tuple(one for one in self.advice if one.target is target)
