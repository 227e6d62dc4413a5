"""Neutral building blocks of a printed report: words and tables with a tone, and no idea of colours or widths.

Whoever shows them decides: `netkit.report.plain_text` as plain columns, `netkit.cli.tables` on a terminal. All text
in a block has passed `netkit.model.text.visible`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """How a piece of text should strike the reader; words always say the same without it."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """The first line: one word of verdict, and the sentence that follows it."""

    word: str
    text: str
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """A paragraph, wrapped to the width of whatever shows it."""

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A line that starts a part."""

    text: str
    tone: Tone = Tone.STRONG


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Items under a word; numbered where the order matters."""

    title: str
    items: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One value of a table."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; numbers stand right."""

    title: str
    numeric: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under columns, with a note below where one is needed."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


Block = Banner | Prose | Heading | Listing | Table
