"""An expected busbw as blocks of a printed report, alone or beside a reading."""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.units import show_percent, show_rate, show_size
from netkit.report.blocks import Banner, Block, Cell, Column, Listing, Table, Tone
from netkit.topology.expect import Expectation

_TONES = {"as expected": Tone.GOOD, "low": Tone.BAD, "high": Tone.WARN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A measured busbw beside the expected one; `share` is measured over expected."""

    measured: float
    size_bytes: int
    share: float
    verdict: str
    why: str


def compare(measured: float, size_bytes: int, expected: Expectation) -> Comparison:
    """Judge one reading, bytes per second, against the band expected at its size."""
    share = measured / expected.busbw
    verdict = "low" if measured < expected.low else "high" if measured > expected.high else "as expected"
    band = f"{show_rate(expected.low)} to {show_rate(expected.high)}"
    said = {
        "low": f"below the band of {band}; {expected.binding} should bind",
        "high": f"above the band of {band}: the machine is not the one described, or the model is short here",
        "as expected": f"within {band}",
    }
    return Comparison(measured=measured, size_bytes=size_bytes, share=share, verdict=verdict, why=said[verdict])


def blocks(expected: Expectation, against: Comparison | None = None) -> tuple[Block, ...]:
    """Return the report; its first line holds the figure, or the verdict on the reading."""
    return (_banner(expected, against), _ceilings(expected), Listing(title="assumptions", items=expected.assumptions))


def _banner(expected: Expectation, against: Comparison | None) -> Banner:
    band = f"{show_rate(expected.low)} to {show_rate(expected.high)}"
    of = f"all-reduce of {show_size(expected.size_bytes)} over {expected.nodes} nodes, {expected.ranks} ranks"
    if against is None:
        text = f"busbw {show_rate(expected.busbw)} ({band}) for an {of}; {expected.binding} binds"
        return Banner(word="EXPECT", text=text, tone=Tone.STRONG)
    part = show_percent(against.share)
    text = f"{show_rate(against.measured)} is {part} of the expected {show_rate(expected.busbw)}, {against.why}; {of}"
    return Banner(word=against.verdict.upper(), text=text, tone=_TONES[against.verdict])


def _ceilings(expected: Expectation) -> Table:
    rows = tuple(
        (Cell(text=one.name), Cell(text=show_rate(one.bound)), Cell(text=show_rate(one.reached)))
        for one in expected.ceilings
    )
    columns = (Column(title="ceiling"), Column(title="bound", numeric=True), Column(title="met", numeric=True))
    note = "busbw above the line rate of the NICs is normal on a few nodes: a tree crosses the network once"
    return Table(title="Ceilings on busbw", columns=columns, rows=rows, note=note)
