"""Every series an expression may name: what the exporter exports, what the rules record, what neighbours give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from netkit.catalogue.metrics import Kind, Metric
from netkit.catalogue.neighbours import NEIGHBOURS
from netkit.catalogue.promql import Series
from netkit.catalogue.rules import RECORDINGS


@cache
def exported() -> Mapping[str, Metric]:
    """Return every family of the exporter, by name."""
    from netkit.catalogue import metric_rows

    modules = [import_module(f"{metric_rows.__name__}.{one.name}") for one in iter_modules(metric_rows.__path__)]
    return MappingProxyType(
        {row.name: row for module in modules for value in vars(module).values() for row in _in(value)}
    )


def _in(value: object) -> Iterator[Metric]:
    if isinstance(value, Metric):
        yield value
    elif isinstance(value, tuple):
        yield from (one for one in value if isinstance(one, Metric))
    elif isinstance(value, Mapping):
        yield from (one for one in value.values() if isinstance(one, Metric))


@cache
def known() -> Mapping[str, Series]:
    """Return every series by name."""
    neighbours = {row.name: row for row in NEIGHBOURS}
    recorded = {rule.name: rule for rule in RECORDINGS}
    return MappingProxyType({**exported(), **neighbours, **recorded})


def is_counter(series: Series) -> bool:
    """Tell whether a series only grows, so that its value alone means nothing."""
    return isinstance(series, Metric) and series.kind is Kind.COUNTER
