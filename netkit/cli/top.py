"""`netkit top`: what the NICs and GPUs of this node do right now, and what of it is not normal."""

from __future__ import annotations

import io
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.check import check_form
from netkit.cli.output import OutputForm, OutputOption, emit
from netkit.cli.probing import require
from netkit.cli.snapshot import ProcfsOption, SysfsOption, node_of, node_sources
from netkit.cli.topo import show
from netkit.errors import ExitStatus, InputError
from netkit.model.units import parse_duration_seconds

if TYPE_CHECKING:
    from netkit.doctor.live import PortRates
    from netkit.model.node import NodeSnapshot
    from netkit.model.pulse import Pulse
    from netkit.report.blocks import Block

_SHORTEST, _LONGEST = 0.1, 3600.0
Span = tuple["Pulse", "Pulse"]


def top(
    interval: Annotated[str, typer.Option("--interval", help="Time between two readings, such as 1s.")] = "1s",
    once: Annotated[bool, typer.Option("--once", help="One interval, then end.")] = False,
    snapshot: Annotated[
        list[Path] | None,
        typer.Option("--snapshot", help="Two recordings of one node, the earlier first.", metavar="FILE"),
    ] = None,
    sysfs: SysfsOption = None,
    procfs: ProcfsOption = None,
    output: OutputOption = None,
) -> None:
    """How busy is each NIC, who is paused, what is lost, and is the GPU beside it waiting?

    Ends with 3 when there is no port to watch. Until interrupted; --output jsonl prints one line for each interval.

    Example: netkit top --once --output json
    """
    form = check_form(output)
    seconds = parse_duration_seconds(interval)
    require(_SHORTEST <= seconds <= _LONGEST, f"--interval {interval}", "0.1s to 1h")
    if snapshot:
        require(
            len(snapshot) == 2, f"--snapshot {len(snapshot)} times", "two recordings of one node, the earlier first"
        )
        spans: Iterator[Span] = iter([_recorded(snapshot[0], snapshot[1])])
    else:
        spans = _live(sysfs, procfs, seconds, once=once)
    ports = _watched(spans, form)
    raise typer.Exit(int(ExitStatus.OK if ports else ExitStatus.NOT_MEASURED))


def _watched(spans: Iterator[Span], form: OutputForm) -> int:
    """Show every span; return how many ports the last one had."""
    if form is OutputForm.TABLE and sys.stdout.isatty():
        return _on_a_screen(spans)
    ports = 0
    for before, after in spans:
        rows = _rates(before, after)
        ports = len(rows)
        if form in (OutputForm.JSON, OutputForm.JSONL):
            from netkit.report import top_json

            span = after.taken_at - before.taken_at
            emit(top_json.render(rows, after.taken_at, span, one_line=form is OutputForm.JSONL))
        else:
            show(_blocks(rows, before, after), form)
    return ports


def _on_a_screen(spans: Iterator[Span]) -> int:
    """Draw each span over the one before; what was drawn last stays when it ends."""
    ports = 0
    for before, after in spans:
        rows = _rates(before, after)
        ports = len(rows)
        emit(_HOME_AND_CLEAR + drawn(_blocks(rows, before, after), shutil.get_terminal_size().columns))
    return ports


_HOME_AND_CLEAR = "\x1b[H\x1b[2J"
"""ECMA-48: cursor home, erase the display; a screen is drawn whole, so nothing older shows through."""


def drawn(blocks: tuple[Block, ...], width: int) -> str:
    """Return the view as text: plain columns, which cost a tenth of a drawn grid, or a list where they do not fit."""
    from netkit.cli.tables import show as show_narrow
    from netkit.report.plain_text import plain_text

    text = plain_text(blocks)
    if max(map(len, text.splitlines()), default=0) <= width:
        return text
    narrow = io.StringIO()
    show_narrow(blocks, file=narrow, width=width)
    return narrow.getvalue()


def _rates(before: Pulse, after: Pulse) -> tuple[PortRates, ...]:
    from netkit.doctor.live import rates
    from netkit.doctor.thresholds import Thresholds

    return rates(before, after, Thresholds().pause_share)


def _blocks(rows: tuple[PortRates, ...], before: Pulse, after: Pulse) -> tuple[Block, ...]:
    from netkit.report import top_table

    return tuple(top_table.blocks(rows, after.taken_at - before.taken_at))


def _recorded(first: Path, second: Path) -> Span:
    pulses = [_pulse(node_of(path)) for path in (first, second)]
    if pulses[1].taken_at <= pulses[0].taken_at:
        raise InputError("recordings in the wrong order", "the earlier recording first, then the later one")
    return pulses[0], pulses[1]


def _pulse(node: NodeSnapshot) -> Pulse:
    from netkit.doctor.context import Wishes, context_of
    from netkit.doctor.live import pulse_of

    return pulse_of(node, context_of(node, Wishes()))


def _live(sysfs: Path | None, procfs: Path | None, seconds: float, *, once: bool) -> Iterator[Span]:
    from netkit.sources.pulse import PulseReader
    from netkit.sources.snapshot import read_node

    sources, now = node_sources(None, sysfs, procfs)
    first = _pulse(read_node(sources.tree, now, kernel=sources.kernel, drivers=sources.drivers))
    reader = PulseReader(sources, first)
    # The clock people read, without the jumps somebody may set it by: rates divide by differences of it.
    offset = time.time() - time.monotonic()
    try:
        before = reader.read(offset + time.monotonic())
        while True:
            time.sleep(seconds)
            after = reader.read(offset + time.monotonic())
            yield before, after
            before = after
            if once:
                return
    finally:
        reader.close()
