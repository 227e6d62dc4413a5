"""One gang, queue or workload system a file; each exposes one constant SYSTEM whose id is the file's name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netkit.gangs.claim import GangSystem


@cache
def systems() -> tuple[GangSystem, ...]:
    """Return all systems, the one to be believed first first."""
    found: list[GangSystem] = [import_module(f"{__name__}.{module.name}").SYSTEM for module in iter_modules(__path__)]
    return tuple(sorted(found, key=lambda system: (system.layer, system.order)))
