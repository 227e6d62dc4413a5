"""One file for each family of recommendations; this folder holds nothing else and is walked."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from netkit.tuning.contract import Family


@cache
def families() -> tuple[Family, ...]:
    """Return every family, in order of its module's name."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").FAMILY for name in names)
