"""What stands in a PromQL expression: selectors, calls, windows. promql-parser reads it; Grafana's variables first.

https://docs.rs/promql-parser (its Python binding); https://grafana.com/docs/grafana/latest/dashboards/variables/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import promql_parser

_VARIABLES = (
    ("$__rate_interval", "5m"),
    ("$__interval", "1m"),
    ("$__range", "1h"),
)
_SIGNS = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}
_GROWTH = frozenset({"rate", "irate", "increase", "resets", "changes", "delta", "absent", "absent_over_time"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """One selector of an expression."""

    name: str
    matchers: frozenset[tuple[str, str, str]]
    """Label, operator (`=`, `!=`, `=~`, `!~`) and value."""
    inside: tuple[str, ...]
    """Functions around it, from the outermost."""
    range_seconds: float | None
    """Of a range selector."""

    @property
    def labels(self) -> frozenset[str]:
        """The labels it looks at."""
        return frozenset(label for label, _, _ in self.matchers)


def substituted(text: str) -> str:
    """Return the expression with Grafana's own variables as durations, which the parser wants."""
    for variable, value in _VARIABLES:
        text = text.replace(f"[{variable}]", f"[{value}]").replace(f"[{variable}:", f"[{value}:")
    return text


def parsed(text: str) -> Any:
    """Return the syntax tree; ValueError when it is no PromQL."""
    return promql_parser.parse(substituted(text))


def selectors(text: str) -> list[Selector]:
    """Return every selector of an expression."""
    return list(_walk(parsed(text), ()))


def _walk(node: Any, inside: tuple[str, ...], window: float | None = None) -> Iterator[Selector]:
    kind = type(node).__name__
    if kind == "VectorSelector":
        yield Selector(name=node.name or "", matchers=_matchers(node), inside=inside, range_seconds=window)
    elif kind == "MatrixSelector":
        yield from _walk(node.vector_selector, inside, node.range.total_seconds())
    elif kind == "Call":
        for argument in node.args:
            yield from _walk(argument, (*inside, node.func.name), None)
    elif kind == "BinaryExpr":
        yield from _walk(node.lhs, inside, None)
        yield from _walk(node.rhs, inside, None)
    elif kind == "AggregateExpr":
        yield from _walk(node.expr, (*inside, str(node.op)), None)
        if node.param is not None:
            yield from _walk(node.param, inside, None)
    elif kind in ("ParenExpr", "UnaryExpr", "SubqueryExpr"):
        yield from _walk(node.expr, inside, node.range.total_seconds() if kind == "SubqueryExpr" else None)


def _matchers(node: Any) -> frozenset[tuple[str, str, str]]:
    return frozenset((one.name, _SIGNS[str(one.op).rsplit(".", 1)[-1]], one.value) for one in node.matchers.matchers)


def grows_unrated(selector: Selector) -> bool:
    """Tell whether a selector's value is used as it is, and not its growth."""
    return not _GROWTH.intersection(selector.inside)
