"""Every board of the folder, and every panel's id."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from netkit_dashboards.board import Board
from netkit_dashboards.grid import placed

READING_ORDER = ("fabric", "node", "pfc", "nccl", "gpu", "links", "meta")
"""From the question everybody has to the ones few have; boards not listed come last."""


@cache
def boards() -> tuple[Board, ...]:
    """Return every board."""
    from netkit_dashboards import boards as folder

    names = [module.name for module in iter_modules(folder.__path__)]
    names.sort(key=lambda name: (READING_ORDER.index(name) if name in READING_ORDER else len(names), name))
    return tuple(import_module(f"{folder.__name__}.{name}").BOARD for name in names)


@cache
def panel_ids() -> Mapping[tuple[str, str], int]:
    """Return the id of each panel by uid of its dashboard and title; headings are counted too."""
    found: dict[tuple[str, str], int] = {}
    for board in boards():
        number = 0
        for _, _, cells in placed(board.rows):
            number += 1
            for panel, _ in cells:
                number += 1
                found[board.uid, panel.title] = number
    return found
