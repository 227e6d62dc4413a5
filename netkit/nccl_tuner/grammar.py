"""NCCL's tuner table, read as the example plugin reads it (NCCL plugins/tuner/example, loadConfig; same in ext-tuner).

`collective,min,max,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff]]`; the first row that matches
counts. The plugin reads with fgets, strtok, strtoull and atoi, and so do we: a line of 256 characters goes on as the
next one, empty fields do not exist, an unknown name is allreduce, ring or simple, and what is no number is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

COLLECTIVES = ("broadcast", "reduce", "allgather", "reducescatter", "allreduce")
ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
PROTOCOLS = ("ll", "ll128", "simple")
ANY = -1
FIELDS = range(8, 11)
LONGEST_LINE = 255
"""fgets fills a buffer of 256 characters, its end mark included."""
LARGEST = 2**64 - 1
_NUMBER = re.compile(rb"[ \t\n\v\f\r]*([+-]?)([0-9]+)")
_DEFAULTS = {"collective": "allreduce", "algorithm": "ring", "protocol": "simple"}
_NAMES = {"collective": COLLECTIVES, "algorithm": ALGORITHMS, "protocol": PROTOCOLS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. Sizes are bytes, both ends included; -1 matches anything, and as channels leaves NCCL's choice."""

    collective: str
    min_bytes: int
    max_bytes: int
    algorithm: str
    protocol: str
    channels: int
    nodes: int = ANY
    ranks: int = ANY
    pipe_ops: int = ANY
    registered: int = ANY

    def covers(self, other: Row) -> bool:
        """Tell whether whatever matches the other row matches this one."""
        wider = all(
            mine in (ANY, theirs)
            for mine, theirs in (
                (self.nodes, other.nodes),
                (self.ranks, other.ranks),
                (self.pipe_ops, other.pipe_ops),
                (self.registered, other.registered),
            )
        )
        sizes = self.min_bytes <= other.min_bytes and other.max_bytes <= self.max_bytes
        return self.collective == other.collective and wider and sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one fgets of the plugin returned, its fields, and the row it made of them; None where it made none."""

    number: int
    """The line of the file it began on, from 1."""
    starts_line: bool
    text: bytes
    fields: tuple[bytes, ...]
    row: Row | None

    @property
    def ignored(self) -> bool:
        """Tell whether the plugin passes it over on purpose: empty, or a remark."""
        return not self.text or self.text.startswith(b"#")


def read_table(data: bytes) -> tuple[Row, ...]:
    """Return the rows the plugin would hold."""
    return tuple(line.row for line in read_lines(data) if line.row is not None)


def read_lines(data: bytes) -> Iterator[Line]:
    """Yield the lines of a file as fgets cuts them, with what the plugin makes of each."""
    number, begins = 1, True
    for whole in _split(data):
        for start in range(0, len(whole), LONGEST_LINE):
            yield _line(whole[start : start + LONGEST_LINE], number, starts_line=begins)
            begins = False
        number, begins = number + 1, True


def _split(data: bytes) -> Iterator[bytes]:
    """Split after line feeds alone: to fgets a carriage return is a character like any other."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _line(piece: bytes, number: int, *, starts_line: bool) -> Line:
    # To the string functions of C a zero byte ends the line.
    text = piece.split(b"\n", 1)[0].split(b"\0", 1)[0]
    passed_over = piece.startswith(b"#")
    fields = () if passed_over else tuple(fields_of(text))
    row = row_of(fields)
    return Line(number=number, starts_line=starts_line, text=text, fields=fields, row=row)


def fields_of(text: bytes) -> Iterator[bytes]:
    """Yield every field as strtok finds it, blanks and tabs trimmed: between two commas there is none."""
    return (field.strip(b" \t") for field in text.split(b",") if field)


def row_of(fields: tuple[bytes, ...]) -> Row | None:
    """Return the row of the first ten fields; None for fewer than eight."""
    if len(fields) < FIELDS[0]:
        return None
    return Row(
        collective=name_of("collective", fields[0]),
        min_bytes=size_of(fields[1]),
        max_bytes=size_of(fields[2]),
        algorithm=name_of("algorithm", fields[3]),
        protocol=name_of("protocol", fields[4]),
        channels=whole_of(fields[5]),
        nodes=whole_of(fields[6]),
        ranks=whole_of(fields[7]),
        pipe_ops=whole_of(fields[8]) if len(fields) > 8 else ANY,
        registered=whole_of(fields[9]) if len(fields) > 9 else ANY,
    )


def name_of(kind: str, field: bytes) -> str:
    """Return a known name of this kind, or what the plugin takes an unknown one for."""
    name = field.decode("latin-1")
    return name if name in _NAMES[kind] else _DEFAULTS[kind]


def size_of(field: bytes) -> int:
    """Return strtoull(field): a minus counts from the top, too large is the largest, no number is 0."""
    value = _digits(field)
    if value is None:
        return 0
    return LARGEST if abs(value) > LARGEST else value % (LARGEST + 1)


def whole_of(field: bytes) -> int:
    """Return atoi(field) as glibc has it: strtol held to 64 bits, of which an int keeps the lower 32."""
    value = min(max(_digits(field) or 0, -(2**63)), 2**63 - 1)
    return (value + 2**31) % 2**32 - 2**31


def _digits(field: bytes) -> int | None:
    match = _NUMBER.match(field)
    # Twenty-one digits are above every limit, and Python counts no further than it must.
    return None if match is None else int(match[1] + (match[2].lstrip(b"0")[:21] or b"0"))
