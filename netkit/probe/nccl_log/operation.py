"""Which operation a run timed, and whether one row of it agrees with itself.

A row says the same thing three times (size and time, algbw, busbw) and its size twice (count and type), so a row
put together from pieces of two contradicts itself. The relations are those of NVIDIA nccl-tests
doc/PERFORMANCE.md and `src/<operation>.cu`; operations that share them all are one `Shape`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from netkit.model.collective import Collective
from netkit.probe.busbw import factor
from netkit.probe.nccl_log.numbers import ANY, NONE, Interval

REDUCING = frozenset({Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER})
ROOTED = frozenset({Collective.BROADCAST, Collective.REDUCE, Collective.GATHER, Collective.SCATTER})
TYPE_BYTES: Mapping[str, int] = MappingProxyType(
    {"int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "half": 2, "float": 4, "double": 8}
    | {"bfloat16": 2, "f8e4m3": 1, "f8e5m2": 1, "fp8_e4m3": 1, "fp8_e5m2": 1}
)
_PROGRAM = re.compile(r"(?:.*/)?(?P<name>[a-z][a-z_0-9]{1,40}?)_perf(?:_[A-Za-z0-9_]{1,20}|\.exe)?")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """What ties the columns of a row together, and the operations it is true of.

    `limit` is busbw / algbw for endlessly many ranks, and `rising` whether fewer ranks have less. `per_rank` says
    that the count column is one rank's part of the size; `others_only` that algbw leaves out the part a rank
    already has.
    """

    collectives: frozenset[Collective]
    limit: float
    rising: bool
    per_rank: bool = False
    others_only: bool = False


def _shape(*collectives: Collective, per_rank: bool = False, others_only: bool = False) -> Shape:
    two, many = factor(collectives[0], 2), factor(collectives[0], 10**12)
    return Shape(
        collectives=frozenset(collectives),
        limit=round(many),
        rising=two < many,
        per_rank=per_rank,
        others_only=others_only,
    )


SHAPES = (
    _shape(Collective.ALL_REDUCE),
    _shape(Collective.BROADCAST, Collective.REDUCE, Collective.SENDRECV),
    _shape(
        Collective.ALL_GATHER,
        Collective.REDUCE_SCATTER,
        Collective.ALL_TO_ALL,
        Collective.GATHER,
        Collective.SCATTER,
        per_rank=True,
    ),
    _shape(Collective.HYPERCUBE, per_rank=True, others_only=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One half of one row as printed: bytes, microseconds, GB/s. `counted` is count times the width of its type."""

    size: int
    counted: int | None
    time: Interval
    algbw: Interval
    busbw: Interval


@dataclass(frozen=True, slots=True)
class Kind:
    """What a row's words say of the operation: does it reduce, has it a root; None where nothing is said."""

    reduces: bool | None
    rooted: bool | None

    def allows(self, collective: Collective) -> bool:
        """Tell whether `collective` is printed with such words; send/receive names a reduction it does not do."""
        reduces = self.reduces in (None, collective in REDUCING) or collective is Collective.SENDRECV
        return reduces and self.rooted in (None, collective in ROOTED)


def collective_of(program: str) -> Collective | None:
    """`/opt/all_reduce_perf` → all_reduce; None for a program netkit does not know."""
    match = _PROGRAM.fullmatch(program.strip())
    return next((one for one in Collective if match and one.value == match["name"]), None)


@cache
def shapes_of(collective: Collective | None, kind: Kind) -> tuple[Shape, ...]:
    """Return the shapes a row may have, given the run's operation, or the row's words where no operation is named."""
    allowed = {one for one in Collective if kind.allows(one)} if collective is None else {collective}
    return tuple(shape for shape in SHAPES if allowed & shape.collectives)


def fitting_ranks(shape: Shape, ranks: int | None, figures: Figures) -> Interval:
    """Return the numbers of ranks at which `figures` agree with themselves; empty when at none."""
    fit = ANY if ranks is None else Interval(ranks, ranks)
    for relation in (_by_count, _by_time, _by_busbw):
        found = relation(shape, figures)
        if found is not ANY:
            fit = fit.within(found)
            if fit.empty:
                break
    return fit


def _by_count(shape: Shape, figures: Figures) -> Interval:
    size, counted = figures.size, figures.counted
    if counted is None:
        return ANY
    if not shape.per_rank:
        return ANY if size == counted else NONE
    ranks, rest = divmod(size, counted) if counted else (0, 1)
    return NONE if rest else Interval(ranks, ranks)


def _by_time(shape: Shape, figures: Figures) -> Interval:
    # Bytes per microsecond are a thousandth of GB/s.
    gigabytes = figures.size * 1e-3
    if shape.others_only:
        return _ranks_at(figures.algbw.over(Interval(gigabytes, gigabytes).over(figures.time)), 1.0)
    return ANY if figures.algbw.meets(Interval(gigabytes, gigabytes).over(figures.time)) else NONE


def _by_busbw(shape: Shape, figures: Figures) -> Interval:
    if not shape.rising:
        return ANY if figures.busbw.meets(figures.algbw) else NONE
    return _ranks_at(figures.busbw.over(figures.algbw), shape.limit)


def _ranks_at(ratio: Interval, limit: float) -> Interval:
    """Solve limit * (n - 1) / n = ratio for n; the ratio rises with n from zero towards `limit`."""
    if ratio.low >= limit:
        return NONE
    low = math.ceil(limit / (limit - ratio.low) - 1e-6)
    return Interval(max(1, low), math.floor(limit / (limit - ratio.high) + 1e-6) if ratio.high < limit else math.inf)
