"""What a benchmark log says as neutral blocks: is it all there, what to quote, what is wrong with it, every size.

The table fits 80 columns: a person reads it over ssh. Exact bytes are in the JSON.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.model.collective import CollectiveReport, CollectiveRow, Placement
from netkit.model.text import visible
from netkit.model.units import parse_size_bytes, show_rate, show_size
from netkit.report.blocks import Banner, Block, Cell, Column, Listing, Prose, Table, Tone

_UNKNOWN = "-"
_HALF = ("us", "alg", "bus")
_SHORT = {Placement.OUT_OF_PLACE: "out", Placement.IN_PLACE: "in"}


def blocks(file: str, report: CollectiveReport) -> tuple[Block, ...]:
    """Return everything a person reads of one report."""
    return tuple(_blocks(file, report))


def _blocks(file: str, report: CollectiveReport) -> Iterator[Block]:
    yield _banner(file, report)
    yield Prose(text=f"{_subject(report)}; {_origin(report)}", indent=2)
    # The banner of an incomplete log has already said the first one.
    problems = report.problems if report.corrupt or report.complete else report.problems[1:]
    if problems:
        yield Listing(title="problems", items=problems)
    if report.rows:
        yield _table(report)


def _banner(file: str, report: CollectiveReport) -> Banner:
    name = visible(file)
    if report.corrupt:
        return Banner(word="CORRUPT", text=f"{name}: the benchmark itself found wrong data", tone=Tone.BAD)
    if not report.complete:
        text = f"{name}: {report.problems[0] if report.problems else 'not all of it is here'}"
        return Banner(word="INCOMPLETE", text=text, tone=Tone.WARN)
    return Banner(word="COMPLETE", text=f"{name}: {_quote(report)}", tone=Tone.GOOD)


def largest(report: CollectiveReport) -> tuple[CollectiveRow, ...]:
    """Return the rows of the largest size, the ones to quote; none when every size is zero."""
    size = max((row.bytes for row in report.rows), default=0)
    return tuple(row for row in report.rows if size and row.bytes == size)


def _quote(report: CollectiveReport) -> str:
    rows = largest(report)
    if not rows:
        return "nothing larger than zero bytes was measured"
    rates = [row.busbw_bytes_per_second for row in rows]
    low, high = show_rate(min(rates)), show_rate(max(rates))
    span = low if low == high else f"{low} to {high}"
    return f"busbw {span} at {show_size(rows[0].bytes)}, the largest size"


def _advice(report: CollectiveReport) -> str:
    if report.corrupt:
        return "Quote nothing: a rate at which data arrives wrong is no rate."
    if not largest(report):
        return "Sizes of zero say nothing about bandwidth."
    return f"Quote {_quote(report)}{'' if report.complete else ' that arrived'}."


def _subject(report: CollectiveReport) -> str:
    what = report.collective.value if report.collective else "an operation the log does not name"
    ranks = "an unknown number of ranks" if report.ranks is None else f"{report.ranks} ranks"
    nodes = "" if report.nodes is None else f" on {report.nodes} node{'s' * (report.nodes != 1)}"
    return f"{what} over {ranks}{nodes}"


def _origin(report: CollectiveReport) -> str:
    facts = (
        ("nccl-tests", report.tool_version),
        ("NCCL", report.nccl_version),
        ("network", report.transport),
    )
    known = [f"{word} {visible(value)}" for word, value in facts if value]
    return ", ".join(known) or "versions and network are not in the log"


def _table(report: CollectiveReport) -> Table:
    placements = [one for one in Placement if any(row.placement is one for row in report.rows)]
    halves = [Column(title=f"{_SHORT[one]} {word}", numeric=True) for one in placements for word in _HALF]
    quoted = {row.bytes for row in largest(report)}
    return Table(
        title="Time in us; algbw, busbw in GB/s (10^9 bytes/s); out of place, then in place",
        columns=(Column(title="size", numeric=True), *halves, Column(title="wrong", numeric=True)),
        rows=tuple(_line(size, halves, placements, size in quoted) for size, halves in _paired(report.rows)),
        note=_advice(report),
    )


def _paired(rows: tuple[CollectiveRow, ...]) -> Iterator[tuple[int, dict[Placement, CollectiveRow]]]:
    """Put the placements of one line of the log side by side again; repeated sizes stay apart."""
    halves: dict[Placement, CollectiveRow] = {}
    size = 0
    for row in rows:
        if halves and (row.bytes != size or row.placement in halves):
            yield size, halves
            halves = {}
        halves[row.placement], size = row, row.bytes
    if halves:
        yield size, halves


def _line(
    size: int, halves: dict[Placement, CollectiveRow], placements: list[Placement], quoted: bool
) -> tuple[Cell, ...]:
    tone = Tone.STRONG if quoted else Tone.PLAIN if size else Tone.MUTED
    rates = [cell for one in placements for cell in _half(halves.get(one), tone)]
    return (Cell(text=_exact_size(size), tone=tone), *rates, _wrong(tuple(halves.values()), tone))


def _half(row: CollectiveRow | None, tone: Tone) -> list[Cell]:
    if row is None:
        return [Cell(text=_UNKNOWN, tone=Tone.MUTED)] * len(_HALF)
    values = (row.time_seconds * 1e6, row.algbw_bytes_per_second * 1e-9, row.busbw_bytes_per_second * 1e-9)
    return [Cell(text=f"{value:.2f}" if value < 999.995 else f"{value:.1f}", tone=tone) for value in values]


def _wrong(rows: tuple[CollectiveRow, ...], tone: Tone) -> Cell:
    counts = [row.wrong for row in rows if row.wrong is not None]
    if not counts:
        return Cell(text=_UNKNOWN, tone=tone)
    return Cell(text=str(sum(counts)), tone=Tone.BAD if any(counts) else tone)


def _exact_size(size: int) -> str:
    """Return a friendly size only where it says exactly this many bytes."""
    shown = show_size(size)
    return shown if size and parse_size_bytes(shown) == size else f"{size} B"
