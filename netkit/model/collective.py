"""Collective operations and what a benchmark of one reported.

algbw is size / time; busbw is algbw times a factor that makes it comparable with link speed whatever the
number of ranks (NVIDIA nccl-tests, doc/PERFORMANCE.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Collective(StrEnum):
    """The operations nccl-tests measures."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "alltoall"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    SENDRECV = "sendrecv"
    HYPERCUBE = "hypercube"


class Placement(StrEnum):
    """Whether send and receive buffers are the same memory."""

    OUT_OF_PLACE = "out_of_place"
    IN_PLACE = "in_place"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRow:
    """One measured size. Rates are bytes per second; `wrong` counts corrupted elements, None if not checked."""

    bytes: int
    placement: Placement
    time_seconds: float
    algbw_bytes_per_second: float
    busbw_bytes_per_second: float
    wrong: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveReport:
    """Everything one benchmark log says.

    `complete` is False when the log breaks off or contradicts itself; `problems` says where. `corrupt` is True
    when the benchmark itself found wrong data. A benchmark's own average over all sizes is never kept: it mixes
    latency-bound and bandwidth-bound sizes.
    """

    collective: Collective | None
    ranks: int | None
    nodes: int | None
    rows: tuple[CollectiveRow, ...]
    corrupt: bool
    complete: bool
    problems: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    tool_version: str | None = None
    nccl_version: str | None = None
    transport: str | None = field(default=None)
