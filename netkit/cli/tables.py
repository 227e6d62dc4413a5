"""Report blocks on a terminal, through rich: colour where the terminal has it, and the same words without.

Data never passes rich's markup or emoji parser, nothing is cut off with an ellipsis, and a table too wide for the
terminal turns into one short list for each row. rich itself honours NO_COLOR, TERM=dumb and COLUMNS.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from functools import singledispatch
from typing import IO, TYPE_CHECKING

from netkit.cli.output import emit
from netkit.report.blocks import Banner, Block, Heading, Listing, Prose, Table, Tone
from netkit.report.plain_text import columns_of

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.MUTED: "dim",
    Tone.GOOD: "bold green",
    Tone.WARN: "yellow",
    Tone.BAD: "bold red",
}
_CELL_PADDING = 3
_NARROWEST = 20


def show(blocks: Iterable[Block], file: IO[str] | None = None, width: int | None = None) -> None:
    """Print blocks to `file` (standard output when None), `width` columns wide (the terminal's when None)."""
    from rich.console import Console

    console = Console(file=file, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)
    console.width = max(console.width, _NARROWEST)
    with console.capture() as captured:
        for block in blocks:
            _show(block, console)
    # Written by us: rich ends a broken pipe with the status that means findings.
    if file is None:
        emit(captured.get())
    else:
        file.write(captured.get())


@singledispatch
def _show(block: Block, _console: Console) -> None:
    raise TypeError(f"no terminal form for {type(block).__name__}")


@_show.register(Banner)
def _banner(block: Banner, console: Console) -> None:
    from rich.text import Text

    line = Text(f" {block.word} ", style=f"{_STYLES[block.tone]} reverse".strip())
    line.append(f" {block.text}", style="bold not reverse")
    console.print(line, overflow="fold")


@_show.register(Prose)
def _prose(block: Prose, console: Console) -> None:
    _print(console, block.text, block.tone, block.indent)


@_show.register(Heading)
def _heading(block: Heading, console: Console) -> None:
    console.print()
    _print(console, block.text, block.tone)


@_show.register(Listing)
def _listing(block: Listing, console: Console) -> None:
    _print(console, block.title, Tone.MUTED, indent=2)
    for number, item in enumerate(block.items, 1):
        mark = f"{number}. " if block.numbered else "- "
        _print(console, item, Tone.PLAIN, indent=4, mark=mark)


@_show.register(Table)
def _table(block: Table, console: Console) -> None:
    console.print()
    _print(console, block.title, Tone.STRONG)
    if _width(block) <= console.width:
        _grid(block, console)
    else:
        _stacked(block, console)
    if block.note:
        _print(console, block.note, Tone.MUTED, indent=1)


def _print(console: Console, text: str, tone: Tone, indent: int = 0, mark: str = "") -> None:
    from rich.text import Text

    first = " " * indent + mark
    width = max(console.width, len(first) + 1)
    lines = textwrap.wrap(text, width, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)
    console.print(Text("\n".join(lines), style=_STYLES[tone]), overflow="fold")


def _width(table: Table) -> int:
    columns = zip(*([cell.text for cell in row] for row in table.rows), strict=True)
    titles = [columns_of(column.title) for column in table.columns]
    widest = [max([title, *map(columns_of, cells)]) for title, cells in zip(titles, columns, strict=False)] or titles
    return sum(widest) + _CELL_PADDING * len(widest)


def _grid(table: Table, console: Console) -> None:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=True, padding=(0, 1), header_style="dim")
    for column in table.columns:
        grid.add_column(Text(column.title), justify="right" if column.numeric else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(cell.text, style=_STYLES[cell.tone]) for cell in row))
    console.print(grid)


def _stacked(table: Table, console: Console) -> None:
    for row in table.rows:
        first, *rest = zip(table.columns, row, strict=True)
        _print(console, f"{first[0].title} {first[1].text}", Tone.STRONG, indent=1)
        for column, cell in rest:
            _print(console, f"{column.title}: {cell.text}", cell.tone, indent=3)
