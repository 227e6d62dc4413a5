"""Tuner tables written: rows as text that the plugin reads back alike, rows from measurements, tables merged.

Measurements have the columns of the example plugin's optimiser (plugins/tuner/example/scripts): `collective,
size_bytes, algorithm, protocol, channels, nodes, ranks, pipeOps, regBuff, cost_metric, bandwidth_gbps, latency_us`.
Of one size the setting with the most bandwidth wins, or with the least latency where that is asked for.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise

from netkit.errors import InputError
from netkit.model.text import visible
from netkit.nccl_tuner.grammar import ALGORITHMS, ANY, COLLECTIVES, LARGEST, PROTOCOLS, Row

HEADER = "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n"
_NEEDED = ("collective", "size_bytes", "algorithm", "protocol", "channels", "nodes", "ranks")
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_NAMES = (("collective", COLLECTIVES), ("algorithm", ALGORITHMS), ("protocol", PROTOCOLS))


class Metric(StrEnum):
    """What makes one setting better than another."""

    BANDWIDTH = "bandwidth"
    LATENCY = "latency"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measured setting; `cost` is smaller where it is better."""

    size_bytes: int
    cost: float
    row: Row
    """The setting, and what it matches but for the sizes."""


def written(rows: Iterable[Row]) -> str:
    """Return a table of these rows; wildcards at the end of a row are left out."""
    return HEADER + "".join(_written(row) for row in rows)


def _written(row: Row) -> str:
    fields: list[object] = [row.collective, row.min_bytes, row.max_bytes, row.algorithm, row.protocol]
    fields += [row.channels, row.nodes, row.ranks]
    tail = [row.pipe_ops, row.registered]
    while tail and tail[-1] == ANY:
        tail.pop()
    return ",".join(map(str, [*fields, *tail])) + "\n"


def fallback(collective: str, algorithm: str = "ring", protocol: str = "simple") -> Row:
    """Return the row that matches whatever no other did; without it the choice stays NCCL's own."""
    return Row(
        collective=collective, min_bytes=0, max_bytes=LARGEST, algorithm=algorithm, protocol=protocol, channels=ANY
    )


def merged(tables: Sequence[Sequence[Row]]) -> tuple[Row, ...]:
    """Return the rows of several tables, the first table's first; a row that could never match is left out."""
    kept: list[Row] = []
    for row in (row for table in tables for row in table):
        if not any(one.covers(row) for one in kept):
            kept.append(row)
    return tuple(kept)


def best_rows(measurements: Iterable[Measurement]) -> tuple[Row, ...]:
    """Return one row for each stretch of sizes with one best setting; between two sizes the middle is geometric.

    Below the smallest and above the largest measured size nothing is said.
    """

    def matched(one: Measurement) -> tuple[str, int, int, int, int]:
        return (one.row.collective, one.row.nodes, one.row.ranks, one.row.pipe_ops, one.row.registered)

    ordered = sorted(measurements, key=lambda one: (matched(one), one.size_bytes, one.cost))
    return tuple(row for _, group in groupby(ordered, key=matched) for row in _stretches(tuple(group)))


def _stretches(ordered: Sequence[Measurement]) -> Iterator[Row]:
    best = [next(group) for _, group in groupby(ordered, key=lambda one: one.size_bytes)]
    ends = [math.isqrt(one.size_bytes * after.size_bytes) for one, after in pairwise(best)]
    starts = [best[0].size_bytes, *(end + 1 for end in ends)]
    sized = [
        replace(one.row, min_bytes=start, max_bytes=end)
        for one, start, end in zip(best, starts, [*ends, best[-1].size_bytes], strict=True)
    ]
    for _, group in groupby(sized, key=lambda row: (row.algorithm, row.protocol, row.channels)):
        alike = tuple(group)
        yield replace(alike[0], max_bytes=alike[-1].max_bytes)


def parse_measurements(text: str, metric: Metric) -> tuple[Measurement, ...]:
    """Return the measurements of a CSV file; InputError naming the first line that cannot be used."""
    reader = csv.DictReader(io.StringIO(text), strict=True)
    column = "bandwidth_gbps" if metric is Metric.BANDWIDTH else "latency_us"
    try:
        absent = [name for name in (*_NEEDED, column) if name not in (reader.fieldnames or ())]
        if absent:
            raise InputError(f"measurements without {', '.join(absent)}", f"columns {', '.join((*_NEEDED, column))}")
        found = tuple(_measurement(row, reader.line_num, metric, column) for row in reader)
    except csv.Error as fault:
        raise InputError(
            f"measurements that are not CSV ({visible(str(fault), 80)})", "comma-separated lines"
        ) from fault
    if not found:
        raise InputError("measurements without a line", "at least one measured setting")
    return found


def _measurement(fields: dict[str, str], line: int, metric: Metric, column: str) -> Measurement:
    for name, known in _NAMES:
        if fields[name] not in known:
            raise InputError(f"line {line}: {name} {visible(str(fields[name]), 40)!r}", ", ".join(known))
    value = _positive(fields, column, line)
    return Measurement(
        size_bytes=_whole(fields, "size_bytes", line, least=0),
        cost=-value if metric is Metric.BANDWIDTH else value,
        row=Row(
            collective=fields["collective"],
            min_bytes=0,
            max_bytes=0,
            algorithm=fields["algorithm"],
            protocol=fields["protocol"],
            channels=_whole(fields, "channels", line),
            nodes=_whole(fields, "nodes", line),
            ranks=_whole(fields, "ranks", line),
            pipe_ops=_whole(fields, "pipeOps", line),
            registered=_whole(fields, "regBuff", line),
        ),
    )


def _whole(fields: dict[str, str], name: str, line: int, least: int = ANY) -> int:
    text = fields.get(name)
    value = str(ANY) if text is None else text.strip()
    if not _WHOLE.fullmatch(value) or not least <= int(value) <= LARGEST:
        raise InputError(f"line {line}: {name} {visible(value, 40)!r}", f"a whole number from {least}")
    return int(value)


def _positive(fields: dict[str, str], name: str, line: int) -> float:
    try:
        value = float(fields[name])
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(f"line {line}: {name} {visible(str(fields[name]), 40)!r}", "a number above 0")
    return value
