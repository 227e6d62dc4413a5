"""Rows and remarks of one run, added up into a report: what it measured, and whether that is all of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from netkit.model.collective import Collective, CollectiveReport, CollectiveRow
from netkit.probe.nccl_log.numbers import Interval, is_number
from netkit.probe.nccl_log.operation import Kind, Shape
from netkit.probe.nccl_log.preamble import Connections, Preamble
from netkit.probe.nccl_log.rows import JudgedLine, Knowledge, Values

MOST_PROBLEMS = 20
# Text prints the average with "%g", six significant digits; JSON with "%lf", six decimals.
_AVERAGE_ROUNDING = 5e-6
_AVERAGE_HALF_STEP = 5e-7


@dataclass(slots=True)
class Tally:
    """One run while it is read. `faults` make it incomplete; `notes` are worth knowing and do not."""

    preamble: Preamble
    ranks: int | None
    rows: list[CollectiveRow] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corrupt: bool = False
    lines: int = 0
    summaries: int = 0
    average: str | None = None
    _busbw_low: float = 0.0
    _busbw_high: float = 0.0
    _kinds: set[Kind] = field(default_factory=set)
    _fits: dict[Shape, Interval] | None = None

    @property
    def knowledge(self) -> Knowledge:
        """What a row of this run is judged by."""
        preamble = self.preamble
        return Knowledge(collective=preamble.collective, named=preamble.program is not None, ranks=self.ranks)

    @property
    def summarised(self) -> bool:
        """Whether both closing lines have been seen."""
        return self.summaries > 0 and self.average is not None

    def add(self, judged: JudgedLine) -> None:
        """Take in one judged row."""
        self.lines += 1
        self.faults += judged.problems
        self._kinds.add(judged.kind)
        for values in judged.values:
            self._add(values)

    def _add(self, values: Values) -> None:
        self.rows.append(values.row)
        self.corrupt |= bool(values.row.wrong)
        self._busbw_low += values.busbw.low
        self._busbw_high += values.busbw.high
        if values.fits:
            found = dict(values.fits)
            known = found if self._fits is None else self._fits
            self._fits = {shape: known[shape].within(fit) for shape, fit in found.items() if shape in known}

    def summarise(self, out_of_bounds: int, failed: bool) -> None:
        """Take in the closing line about wrong values."""
        self.summaries += 1
        self.corrupt |= failed or out_of_bounds > 0

    def report(self, connections: Connections) -> CollectiveReport:
        """Close the run. Everything that decides completeness is looked at here, no number changes any more."""
        faults = [*self.faults, *filter(None, self._verdicts())]
        collective, ranks = self._deduced()
        used = sorted(connections.networks)
        mixed = [f"ranks used different networks: {', '.join(used)}"] if len(used) > 1 else []
        return CollectiveReport(
            collective=collective,
            ranks=ranks,
            nodes=self.preamble.nodes,
            rows=tuple(self.rows),
            corrupt=self.corrupt,
            complete=not faults,
            problems=_shortened([*faults, *self.notes, *mixed, *self._unknown_operation()]),
            hosts=self.preamble.hosts,
            tool_version=self.preamble.tool_version,
            nccl_version=self.preamble.nccl_version or connections.nccl_version,
            transport=connections.transport,
        )

    def _unknown_operation(self) -> Iterable[str]:
        if self.preamble.program and self.preamble.collective is None:
            yield f"netkit does not know what {self.preamble.program} times: its rows are not checked against it"

    def _verdicts(self) -> Iterable[str | None]:
        yield self.preamble.rank_problem
        if not self.rows:
            yield "no row with numbers"
        if not self.summarised:
            closing = "the closing lines (Out of bounds values, Avg bus bandwidth) are missing"
            yield f"{closing}: the log is cut, by its size or by a restart"
        if self.summaries > 1:
            yield "more than one summary under one header: several processes write into this log"
        yield self._sweep_verdict()
        yield self._average_verdict()

    def _sweep_verdict(self) -> str | None:
        sizes = self.preamble.sizes
        if not sizes or not self.lines or self.lines % sizes == 0:
            return None
        return f"{self.lines} rows where each pass over the sizes has {sizes}"

    def _average_verdict(self) -> str | None:
        """The printed average is never a value; it only tells whether every row arrived."""
        if self.average is None or self.faults or not self.rows:
            return None
        if not is_number(self.average):
            return f"the benchmark's own average is {self.average[:20]}"
        value, count = float(self.average), len(self.rows)
        half = max(value * _AVERAGE_ROUNDING, _AVERAGE_HALF_STEP)
        if Interval(value - half, value + half).meets(Interval(self._busbw_low / count, self._busbw_high / count)):
            return None
        return f"the rows do not add up to the benchmark's own average of {self.average} GB/s: rows are missing"

    def _deduced(self) -> tuple[Collective | None, int | None]:
        """Name the operation and the ranks where the numbers leave one choice."""
        named = self.preamble.collective
        if named is not None and self.ranks is not None:
            return named, self.ranks
        fits = {shape: fit for shape, fit in (self._fits or {}).items() if not fit.empty}
        left = {one for shape in fits for one in shape.collectives if all(kind.allows(one) for kind in self._kinds)}
        collective = next(iter(left)) if named is None and len(left) == 1 and self.preamble.program is None else named
        if self.ranks is not None or collective is None:
            return collective, self.ranks
        return collective, _only_integer(next((f for s, f in fits.items() if collective in s.collectives), None))


def _only_integer(fit: Interval | None) -> int | None:
    if fit is None or math.isinf(fit.high) or fit.low != fit.high:
        return None
    return int(fit.low)


def _shortened(problems: list[str]) -> tuple[str, ...]:
    unique = list(dict.fromkeys(problems))
    more = len(unique) - MOST_PROBLEMS
    return tuple(unique[:MOST_PROBLEMS]) + ((f"and {more} more",) if more > 0 else ())
