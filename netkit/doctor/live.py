"""What a node does between two moments: rates against the line, pauses, congestion, losses, and what is not normal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from netkit.catalogue.pause_names import PauseMeasure, pause_counts
from netkit.doctor.context import Context
from netkit.doctor.counter_groups import (
    DISCARDS,
    EVERY,
    LINK_ERRORS,
    MARKED,
    NOTIFIED,
    RECEIVED,
    RETRIES,
    SENT,
    SLOWED,
)
from netkit.doctor.nic_ports import NicPort
from netkit.model.counter import Counter, CounterForm
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pulse import PortPulse, Pulse
from netkit.model.units import show_percent

_BUSY = 0.1
"""Below a tenth of the line nobody compares NICs."""
_BEHIND = 0.5
_SOME_A_SECOND = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseShare:
    """Fraction of the time a priority stood still; `received` when the peer stopped us, None for every priority."""

    priority: int | None
    received: bool
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRates:
    """One port between two moments. Bytes and events per second; None where no counter tells."""

    name: str
    interface: str | None
    active: bool
    line_rate: float | None
    received: float | None
    sent: float | None
    pauses: tuple[PauseShare, ...]
    marked: float | None
    notified: float | None
    slowed: float | None
    retries: float | None
    drops: float | None
    errors: float | None
    gpus: tuple[str, ...]
    busy: float | None
    flags: tuple[str, ...] = ()

    @property
    def load(self) -> float | None:
        """The busier direction as a fraction of the line."""
        known = [rate for rate in (self.received, self.sent) if rate is not None]
        return max(known) / self.line_rate if known and self.line_rate else None


def pulse_of(snapshot: NodeSnapshot, context: Context) -> Pulse:
    """Return everything of a snapshot that moves."""
    view = context.view
    pairings = () if isinstance(view, Missing) else view.pairing.gpus
    users: dict[str, list[str]] = {}
    for pairing in pairings:
        for nic in pairing.used:
            users.setdefault(nic, []).append(pairing.gpu)
    return Pulse(
        taken_at=snapshot.taken_at,
        ports=tuple(_pulse(snapshot, port, tuple(users.get(port.name, ()))) for port in context.ports),
        busy=utilisation(snapshot),
    )


def utilisation(snapshot: NodeSnapshot) -> dict[str, float | None]:
    """Return how busy each GPU is, by the name the topology gives it."""
    return {
        f"gpu{gpu.index}": None if isinstance(gpu.utilisation.compute, Missing) else gpu.utilisation.compute
        for gpu in snapshot.accelerators.gpus
    }


def _pulse(snapshot: NodeSnapshot, port: NicPort, gpus: tuple[str, ...]) -> PortPulse:
    rate = port.port.rate.bytes_per_second
    name = port.port.netdev if isinstance(port.port.netdev, str) else None
    netdev = snapshot.netdev(name) if name is not None else None
    link = snapshot.ethernet_link(name) if name is not None else None
    driver = netdev.driver if netdev is not None and isinstance(netdev.driver, str) else None
    groups = [port.port.counters, port.port.hw_counters]
    groups += [link.driver_statistics] if link is not None else []
    return PortPulse(
        name=port.name,
        interface=name,
        driver=driver,
        active=port.active,
        line_rate=None if isinstance(rate, Missing) else rate,
        gpus=gpus,
        counters=_values(group for group in groups if not isinstance(group, Missing)),
    )


def _values(groups: Iterable[Sequence[Counter]]) -> dict[str, int]:
    return {one.name: one.value for group in groups for one in group if isinstance(one.value, int) and _tells(one.name)}


def _tells(name: str) -> bool:
    return name in EVERY or "pause" in name or name.endswith("_discards")


def rates(before: Pulse, after: Pulse, pause_share: float) -> tuple[PortRates, ...]:
    """Return what each port did between two pulses; ports that were not there before are left out."""
    seconds = after.taken_at - before.taken_at
    if seconds <= 0:
        return ()
    old = {port.name: port for port in before.ports}
    found = [_rates(old[port.name], port, seconds, after) for port in after.ports if port.name in old]
    usual = median([load for one in found if one.active and (load := one.load) is not None] or [0.0])
    return tuple(_flagged(one, usual, pause_share) for one in found)


def _rates(old: PortPulse, new: PortPulse, seconds: float, after: Pulse) -> PortRates:
    grown = {name: value - old.counters[name] for name, value in new.counters.items() if name in old.counters}
    # A counter that went down was reset: it says nothing about this span.
    per_second = {name: more / seconds for name, more in grown.items() if more >= 0}
    busy = [value for gpu in new.gpus if (value := after.busy.get(gpu)) is not None]
    return PortRates(
        name=new.name,
        interface=new.interface,
        active=new.active,
        line_rate=new.line_rate,
        received=_first(per_second, RECEIVED),
        sent=_first(per_second, SENT),
        pauses=tuple(_pauses(new.driver, per_second)),
        marked=_first(per_second, MARKED),
        notified=_first(per_second, NOTIFIED),
        slowed=_first(per_second, SLOWED),
        retries=_sum(per_second, RETRIES),
        drops=_sum(per_second, DISCARDS),
        errors=_sum(per_second, LINK_ERRORS),
        gpus=new.gpus,
        busy=sum(busy) / len(busy) if busy else None,
    )


def _first(per_second: dict[str, float], names: Iterable[str]) -> float | None:
    return next((per_second[name] for name in names if name in per_second), None)


def _sum(per_second: dict[str, float], names: Iterable[str]) -> float | None:
    known = [per_second[name] for name in names if name in per_second]
    return sum(known) if known else None


def _pauses(driver: str | None, per_second: dict[str, float]) -> Iterator[PauseShare]:
    scaled = [
        Counter(name=name, raw=round(rate * _FINE), form=CounterForm())
        for name, rate in per_second.items()
        if "pause" in name
    ]
    for count in pause_counts(driver or "", scaled):
        if count.measure is PauseMeasure.SECONDS and count.received is not None:
            yield PauseShare(priority=count.priority, received=count.received, share=count.value / _FINE)


_FINE = 1000
"""Counters are whole numbers: rates go through them in thousandths."""


def _flagged(one: PortRates, usual: float, pause_share: float) -> PortRates:
    return replace(one, flags=tuple(_flags(one, usual, pause_share)))


def _flags(one: PortRates, usual: float, pause_share: float) -> Iterator[str]:
    if not one.active:
        yield "down"
        return
    for pause in one.pauses:
        if pause.share >= pause_share:
            way = "paused by its peer" if pause.received else "pausing its peer"
            which = "" if pause.priority is None else f" on priority {pause.priority}"
            yield f"{way}{which} {show_percent(pause.share)}"
    for what, rate in (("repeats", one.retries), ("drops", one.drops), ("bit errors", one.errors)):
        if rate is not None and rate >= (_SOME_A_SECOND if what == "repeats" else 1e-9):
            yield f"{what} {rate:.0f}/s" if rate >= 1 else f"{what} {rate:.2g}/s"
    load = one.load
    if load is not None and usual >= _BUSY and load < _BEHIND * usual:
        yield f"at {show_percent(load)}, its siblings at {show_percent(usual)}"
