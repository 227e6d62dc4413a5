"""Rail by rail with an MPI benchmark that prints one table: one mpirun a pair and rail, columns found by name. Pure.

A table counts only when its header names the columns looked for, its one row holds the size asked for, every line of
it has ended, and the benchmark itself found the data right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from netkit.model.collective import Collective
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.probe import mpi
from netkit.probe.benchmark import (
    Bench,
    Measured,
    Order,
    Program,
    RailGroup,
    Rates,
    Refusal,
    Results,
    Tuning,
    Work,
    output_of,
    run_order,
)
from netkit.probe.busbw import busbw

JOB_SECONDS = 180.0
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What the columns are called that are read; of several names the first that a header has.

    `size` counts things of `size_bytes` bytes; `seconds` is in microseconds; `check` says `passed` when the data were
    right, and is empty where the table does not tell.
    """

    separator: str | None
    size: tuple[str, ...]
    size_bytes: int
    seconds: tuple[str, ...]
    check: str
    passed: str

    def cells(self, line: str) -> list[str]:
        """Return the cells of a line; a header may end its names with a colon."""
        return [cell.strip().removesuffix(":") for cell in line.split(self.separator)]

    def places(self, header: Sequence[str]) -> tuple[int, int, int | None] | None:
        """Return where size, time and check stand in a line that is a header, None for any other."""
        size, time = (next((name for name in names if name in header), None) for names in (self.size, self.seconds))
        if size is None or time is None or (self.check and self.check not in header):
            return None
        return header.index(size), header.index(time), header.index(self.check) if self.check else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTests:
    """One such benchmark. `options` may hold {size} in bytes and {count} in elements of four.

    `all_passed` is the line that ends a run whose data were right; empty where the table's rows say so.
    """

    id: str
    title: str
    program: str
    remedy: str
    visible_devices: str
    options: tuple[str, ...]
    columns: Columns
    all_passed: str
    both_ways_at_once: bool = True
    rails_are: str = "accelerators"

    def programs(self, tuning: Tuning) -> Sequence[Program]:
        """Return the benchmark, everywhere, and mpirun where it is started."""
        mpirun = Program(name="mpirun", remedy="install Open MPI there", everywhere=False)
        return (Program(name=tuning.program(self.program), remedy=self.remedy), mpirun)

    def prepare(self, _bench: Bench) -> Sequence[Order]:
        """Return nothing."""
        return ()

    def refusal(self, _bench: Bench, _results: Results) -> Refusal | None:
        """Return None: it either runs or says why not."""
        return None

    def pairs(self, bench: Bench, groups: Sequence[RailGroup], label: str) -> Work:
        """Start one mpirun for each group, all at once."""

        def read(results: Results) -> list[Measured]:
            return [
                self._measured(bench, group, results.get((group.ranks[0], _task(label, group)))) for group in groups
            ]

        return Work(waves=[[self._order(bench, group, label) for group in groups]], read=read)

    def gang(self, bench: Bench, groups: Sequence[RailGroup]) -> Work | None:
        """Start one mpirun for each rail."""
        return self.pairs(bench, groups, "all-reduce")

    def parse_text(self, text: str, size: int) -> float | str:
        """Return the seconds of one all-reduce of `size` bytes, or why the text does not hold them."""
        lines = text.replace("\r\n", "\n").split("\n")[:-1]
        if self.all_passed and not any(line.strip() == self.all_passed for line in lines):
            return f"its log does not end with {self.all_passed!r}"
        places, found = None, []
        for line in lines:
            cells = self.columns.cells(line)
            places = self.columns.places(cells) or places
            if places is not None and len(cells) > max(place or 0 for place in places):
                found += self._row(cells, places, size)
        if places is None:
            return "its table does not name the columns netkit knows"
        if len(found) != 1:
            return f"its table holds {len(found)} rows of {size} bytes where one is expected"
        return found[0]

    def _row(self, cells: Sequence[str], places: tuple[int, int, int | None], size: int) -> list[float | str]:
        count, time = cells[places[0]], cells[places[1]]
        if not (count.isdecimal() and int(count) * self.columns.size_bytes == size and _NUMBER.fullmatch(time)):
            return []
        verdict = cells[places[2]] if places[2] is not None else self.columns.passed
        if verdict != self.columns.passed:
            return [f"corrupt data: its check says {visible(verdict, 40)}"]
        return [float(time) * 1e-6] if float(time) > 0 else ["its time is zero"]

    def _order(self, bench: Bench, group: RailGroup, label: str) -> Order:
        environment = {**bench.tuning.environment, self.visible_devices: str(bench.gpus[group.rail])}
        processes = [mpi.Process(host=bench.hosts[rank], environment=environment) for rank in group.ranks]
        size = bench.tuning.bytes
        words = [option.format(size=size, count=size // 4) for option in self.options]
        return run_order(
            group.ranks[0],
            _task(label, group),
            mpi.command_line("mpirun", processes, [bench.tuning.program(self.program), *words]),
            seconds=JOB_SECONDS,
            env={**mpi.ENVIRONMENT, **environment},
            files={mpi.HOSTFILE: mpi.hostfile(processes)},
        )

    def _measured(self, bench: Bench, group: RailGroup, result: object) -> Measured:
        where = f"{':'.join(bench.names[rank] for rank in group.ranks[:2])} rail {group.rail}"
        text = output_of(result if isinstance(result, dict) else None, where)
        if isinstance(text, Missing):
            return text
        seconds = self.parse_text(text, bench.tuning.bytes)
        if isinstance(seconds, str):
            return Missing(reason=Reason.MALFORMED, where=where, detail=seconds)
        rate = busbw(Collective.ALL_REDUCE, len(group.ranks), bench.tuning.bytes, seconds)
        return Rates(forward=rate, reverse=rate, bytes=bench.tuning.bytes)


def _task(label: str, group: RailGroup) -> str:
    return f"{label} {'-'.join(map(str, group.ranks[:2]))} rail {group.rail}"
