"""What a node's NICs do right now, as one table: the rate against the line, pauses, congestion, losses, and flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.doctor.live import PortRates
from netkit.model.units import show_line_rate, show_percent
from netkit.report.blocks import Banner, Block, Cell, Column, Prose, Table, Tone

_COLUMNS = (
    *(Column(title="NIC"), Column(title="interface")),
    *(Column(title=title, numeric=True) for title in ("line", "receives", "sends", "of line")),
    *(Column(title=title, numeric=True) for title in ("paused by peer", "pauses peer")),
    *(Column(title=title, numeric=True) for title in ("marked/s", "notified/s", "slowed/s")),
    *(Column(title=title, numeric=True) for title in ("repeats/s", "drops/s", "errors/s")),
    *(Column(title="GPU"), Column(title="busy", numeric=True), Column(title="not normal")),
)
_NOT_KNOWN = "-"


def blocks(ports: Sequence[PortRates], seconds: float) -> Iterator[Block]:
    """Yield the view of one span of `seconds`."""
    yield _banner(ports)
    if ports:
        yield Table(
            title=f"over {seconds:.1f} s",
            columns=_COLUMNS,
            rows=tuple(map(_row, ports)),
            note=f"{_NOT_KNOWN}: not told",
        )
    else:
        yield Prose(text="no RDMA port carries training traffic", tone=Tone.MUTED)


def _banner(ports: Sequence[PortRates]) -> Banner:
    odd = [port for port in ports if port.flags]
    if odd:
        more = f"; {len(odd) - 1} more" if len(odd) > 1 else ""
        return Banner(word="ODD", text=f"{odd[0].name} {odd[0].flags[0]}{more}", tone=Tone.BAD)
    if not ports:
        return Banner(word="UNKNOWN", text="nothing to watch", tone=Tone.WARN)
    return Banner(word="NORMAL", text=f"{len(ports)} ports", tone=Tone.GOOD)


def _row(port: PortRates) -> tuple[Cell, ...]:
    loads = [show_line_rate(rate) if rate is not None else _NOT_KNOWN for rate in (port.received, port.sent)]
    events = (port.marked, port.notified, port.slowed, port.retries, port.drops, port.errors)
    load = port.load
    texts = (
        port.name,
        port.interface or _NOT_KNOWN,
        show_line_rate(port.line_rate) if port.line_rate else _NOT_KNOWN,
        *loads,
        _NOT_KNOWN if load is None else show_percent(load),
        _paused(port, received=True),
        _paused(port, received=False),
        *(
            _NOT_KNOWN if rate is None else f"{rate:.0f}" if rate == 0 or rate >= 10 else f"{rate:.1f}"
            for rate in events
        ),
        ",".join(port.gpus) or _NOT_KNOWN,
        _NOT_KNOWN if port.busy is None else show_percent(port.busy),
    )
    tone = Tone.BAD if port.flags else Tone.PLAIN
    return (*(Cell(text=text, tone=tone) for text in texts), Cell(text="; ".join(port.flags), tone=tone))


def _paused(port: PortRates, *, received: bool) -> str:
    """`3: 12%` for priority 3; the priorities that stood still at all."""
    known = [pause for pause in port.pauses if pause.received is received]
    moved = [pause for pause in known if pause.share > 0]
    if not known:
        return _NOT_KNOWN
    shown = (f"{'all' if one.priority is None else one.priority}: {show_percent(one.share)}" for one in moved)
    return " ".join(shown) or "0%"
