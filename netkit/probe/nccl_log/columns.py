"""The table of nccl-tests: which column stands where, told by its header.

Header words and values are both right-aligned to the same character (`writeResultHeader` and
`writeBenchmarkLinePreamble` in NVIDIA nccl-tests `src/util.cu`), so a value belongs to the column whose word ends
where it ends, and a blank column stays blank. A value wider than its column moves everything behind it: such a
row is read from its right end, where no column is ever blank. RCCL-tests and forks write the same table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from netkit.errors import InputError
from netkit.model.collective import Placement
from netkit.model.text import visible

LEADING = ("size", "count", "type", "redop", "root")
TIMES = ("time", "cputime")
WRONGS = ("#wrong", "error")
EXTRAS = ("#bitdiff", "i_min", "i_max", "i_p99", "i_cv%")
TAILS = ("algo", "proto", "nchannels", "#iters")
KNOWN = (*LEADING, *TIMES, "algbw", "busbw", *WRONGS, *EXTRAS, *TAILS, "timestamp")

_HEADER = re.compile(r"(?=.*\balgbw\b)(?=.*\bbusbw\b)[#\sA-Za-z_%0-9()/]+")
_GROUPS = re.compile(r"#\s.*\b(?:out-of-place|in-place)\b")
_TIMESTAMP = re.compile(r"\s+[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$")
_INTEGER = re.compile(r"-?[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """Where one placement's values are: indices into the cells of a row."""

    placement: Placement
    time: int
    algbw: int
    busbw: int
    wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns of one table. `ends` are the characters behind the last one of each header word.

    `tail` counts the words that follow the halves (RCCL's algorithm and protocol): they stand where they like.
    """

    names: tuple[str, ...]
    ends: tuple[int, ...]
    halves: tuple[Half, ...]
    tail: int

    @property
    def leading(self) -> int:
        """How many columns come before the first time."""
        return self.halves[0].time

    @property
    def counts_wrong(self) -> bool:
        """Whether the check column counts elements; `error` of old versions is a rounding error instead."""
        return self.names[self.halves[0].wrong] == "#wrong"

    @property
    def times_operation(self) -> bool:
        """Whether the time is the operation's; `-C 1` prints the processor's time beside the same bandwidths."""
        return self.names[self.halves[0].time] == "time"

    def cells(self, line: str) -> list[str] | None:
        """Return one string per column, blank ones empty, or None when `line` is no whole row of this table."""
        if line[-3:-2] == ":":
            line = _TIMESTAMP.sub("", line)
        return self._aligned(line) or self._from_the_right(line)

    def _aligned(self, line: str) -> list[str] | None:
        if len(line[self.ends[-1] :].split()) != self.tail:
            return None
        cells: list[str] = []
        start = 0
        for end in self.ends:
            cell = line[start:end]
            if cell and not cell.isspace() and (cell[-1] == " " or (start and cell[0] != " ")):
                return None
            cells.append(cell.strip())
            start = end
        return cells if self._is_whole(cells) else None

    def _is_whole(self, cells: list[str]) -> bool:
        """A placement may be left out as a whole, never a part of one, and one must be there."""
        if not (cells[0] and cells[1]) or any(" " in cell for cell in cells):
            return False
        measured = cells[self.leading :]
        width = len(measured) // len(self.halves)
        filled = [sum(map(bool, measured[at : at + width])) for at in range(0, len(measured), width)]
        return any(filled) and all(count in (0, width) for count in filled)

    def _from_the_right(self, line: str) -> list[str] | None:
        spans = list(re.finditer(r"\S+", line))
        spans = spans[: len(spans) - self.tail]
        measured = len(self.names) - self.leading
        # Too wide a value only ever moves the end to the right; a row that ends early has lost something.
        if len(spans) < measured + 2 or spans[-1].end() < self.ends[-1]:
            return None
        words = [span[0] for span in spans]
        named = _leading(words[:-measured])
        if named is None or not named.keys() <= set(self.names):
            return None
        return [named.get(name, "") for name in self.names[: self.leading]] + words[-measured:]


def _leading(words: list[str]) -> dict[str, str] | None:
    """Tell size, count, type, redop and root apart; the last three may be blank, and only root is a number."""
    named = dict(zip(LEADING, words[:2], strict=False))
    middle = words[2:]
    if middle and _INTEGER.fullmatch(middle[-1]):
        named["root"] = middle.pop()
    if len(middle) > 2:
        return None
    return named | dict(zip(("type", "redop"), middle, strict=False))


def is_header(line: str) -> bool:
    """Tell whether `line` names the columns of a benchmark's table."""
    return "busbw" in line and _HEADER.fullmatch(line) is not None


def is_group_line(line: str) -> bool:
    """Tell whether `line` is the one above the header that says which half is in place."""
    return "-place" in line and _GROUPS.match(line) is not None


def read_header(line: str, group_line: str | None) -> Layout:
    """Return the layout that a header line declares.

    Raises:
        InputError: a column netkit does not know, or columns in an order no nccl-tests writes.
    """
    words = [match for match in re.finditer(r"\S+", line) if match[0] not in ("#", "timestamp")]
    columns = [match for match in words if match[0] not in TAILS]
    names = tuple(match[0] for match in columns)
    halves = _halves(names, _placements(group_line))
    if not halves or names != _expected(names, halves) or columns != words[: len(columns)]:
        seen = visible(" ".join(line.split()), 300)
        raise InputError(f"table header {seen!r}", f"columns of nccl-tests: {' '.join(KNOWN)}")
    ends = tuple(match.end() for match in columns)
    return Layout(names=names, ends=ends, halves=halves, tail=len(words) - len(columns))


def _placements(group_line: str | None) -> tuple[Placement, ...]:
    """Out of place comes first unless the line above says otherwise; a single half needs that line."""
    if group_line is None:
        return (Placement.OUT_OF_PLACE, Placement.IN_PLACE)
    found = re.findall(r"\b(?:out-of-place|in-place)\b", group_line)
    return tuple(Placement(word.replace("-", "_")) for word in found)


def _halves(names: tuple[str, ...], placements: tuple[Placement, ...]) -> tuple[Half, ...]:
    starts = [index for index, name in enumerate(names) if name in TIMES]
    if len(starts) != len(placements) or len(set(placements)) != len(placements):
        return ()
    return tuple(
        Half(placement=placement, time=at, algbw=at + 1, busbw=at + 2, wrong=at + 3)
        for at, placement in zip(starts, placements, strict=True)
    )


def _expected(names: tuple[str, ...], halves: tuple[Half, ...]) -> tuple[str, ...]:
    """The order nccl-tests writes: some of the leading columns, then equal halves."""
    leading = names[: halves[0].time]
    if leading[:2] != LEADING[:2] or leading != tuple(name for name in LEADING if name in leading):
        return ()
    width = (len(names) - len(leading)) // len(halves)
    half = names[len(leading) : len(leading) + width]
    known = half[1:3] == ("algbw", "busbw") and half[3:4] and half[3] in WRONGS and set(half[4:]) <= set(EXTRAS)
    return (*leading, *half * len(halves)) if known else ()
