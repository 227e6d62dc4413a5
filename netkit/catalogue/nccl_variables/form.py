"""The form of one row: what a variable may hold, what it defaults to, and from which version to which it exists."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Version = tuple[int, int, int]


class Kind(StrEnum):
    """How NCCL reads the value."""

    FLAG = "0 or 1"
    INTEGER = "integer"
    BYTES = "bytes"
    REAL = "number"
    CHOICE = "one of"
    LIST = "comma list"
    PATH = "path"
    TEXT = "text"
    PLUGIN = "library name or suffix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Both ends belong to it; None is no limit."""

    lowest: int | None = None
    highest: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclVariable:
    """One variable. `debugging` marks those NVIDIA's guide wants out of production."""

    name: str
    kind: Kind
    defaults: tuple[tuple[Version, str], ...] = ()
    """Value by the version it came with, the newest first; empty where the guide states none."""
    since: Version | None = None
    deprecated: Version | None = None
    removed: Version | None = None
    instead: str = ""
    debugging: bool = False
    documented: bool = True
    limits: Range | None = None
    choices: tuple[str, ...] = ()
    meaning: str = ""

    def default(self, version: Version | None) -> str | None:
        """Return the default of `version`, or of the newest one when it is None; None where none is stated."""
        fitting = (value for since, value in self.defaults if version is None or since <= version)
        return next(fitting, None)


def version(text: str) -> Version:
    """`2.22.3` or `2.22` → (2, 22, 3) or (2, 22, 0)."""
    parts = [int(part) for part in text.split(".")]
    return (parts[0], parts[1], parts[2] if len(parts) > 2 else 0)


def row(name: str, kind: Kind, default: str = "", since: str = "", meaning: str = "", **more: str) -> NcclVariable:
    """Return one row from short texts.

    `default` is `20@2.23 18@2.14 14`, newest first. `more` may hold limits `0..31`, choices `A|B`, deprecated, removed,
    instead.
    """
    return NcclVariable(
        name=f"NCCL_{name}",
        kind=kind,
        defaults=tuple(_default(text) for text in default.split()),
        since=version(since) if since else None,
        deprecated=version(more["deprecated"]) if "deprecated" in more else None,
        removed=version(more["removed"]) if "removed" in more else None,
        instead=more.get("instead", ""),
        limits=_range(more.get("limits", "")),
        choices=tuple(filter(None, more.get("choices", "").split("|"))),
        meaning=meaning,
    )


def _default(text: str) -> tuple[Version, str]:
    value, _, since = text.partition("@")
    return (version(since) if since else (0, 0, 0), value)


def _range(text: str) -> Range | None:
    lowest, dots, highest = text.partition("..")
    return Range(lowest=int(lowest) if lowest else None, highest=int(highest) if highest else None) if dots else None
