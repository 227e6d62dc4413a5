"""Which collectors there are: every file in `collectors/` gives one, named as the file."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module

from netkit.errors import InputError
from netkit.model.text import visible
from netkit_exporters import collectors as folder
from netkit_exporters.collecting import Collector


def names() -> tuple[str, ...]:
    """Return the names of all collectors, in order; none of them is loaded for it."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(folder.__path__) if module.name[0] != "_"))


def collectors() -> tuple[Collector, ...]:
    """Return every collector, in the order of their names."""
    return tuple(map(collector_named, names()))


def collector_named(name: str) -> Collector:
    """Return the collector of one file; TypeError when the file does not hold the collector it is named for."""
    found = getattr(import_module(f"{folder.__name__}.{name}"), "COLLECTOR", None)
    if not isinstance(found, Collector) or found.id != name:
        raise TypeError(f"collectors/{name}.py holds no COLLECTOR with id {name!r}")
    return found


def chosen(asked: Iterable[str] | None, compat: Iterable[str] = ()) -> tuple[Collector, ...]:
    """Return the collectors of these names, or those that run by default, with other exporters' names if asked.

    Raises:
        InputError: there is no such collector, or no such other exporter.
    """
    found = _chosen(asked)
    if not compat:
        return found
    from netkit_exporters.other_names import with_names

    return with_names(found, compat)


def _chosen(asked: Iterable[str] | None) -> tuple[Collector, ...]:
    if asked is None:
        return tuple(collector for collector in collectors() if collector.default)
    known = names()
    wanted = list(dict.fromkeys(name.strip() for name in asked if name.strip()))
    if not wanted:
        raise InputError("--collectors without a name", ", ".join(known))
    for name in wanted:
        if name not in known:
            nearest = get_close_matches(name, known, n=1)
            raise InputError(f"collector {visible(name, 100)!r}", ", ".join(known), nearest[0] if nearest else None)
    return tuple(map(collector_named, wanted))
