"""Where a click leads: to the other dashboards, with the choices kept, and down to the node."""

from __future__ import annotations

from netkit_dashboards.board import Board, Panel
from netkit_dashboards.fields import Json


def board_links(board: Board) -> list[Json]:
    """Return the menu of the other dashboards."""
    return [
        {
            "title": "netkit",
            "type": "dashboards",
            "tags": ["netkit"],
            "asDropdown": True,
            "includeVars": True,
            "keepTime": True,
            "targetBlank": False,
            "icon": "external link",
            "tooltip": f"Other dashboards beside {board.title}",
            "url": "",
        }
    ]


def panel_links(panel: Panel) -> list[Json]:
    """Return the way down from a panel, keeping time and choices."""
    if not panel.drill:
        return []
    url = f"/d/{panel.drill}?${{__url_time_range}}&${{__all_variables}}"
    return [{"title": "In detail", "type": "link", "url": url, "targetBlank": False}]
