"""One row judged by itself: the numbers it yields, or what is wrong with it.

A row is judged by what stands before it and in it, never by what follows: a log that is cut yields no row that
the whole log would not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from netkit.model.collective import Collective, CollectiveRow, Placement
from netkit.model.text import visible
from netkit.model.units import show_size
from netkit.probe.nccl_log.columns import Layout
from netkit.probe.nccl_log.numbers import Interval, has_decimal_comma, is_no_number, is_number, printed, scaled
from netkit.probe.nccl_log.operation import TYPE_BYTES, Figures, Kind, Shape, fitting_ranks, shapes_of

_SIZE = re.compile(r"[0-9]{1,15}")
_ROOT = re.compile(r"(?:-?[0-9]{1,9})?")
_ROW_START = re.compile(
    r" *[0-9]{1,15} +[0-9]{1,15} +"
    r"(?:(?:u?int[0-9]|half|float|double|bfloat|f8e|fp8)[0-9a-z_]*(?: |$)|[0-9]+[.,][0-9]+ )"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What one placement of one row says, still as text: bytes, microseconds, GB/s, elements."""

    placement: Placement
    size: int
    counted: int | None
    time: str
    algbw: str
    busbw: str
    wrong: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """One placement with all its numbers, and the numbers of ranks at which they agree with each other."""

    row: CollectiveRow
    busbw: Interval
    fits: tuple[tuple[Shape, Interval], ...]


@dataclass(slots=True)
class JudgedLine:
    """What one row gave. `kind` is what its words say of the operation."""

    kind: Kind
    values: list[Values] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What is known of a run before its first row; `named` tells an operation unknown to netkit from one not named."""

    collective: Collective | None
    named: bool
    ranks: int | None

    def judge(self, half: Printed, judged: JudgedLine) -> None:
        """Add the values of one placement to `judged`, or the reason why there are none."""
        texts = (half.time, half.algbw, half.busbw)
        if not all(map(is_number, texts)):
            missing = next(text for text in texts if not is_number(text))
            judged.problems.append(
                f"{_where(half)}: the benchmark printed {visible(missing, 20)} where a number belongs"
            )
            return
        time, algbw, busbw = map(printed, texts)
        fits: tuple[tuple[Shape, Interval], ...] = ()
        if half.size > 0 and (self.collective is not None or not self.named):
            figures = Figures(size=half.size, counted=half.counted, time=time, algbw=algbw, busbw=busbw)
            fits = tuple(self._fits(figures, judged.kind))
            if not fits:
                columns = "size, count, time {}, algbw {} and busbw {}".format(*texts)
                judged.problems.append(f"{_where(half)}: {columns} contradict each other; the row is left out")
                return
        judged.values.append(Values(row=_row(half), busbw=busbw, fits=fits))

    def _fits(self, figures: Figures, kind: Kind) -> Iterator[tuple[Shape, Interval]]:
        for shape in shapes_of(self.collective, kind):
            fit = fitting_ranks(shape, self.ranks, figures)
            if not fit.empty:
                yield shape, fit


def _where(half: Printed) -> str:
    return f"{show_size(half.size)}, {half.placement.replace('_', ' ')}"


def _row(half: Printed) -> CollectiveRow:
    return CollectiveRow(
        bytes=half.size,
        placement=half.placement,
        time_seconds=scaled(half.time, -6),
        algbw_bytes_per_second=scaled(half.algbw, 9),
        busbw_bytes_per_second=scaled(half.busbw, 9),
        wrong=round(float(half.wrong)) if half.wrong is not None and is_number(half.wrong) else None,
    )


def judge_line(line: str, layout: Layout, knowledge: Knowledge) -> JudgedLine | None:
    """Return what a line of the table gives, or None when it is no row and no beginning of one."""
    if _ROW_START.match(line) is None:
        return None
    cells = layout.cells(line)
    if cells is None or not _is_grammatical(cells, layout):
        return JudgedLine(kind=Kind(None, None), problems=[_broken(line)])
    named = dict(zip(layout.names, cells[: layout.leading], strict=False))
    judged = JudgedLine(kind=kind_of(named))
    counted = bytes_counted(named)
    for half in layout.halves:
        if cells[half.time]:
            text = Printed(
                placement=half.placement,
                size=int(named["size"]),
                counted=counted,
                time=cells[half.time],
                algbw=cells[half.algbw],
                busbw=cells[half.busbw],
                wrong=cells[half.wrong] if layout.counts_wrong else None,
            )
            knowledge.judge(text, judged)
    return judged


def _is_grammatical(cells: list[str], layout: Layout) -> bool:
    """Whether every cell is of its column's kind; whether the numbers can be true is judged later."""
    if not (_SIZE.fullmatch(cells[0]) and _SIZE.fullmatch(cells[1])):
        return False
    measured = cells[layout.leading :]
    return all(not cell or is_number(cell) or is_no_number(cell) for cell in measured)


def _broken(line: str) -> str:
    words = line.split()
    if comma := next((word for word in words if has_decimal_comma(word)), None):
        return f"{comma} has a decimal comma, which netkit does not guess at: run the benchmark with LC_ALL=C"
    return f"the row of size {words[0]} is broken by other output"


def kind_of(named: Mapping[str, str]) -> Kind:
    """Return what the redop and root columns say, where there are such columns."""
    redop, root = named.get("redop"), named.get("root", "").strip()
    rooted = int(root) >= 0 if root and _ROOT.fullmatch(root) else None
    return Kind(None if redop is None else redop.strip() not in ("", "none"), rooted)


def bytes_counted(named: Mapping[str, str]) -> int | None:
    """Return count times the width of the type; None for a type netkit does not know."""
    width = TYPE_BYTES.get(named.get("type", "").strip())
    return int(named["count"]) * width if width else None
