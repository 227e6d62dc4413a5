"""A dashboard's JSON as linters read it: panels in order, their targets and variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]
SOURCE_UIDS = frozenset({"$datasource", "${datasource}"})
_SPEAKS_FOR_ITSELF = frozenset({"row", "text", "alertlist"})


def panels(board: Document) -> Iterator[Document]:
    """Yield every panel, those inside rows too, headings left out."""
    for panel in board["panels"]:
        if panel["type"] == "row":
            yield from panel.get("panels", [])
        else:
            yield panel


def charts(board: Document) -> Iterator[Document]:
    """Yield every panel that shows data."""
    return (panel for panel in panels(board) if panel["type"] not in _SPEAKS_FOR_ITSELF)


def targets(board: Document) -> Iterator[tuple[Document, Document]]:
    """Yield every panel with each of its targets."""
    return ((panel, target) for panel in panels(board) for target in panel.get("targets", []))


def variables(board: Document) -> dict[str, Document]:
    """Return the variables by name."""
    return {one["name"]: one for one in board["templating"]["list"]}


def place(panel: Document, target: Document | None = None) -> str:
    """Return what a finding calls a panel or one of its targets."""
    letter = f" {target['refId']}" if target else ""
    return f"{panel.get('title') or 'panel ' + str(panel.get('id'))}{letter}"
