"""Report blocks as plain text: 80 columns where words allow it, nothing cut off, no colour, no control byte.

Prose wraps; table cells and unbroken words never do, so that a name or a command can be copied whole.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from functools import singledispatch

from netkit.report.blocks import Banner, Block, Heading, Listing, Prose, Table

WIDTH = 80
_GAP = "  "


def plain_text(blocks: Iterable[Block]) -> str:
    """Return all blocks as text, ending in a newline."""
    return "".join(_text(block) for block in blocks)


@singledispatch
def _text(block: Block) -> str:
    raise TypeError(f"no plain form for {type(block).__name__}")


@_text.register
def _banner(block: Banner) -> str:
    # One line however long: the first line alone must name the culprit, also through `head -1` or grep.
    return f"{block.word}: {block.text}\n"


@_text.register
def _prose(block: Prose) -> str:
    return wrapped(block.text, " " * block.indent, " " * block.indent)


@_text.register
def _heading(block: Heading) -> str:
    return "\n" + wrapped(block.text, "", "  ")


@_text.register
def _listing(block: Listing) -> str:
    marks = (f"{number}. " if block.numbered else "- " for number in range(1, len(block.items) + 1))
    items = (
        wrapped(item, f"    {mark}", "    " + " " * len(mark)) for mark, item in zip(marks, block.items, strict=True)
    )
    return f"  {block.title}\n" + "".join(items)


@_text.register
def _table(block: Table) -> str:
    cells = [[column.title for column in block.columns], *([cell.text for cell in row] for row in block.rows)]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    numeric = [column.numeric for column in block.columns]
    lines = (_row(row, widths, numeric) for row in cells)
    note = wrapped(block.note, "  ", "  ") if block.note else ""
    return f"\n{block.title}\n" + "".join(lines) + note


def _row(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = (_padded(text, width, right) for text, width, right in zip(row, widths, numeric, strict=True))
    return (_GAP + _GAP.join(padded)).rstrip() + "\n"


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns_of(text))
    return space + text if right else text + space


def columns_of(text: str) -> int:
    """Return how many terminal columns `text` takes: East Asian wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


def wrapped(text: str, first: str, rest: str) -> str:
    """Wrap at spaces only, so that no word is ever broken."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line}\n" for line in lines)
