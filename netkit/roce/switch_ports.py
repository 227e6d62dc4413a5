"""Switch configurations of any dialect, and which of their ports is behind each interface of a node."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from netkit.errors import InputError
from netkit.model.text import visible
from netkit.roce import dialects
from netkit.roce.neighbours import Neighbour
from netkit.roce.qos import SwitchQos

EVERY = "*"
"""The key of what holds for every port or every interface."""


def parse_switch(text: str) -> dict[str, SwitchQos]:
    """Return the QoS of every port of a switch; InputError when no dialect knows the text."""
    for dialect in _dialects():
        if dialect.looks_like(text):
            found: dict[str, SwitchQos] = dialect.parse(text)
            return found
    names = ", ".join(dialect.NAME for dialect in _dialects())
    raise InputError("a switch configuration of no known kind", f"a configuration of {names}")


def _dialects() -> list[ModuleType]:
    names = sorted(module.name for module in iter_modules(dialects.__path__))
    return [import_module(f"{dialects.__name__}.{name}") for name in names]


def behind(
    ports: Mapping[str, SwitchQos], neighbours: Mapping[str, Neighbour], wanted: str | None
) -> dict[str, SwitchQos]:
    """Return the switch port behind each interface, `*` for all of them alike.

    By LLDP where it was given, else the port somebody names; one port stands for all when there is only one, or when
    all are configured alike.
    """
    if wanted is not None:
        if wanted not in ports:
            raise InputError(f"switch port {visible(wanted)!r}", ", ".join(list(ports)[:12]))
        return {EVERY: ports[wanted]}
    if EVERY in ports:
        return {EVERY: ports[EVERY]}
    found = {one.interface: ports[one.port] for one in neighbours.values() if one.port in ports}
    if found:
        return found
    if len(ports) == 1:
        return {EVERY: next(iter(ports.values()))}
    raise InputError(
        f"a switch with {len(ports)} ports and nothing that says which one is behind a NIC",
        "--switch-port PORT, or --lldp with the output of lldpctl -f json",
    )
