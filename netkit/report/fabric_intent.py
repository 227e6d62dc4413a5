"""A declared fabric intent: its sizes, how it is said, that it proves; as JSON, schema `netkit.tune-switch/1`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from netkit.model.units import show_line_rate, show_size
from netkit.report.blocks import Banner, Block, Cell, Column, Heading, Listing, Prose, Table, Tone
from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.proof import Proven
from netkit.roce.sizes import Sizes

SCHEMA = "netkit.tune-switch/1"


def render(intent: FabricIntent, sizes: Sizes, proven: Sequence[Proven], *, one_line: bool = False) -> str:
    """Return everything as one JSON object, ending in a newline."""
    found = {
        "schema": SCHEMA,
        "intent": {
            "lossless": {str(dscp): priority for dscp, priority in sorted(intent.lossless.items())},
            "cnp": {"dscp": intent.cnp_dscp, "priority": intent.cnp_priority},
            "speed_bytes_per_second": intent.speed,
            "cable_metres": intent.cable_metres,
            "mtu_bytes": intent.mtu_bytes,
            "rtt_microseconds": intent.rtt_microseconds,
            "buffer_bytes": intent.buffer_bytes,
            "switch_ports": list(intent.switch_ports),
            "host_interfaces": list(intent.host_interfaces),
        },
        "sizes": [asdict(size) for size in sizes.listed],
        "snippets": [_snippet(one) for one in proven],
    }
    return json.dumps(found, ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"


def _snippet(one: Proven) -> dict[str, object]:
    snippet = one.snippet
    return {
        "id": snippet.dialect.id,
        "title": snippet.dialect.title,
        "source": snippet.dialect.source,
        "unstated": list(snippet.unstated),
        "proven": True if one.chains else None,
        "text": snippet.text,
    }


def blocks(intent: FabricIntent, sizes: Sizes, proven: Sequence[Proven]) -> Iterator[Block]:
    """Yield the intent, its sizes, and every dialect with what its source leaves open."""
    read_back = [one for one in proven if one.chains]
    chains = sum(len(one.chains) for one in read_back)
    names = " and ".join(one.snippet.dialect.title for one in read_back)
    yield Banner(word="PROVEN", text=f"{names}, read back: every link of {chains} chains holds", tone=Tone.GOOD)
    yield Prose(text=_declared(intent))
    yield Table(
        title="Sizes",
        columns=(
            Column(title="size"),
            Column(title="bytes", numeric=True),
            Column(title="formula"),
            Column(title="source"),
        ),
        rows=tuple(
            tuple(Cell(text=text) for text in (size.name, str(size.bytes), size.formula, size.source))
            for size in sizes.listed
        ),
    )
    for one in proven:
        yield from _dialect(one)


def _declared(intent: FabricIntent) -> str:
    lossless = ", ".join(f"DSCP {dscp} on priority {priority}" for dscp, priority in sorted(intent.lossless.items()))
    buffer = "" if intent.buffer_bytes is None else f", {show_size(intent.buffer_bytes)} of buffer"
    return (
        f"Lossless: {lossless}. Notifications: DSCP {intent.cnp_dscp} on priority {intent.cnp_priority}. "
        f"{show_line_rate(intent.speed)}, {intent.cable_metres} m, MTU {intent.mtu_bytes}{buffer}."
    )


def _dialect(one: Proven) -> Iterator[Block]:
    dialect = one.snippet.dialect
    how = "read back and proven" if one.chains else "not read back: netkit does not know how to read it"
    yield Heading(text=f"{dialect.id}: {dialect.title} ({how})")
    lines = one.snippet.text.count("\n")
    yield Prose(text=f"{lines} lines after {dialect.source}; netkit tune switch … --for {dialect.id}", indent=2)
    if one.snippet.unstated:
        yield Listing(title="not stated there:", items=one.snippet.unstated)
