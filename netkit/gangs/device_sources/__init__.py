"""One family of places that name a pod's devices a file; each exposes a constant SOURCE with its name as id."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netkit.gangs.devices import DeviceSource


@cache
def device_sources() -> tuple[DeviceSource, ...]:
    """Return all sources, in the order they are believed."""
    found: list[DeviceSource] = [import_module(f"{__name__}.{one.name}").SOURCE for one in iter_modules(__path__)]
    return tuple(sorted(found, key=lambda source: source.order))
