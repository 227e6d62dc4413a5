"""Which switch port is behind each interface: `lldpctl -f json` (or json0) of lldpd.

lldpd, lldpctl(8); IEEE 802.1AB. One neighbour is an object where several are a list, and the names of interfaces are
keys: all shapes lldpd prints are taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from netkit.errors import InputError
from netkit.model.text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """The other end of one interface's cable."""

    interface: str
    system: str
    port: str


def parse_lldp(text: str) -> dict[str, Neighbour]:
    """Return the neighbour of each interface; InputError when the text is no answer of lldpctl."""
    try:
        found = json.loads(text)
        listed = found["lldp"]
    except (ValueError, RecursionError, KeyError, TypeError) as fault:
        raise InputError("a text without `lldp`", "the output of lldpctl -f json") from fault
    return {one.interface: one for one in _neighbours(listed)}


def _neighbours(listed: Any) -> Iterator[Neighbour]:
    for part in listed if isinstance(listed, list) else [listed]:
        entries = part.get("interface", ()) if isinstance(part, dict) else ()
        for entry in entries if isinstance(entries, list) else [entries]:
            named = entry.items() if isinstance(entry, dict) else ()
            yield from (_neighbour(str(name), about) for name, about in named if isinstance(about, dict))


def _neighbour(name: str, about: dict[str, Any]) -> Neighbour:
    chassis, port = about.get("chassis", {}), about.get("port", {})
    system = next(iter(chassis), "") if isinstance(chassis, dict) and "id" not in chassis else _value(chassis, "name")
    identity = port.get("id", {}) if isinstance(port, dict) else {}
    return Neighbour(interface=visible(name), system=visible(str(system)), port=visible(_value(identity, "value")))


def _value(thing: Any, name: str) -> str:
    value = thing.get(name, "") if isinstance(thing, dict) else ""
    return str(value.get("value", "")) if isinstance(value, dict) else str(value)
