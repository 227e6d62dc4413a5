"""What is wrong with a tuner table: where the plugin silently reads something else than was written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from netkit.model.text import visible
from netkit.nccl_tuner.grammar import (
    ALGORITHMS,
    COLLECTIVES,
    FIELDS,
    LARGEST,
    LONGEST_LINE,
    PROTOCOLS,
    Line,
    Row,
    read_lines,
)

_NAMES = ((0, "collective", COLLECTIVES), (3, "algorithm", ALGORITHMS), (4, "protocol", PROTOCOLS))
_SIZES = ((1, "minimum"), (2, "maximum"))
_COUNTS = ((5, "channels"), (6, "nodes"), (7, "ranks"), (8, "numPipeOps"), (9, "regBuff"))
_SIZE = re.compile(rb"[0-9]{1,20}")
_COUNT = re.compile(rb"-1|[0-9]{1,9}")
_REGISTERED = (-1, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing the plugin does not say: on which line, and what it does instead."""

    line: int
    said: str


def lint(data: bytes) -> tuple[Remark, ...]:
    """Return everything wrong with a table, in the order of its lines."""
    lines = tuple(read_lines(data))
    return tuple(Remark(line=line.number, said=said) for line in lines for said in _of_line(line)) + tuple(
        _shadowed(lines)
    )


def _of_line(line: Line) -> Iterator[str]:
    if not line.starts_line:
        yield f"longer than {LONGEST_LINE} characters: the plugin reads the rest as another line"
    if line.ignored:
        return
    if line.row is None:
        yield f"{len(line.fields)} fields, at least {FIELDS[0]} are needed: the plugin passes the line over"
        return
    if len(line.fields) > FIELDS[-1]:
        yield f"{len(line.fields)} fields: the plugin reads the first {FIELDS[-1]}"
    if b",," in line.text or line.text.startswith(b","):
        yield "an empty field: to the plugin it does not exist, and those after it move up"
    yield from _of_fields(line)
    yield from _of_row(line.row)


def _of_fields(line: Line) -> Iterator[str]:
    row = line.row
    for index, what, known in _NAMES:
        name = line.fields[index]
        if name.decode("latin-1") not in known:
            taken = getattr(row, what)
            yield f"{what} {_shown(name)} is none of {', '.join(known)}: the plugin takes it for {taken}"
    for index, what in _SIZES:
        if not _SIZE.fullmatch(line.fields[index]) or int(line.fields[index]) > LARGEST:
            yield f"{what} {_shown(line.fields[index])} is no size in bytes: the plugin reads {_value(row, index)}"
    if line.fields[5] == b"0":
        yield "0 channels: -1 leaves the number to NCCL"
    for index, what in _COUNTS:
        if index < len(line.fields) and not _COUNT.fullmatch(line.fields[index]):
            yield f"{what} {_shown(line.fields[index])} is no count and not -1: the plugin reads {_value(row, index)}"


def _of_row(row: Row | None) -> Iterator[str]:
    assert row is not None
    if row.min_bytes > row.max_bytes:
        yield f"from {row.min_bytes} to {row.max_bytes} bytes: no message is of that size"
    if row.registered not in _REGISTERED:
        yield f"regBuff {row.registered}: only -1, 0 and 1 ever match"


def _value(row: Row | None, index: int) -> int:
    names = ("", "min_bytes", "max_bytes", "", "", "channels", "nodes", "ranks", "pipe_ops", "registered")
    return int(getattr(row, names[index]))


def _shown(field: bytes) -> str:
    return repr(visible(field.decode("latin-1"), 40))


def _shadowed(lines: tuple[Line, ...]) -> Iterator[Remark]:
    """Rows that never match, because an earlier one always does."""
    earlier: list[Line] = []
    for line in lines:
        if line.row is None:
            continue
        above = next((one for one in earlier if one.row is not None and one.row.covers(line.row)), None)
        if above is not None:
            yield Remark(line=line.number, said=f"never matches: line {above.number} matches all of it first")
        earlier.append(line)
