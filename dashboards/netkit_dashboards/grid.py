"""Where panels stand: from left to right under their heading, on a new line where the width ends."""

from __future__ import annotations

from collections.abc import Iterator

from netkit_dashboards.board import COLUMNS, Panel, Row

Cell = tuple[int, int]
"""Left edge and top edge."""


def placed(rows: tuple[Row, ...]) -> Iterator[tuple[Row, int, list[tuple[Panel, Cell]]]]:
    """Yield each row with the top of its heading and the places of its panels; a collapsed row takes one line."""
    top = 0
    for row in rows:
        cells, below = _lines(row.panels, top + 1)
        yield row, top, cells
        top = top + 1 if row.collapsed else below


def _lines(panels: tuple[Panel, ...], top: int) -> tuple[list[tuple[Panel, Cell]], int]:
    cells, left, tallest = [], 0, 0
    for panel in panels:
        if left + panel.width > COLUMNS:
            left, top, tallest = 0, top + tallest, 0
        cells.append((panel, (left, top)))
        left, tallest = left + panel.width, max(tallest, panel.height)
    return cells, top + tallest
