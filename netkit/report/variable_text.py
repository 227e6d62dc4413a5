"""One variable of a communication library: what it does, its defaults, who publishes which value, what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from netkit.catalogue.nccl_variables import ALIASES, OTHER_NAMES, NcclVariable, nccl_variables
from netkit.catalogue.nccl_variables.form import Kind, Version
from netkit.catalogue.nccl_variables.traps import TRAPS
from netkit.catalogue.vendor_settings import published
from netkit.report.blocks import Banner, Block, Listing, Prose, Tone
from netkit.report.check_json import EXPLAIN_SCHEMA


def describe(subject: str) -> dict[str, Any] | None:
    """Return everything known of a variable, by its name in any case; None when it is none."""
    name = subject.strip().upper()
    row = nccl_variables().get(ALIASES.get(name, name))
    if row is None and name not in OTHER_NAMES:
        return None
    return {
        "schema": EXPLAIN_SCHEMA,
        "variable": name,
        "library": OTHER_NAMES.get(name, "NCCL"),
        **(_row(name, row) if row is not None else {}),
        "published": [{"value": value, "by": one.name, "source": one.source} for one, value in published(name)],
        "traps": list(TRAPS.get(name, ())),
    }


def _row(name: str, row: NcclVariable) -> dict[str, Any]:
    return {
        "meaning": row.meaning or None,
        "accepts": _accepts(row),
        "defaults": [{"since": _shown(since), "value": value} for since, value in row.defaults],
        "since": _shown(row.since),
        "deprecated": _shown(row.deprecated),
        "removed": _shown(row.removed),
        "instead": row.instead or (row.name if name != row.name else None),
        "documented": row.documented,
        "debugging": row.debugging,
    }


def _accepts(row: NcclVariable) -> str:
    if row.choices:
        return f"{Kind.CHOICE.value} {', '.join(row.choices)}"
    if row.limits is None:
        return row.kind.value
    lowest, highest = row.limits.lowest, row.limits.highest
    span = f"{lowest} to {highest}" if highest is not None else f"{lowest} or more"
    return f"{row.kind.value}, {span}"


def _shown(version: Version | None) -> str | None:
    if version is None or version == (0, 0, 0):
        return None
    return ".".join(map(str, version if version[2] else version[:2]))


def render(described: dict[str, Any], *, one_line: bool = False) -> str:
    """Return it as one JSON object, ending in a newline."""
    return json.dumps(described, indent=None if one_line else 1) + "\n"


def blocks(described: dict[str, Any]) -> Iterator[Block]:
    """Yield it for people."""
    yield Banner(word=described["library"], text=described["variable"], tone=Tone.GOOD)
    yield Prose(text=described.get("meaning") or _UNKNOWN, tone=Tone.STRONG)
    for line in _facts(described):
        yield Prose(text=line, indent=2)
    values = tuple(f"{one['value']}: {one['by']} ({one['source']})" for one in described["published"])
    if values:
        yield Listing(title="Who sets it to what", items=values)
    if described["traps"]:
        yield Listing(title="Traps", items=tuple(described["traps"]))


_UNKNOWN = "netkit knows the name and who reads it, and no document that says what it does"


def _facts(described: dict[str, Any]) -> Iterator[str]:
    if "accepts" not in described:
        return
    yield f"accepts: {described['accepts']}"
    yield f"default: {_defaults(described['defaults'])}"
    for word in ("since", "deprecated", "removed", "instead"):
        if described[word]:
            yield f"{word}: {described[word]}"
    if not described["documented"]:
        yield "not documented by NVIDIA: it may go any day"
    elif described["debugging"]:
        yield "for debugging: NVIDIA's guide wants it out of production"


def _defaults(rows: list[dict[str, Any]]) -> str:
    """Return the defaults, the newest first, each with the version it came with."""
    shown = [f"{one['value']} since {one['since']}" if one["since"] else f"{one['value']}" for one in rows]
    return ", before that ".join(shown) or "none is stated"
