"""What a counter row is: a driver's name for a count, what it means, how wide it is, and the series it becomes.

Rows stand in `netkit/catalogue/counters/<driver or area>.py`, one table a file. Two drivers that count the same thing
share a stem, so that one alert watches both. Stems are node_exporter's where it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from netkit.catalogue.metrics import Kind, Metric
from netkit.model.counter import CounterForm, Overflow


class Way(StrEnum):
    """Which way what is counted went, seen from this node."""

    RX = "received"
    TX = "sent"
    HERE = "on this node"


RX, TX, HERE = Way.RX, Way.TX, Way.HERE
_PRIORITIES = 8
_BASE_UNITS = frozenset({"bytes", "seconds", "bits"})
LEVELS = frozenset({"objects", "percent"})
"""Units of what goes up and down; everything else only grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterRow:
    """One name in one driver."""

    name: str
    """As the driver spells it; `%d` stands for a priority."""
    stem: str
    """Of the series, without prefix and `_total`: `np_cnp_packets_sent`."""
    way: Way
    meaning: str
    form: CounterForm
    label: tuple[str, str] | None = None
    """What tells rows of one stem in one driver apart: `("operation", "read")`."""

    @property
    def numbered(self) -> bool:
        """Whether there is one for each priority."""
        return "%d" in self.name

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels beside the device's own."""
        return (*((self.label[0],) if self.label else ()), *(("priority",) if self.numbered else ()))

    def series(self, area: str = "") -> str:
        """The name of the series: `netkit_rdma_np_cnp_packets_sent_total` in the area `rdma_`."""
        return f"netkit_{area}{self.stem}" + ("" if self.level else "_total")

    @property
    def unit(self) -> str:
        """The base unit the series' name ends with, empty where a count has none."""
        unit = self.form.unit
        return unit if unit in _BASE_UNITS and self.stem.endswith(f"_{unit}") else ""

    @property
    def level(self) -> bool:
        """Whether it goes down again (a gauge)."""
        return self.form.unit in LEVELS

    @property
    def help(self) -> str:
        """One sentence that begins with unit and direction."""
        return f"{self.form.unit.capitalize()} {self.way}: {self.meaning}."


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterTable:
    """The rows of one driver or area; `id` is the name of its file."""

    id: str
    source: str
    """Where the names are defined."""
    drivers: tuple[str, ...] = ()
    """As `/sys/class/*/<device>/device/driver` names them; empty for what no driver owns."""
    hardware: tuple[CounterRow, ...] = ()
    """Files under `hw_counters/`, and the same names in RDMA netlink."""
    port: tuple[CounterRow, ...] = ()
    """Files under `counters/`."""
    statistics: tuple[CounterRow, ...] = ()
    """Those of `ethtool -S` that netkit exports."""


Listed = tuple[str, str, str, Way, str]
"""Name, stem, unit, direction, meaning."""


def rows(bits: int | None, *listed: Listed, overflow: Overflow = Overflow.WRAPS) -> tuple[CounterRow, ...]:
    """Make rows of one width; words of four bytes and microseconds are turned into bytes and seconds by `scaled`."""
    return tuple(
        CounterRow(name=name, stem=stem, way=way, meaning=meaning, form=_form(unit, bits, overflow))
        for name, stem, unit, way, meaning in listed
    )


def _form(unit: str, bits: int | None, overflow: Overflow) -> CounterForm:
    return CounterForm(unit=unit, bits=bits, overflow=Overflow.UNKNOWN if bits is None else overflow)


def scaled(factor: int, listed: tuple[CounterRow, ...]) -> tuple[CounterRow, ...]:
    """Return the rows with a factor from what the kernel prints to the unit of the row."""
    return tuple(replace(row, form=replace(row.form, factor=factor)) for row in listed)


def labelled(label: tuple[str, str], listed: tuple[CounterRow, ...]) -> tuple[CounterRow, ...]:
    """Return the rows with a label of their own."""
    return tuple(replace(row, label=label) for row in listed)


@cache
def tables() -> tuple[CounterTable, ...]:
    """Return every table of the folder."""
    from netkit.catalogue import counters

    names = sorted(module.name for module in iter_modules(counters.__path__))
    return tuple(import_module(f"{counters.__name__}.{name}").TABLE for name in names)


@cache
def hardware_rows(driver: str) -> MappingProxyType[str, CounterRow]:
    """Return what is known of a driver's `hw_counters`, by name."""
    return MappingProxyType({row.name: row for table in _of(driver) for row in table.hardware})


@cache
def port_rows() -> MappingProxyType[str, CounterRow]:
    """Return what is known of the files under `counters/`, which are the same for every driver."""
    return MappingProxyType({row.name: row for table in tables() for row in table.port})


@cache
def statistic_rows(driver: str) -> MappingProxyType[str, tuple[CounterRow, str]]:
    """Return the statistics of a driver that are exported, by name, with the priority in the name."""
    listed = [row for table in _of(driver) for row in table.statistics]
    return MappingProxyType({name: (row, number) for row in listed for name, number in _spelled(row)})


def _spelled(row: CounterRow) -> Iterator[tuple[str, str]]:
    numbers = (str(number) for number in range(_PRIORITIES)) if row.numbered else ("",)
    return ((row.name.replace("%d", number), number) for number in numbers)


def families(
    listed: Iterable[CounterRow], area: str, collector: str, labels: tuple[str, ...], privilege: str = ""
) -> dict[str, Metric]:
    """Return one family for each stem, by stem; the first row of a stem gives its help."""
    found: dict[str, Metric] = {}
    for row in listed:
        if row.stem not in found:
            found[row.stem] = Metric(
                name=row.series(area),
                kind=Kind.GAUGE if row.level else Kind.COUNTER,
                help=row.help,
                collector=collector,
                labels=(*labels, *row.labels),
                unit=row.unit,
                privilege=privilege,
            )
    return found


def _of(driver: str) -> Iterator[CounterTable]:
    return (table for table in tables() if driver in table.drivers)
