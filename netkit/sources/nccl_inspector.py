"""What NCCL's Inspector plugin writes while a job runs: Prometheus text, or one JSON record a collective.

NVIDIA NCCL, plugins/profiler/inspector (README.md, inspector_prom.cc). Each collective there has a serial number and a
time as labels, so that every dump makes new series; what is kept here is bounded: the collective, its size as a power
of two, how many ranks and nodes, which GPU. The newest measurement of each wins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netkit.errors import InputError
from netkit.model.text import visible

_GIGABYTE = 1e9
_MICROSECOND = 1e-6
_SERIES = re.compile(r"(nccl_[a-z0-9_]{1,60})\{([^{}]{0,4096})\} +([-+0-9.eE]{1,40}|NaN|[+-]?Inf)(?: +[0-9]{1,16})?")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]{0,60})="((?:[^"\\]|\\.){0,512})"')
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(?:-[0-9.]{1,16})? ?([KMGT]?)i?B")
_SCALES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LONGEST_WORD = 40
_BANDWIDTH = ("nccl_bus_bandwidth_gbs", "nccl_p2p_bus_bandwidth_gbs")
_SECONDS = ("nccl_collective_exec_time_microseconds", "nccl_p2p_exec_time_microseconds")
_WORD = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a measurement is of, without anything that changes from dump to dump."""

    collective: str
    size_bytes: int
    """Of the message, rounded down to a power of two."""
    ranks: str
    nodes: str
    gpu: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measurement; what a dump does not say is None."""

    place: Place
    busbw_bytes_per_second: float | None = None
    seconds: float | None = None


def parse_prometheus(text: str) -> tuple[Measured, ...]:
    """Read a `.prom` file; InputError for a text without any of Inspector's series."""
    found = [match for line in text.splitlines() if (match := _SERIES.fullmatch(line.strip()))]
    measured = [one for match in found if (one := _of_series(match[1], dict(_LABEL.findall(match[2])), match[3]))]
    if not measured:
        raise InputError("text", "the Prometheus text of NCCL's Inspector")
    return merged(measured)


def _of_series(name: str, labels: Mapping[str, str], shown: str) -> Measured | None:
    size = _size(labels.get("message_size", ""))
    value = float(shown)
    if size is None or not 0 <= value < float("inf"):
        return None
    place = Place(
        collective=_word(labels.get("collective") or labels.get("p2p_operation")),
        size_bytes=size,
        ranks=_word(labels.get("nranks")),
        nodes=_word(labels.get("n_nodes")),
        gpu=_word(labels.get("gpu") or labels.get("gpu_device_id")),
    )
    if name in _BANDWIDTH:
        return Measured(place=place, busbw_bytes_per_second=value * _GIGABYTE)
    return Measured(place=place, seconds=value * _MICROSECOND) if name in _SECONDS else None


def parse_records(text: str) -> tuple[Measured, ...]:
    """Read JSON records, one document or one a line; InputError for a text without any."""
    measured = [one for record in _records(text) if (one := _of_record(record))]
    if not measured:
        raise InputError("text", "JSON records of NCCL's Inspector")
    return merged(measured)


def _records(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.splitlines():
            if line.startswith("{"):
                try:
                    yield json.loads(line)
                except ValueError:
                    # The last line of a file that is being written.
                    continue


def _of_record(record: object) -> Measured | None:
    if not isinstance(record, dict):
        return None
    header, performance = record.get("header"), record.get("coll_perf")
    if not isinstance(header, dict) or not isinstance(performance, dict):
        return None
    size = performance.get("coll_msg_size_bytes")
    if not isinstance(size, int) or not 0 < size < 1 << 50:
        return None
    place = Place(
        collective=_word(performance.get("coll")),
        size_bytes=power_of_two(size),
        ranks=_word(header.get("n_ranks")),
        nodes=_word(header.get("nnodes")),
        gpu=f"rank{_word(header.get('rank'))}",
    )
    busbw, micro = _positive(performance.get("coll_busbw_gbs")), _positive(performance.get("coll_exec_time_us"))
    return Measured(
        place=place,
        busbw_bytes_per_second=None if busbw is None else busbw * _GIGABYTE,
        seconds=None if micro is None else micro * _MICROSECOND,
    )


def merged(measured: Iterable[Measured]) -> tuple[Measured, ...]:
    """Return one measurement for each place: the last value given of each kind."""
    found: dict[Place, Measured] = {}
    for one in measured:
        before = found.get(one.place, one)
        found[one.place] = Measured(
            place=one.place,
            busbw_bytes_per_second=before.busbw_bytes_per_second
            if one.busbw_bytes_per_second is None
            else one.busbw_bytes_per_second,
            seconds=before.seconds if one.seconds is None else one.seconds,
        )
    return tuple(found.values())


def power_of_two(size: int) -> int:
    """Round down."""
    return 1 << (size.bit_length() - 1)


def _size(shown: str) -> int | None:
    """Read `1.00MB`, or the lower end of `4-5GB`."""
    match = _SIZE.fullmatch(shown)
    size = int(float(match[1]) * _SCALES[match[2]]) if match else 0
    return power_of_two(size) if size > 0 else None


def _word(value: object) -> str:
    shown = str(value) if isinstance(value, str | int) else ""
    return shown if _WORD.fullmatch(shown) else visible(shown, _LONGEST_WORD)


def _positive(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value < float("inf") else None
