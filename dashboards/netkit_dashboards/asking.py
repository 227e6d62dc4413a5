"""Expressions of panels: what the variables choose, how it grows, and the few largest of it."""

from __future__ import annotations

from netkit.catalogue.promql import Series
from netkit_dashboards.board import Choice
from netkit_dashboards.variables import chosen

ON_PORT = "on (cluster, node, device, port)"
MOST_LINES = 12
"""More lines than these nobody tells apart."""
_NARROWER = {Choice.NODE_POOL, Choice.NODE, Choice.RAIL}


class Ask:
    """The questions of one board: every selector narrowed by the variables that the board offers."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        self._choices = choices

    def value(self, series: Series, **equal: str) -> str:
        """Return the value of what is chosen."""
        device = {Choice.DEVICE} if "device" in series.labels else set()
        narrowed = [choice for choice in self._choices if choice in _NARROWER | device]
        return chosen(series, *narrowed, **equal)

    def rate(self, series: Series, **equal: str) -> str:
        """Return its growth a second."""
        return f"rate({self.value(series, **equal)}[$__rate_interval])"

    def increase(self, series: Series, **equal: str) -> str:
        """Return its growth from one point to the next."""
        return f"increase({self.value(series, **equal)}[$__rate_interval])"


def largest(expression: str, by: str = "", most: int = MOST_LINES) -> str:
    """Return the few largest, grouped by labels where there are more series than things."""
    inner = f"max by ({by}) ({expression})" if by else expression
    return f"topk({most}, {inner})"
