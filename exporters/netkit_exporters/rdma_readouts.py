"""What is read of one RDMA device, file by file, and the series each becomes.

Order matters: mlx5 refreshes its cache only when the first registered counter is read, so that one comes first, and the
port's own counters, a firmware command each, come after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.catalogue.counter import CounterRow, hardware_rows, port_rows
from netkit.catalogue.metric_rows import rdma as rows
from netkit.model.counter import Overflow
from netkit.model.missing import Missing
from netkit.model.rdma import RdmaDevice, RdmaPort
from netkit.sources.attributes import names
from netkit.sources.counters import UNKNOWN_FORM
from netkit.sources.rdma import CLASS, MOST_COUNTERS, hw_counter_names
from netkit.sources.tree import Tree
from netkit_exporters.collecting import Sample
from netkit_exporters.readout import Readout, code_of_text, conversion, label, rate_of_text, scaled

_ETHERNET = "Ethernet"
_OF_INFINIBAND = frozenset(name for name, row in port_rows().items() if row.form.overflow is Overflow.STICKS)
"""Link and credit counters of InfiniBand, which stick when full; traffic counters are 64 bits wide."""
_SOFTWARE_DRIVER = "rdma_rxe"
_BORROWED_NAMES = "mlx5_core"
"""Vendors' own builds of other drivers use these names."""


def _row_of(name: str, driver: str | Missing) -> CounterRow | None:
    """Return what is known of a hardware counter; None for a name no driver of the catalogue has."""
    own = hardware_rows(driver if isinstance(driver, str) else _SOFTWARE_DRIVER)
    return own.get(name) or hardware_rows(_BORROWED_NAMES).get(name)


class DeviceCounters:
    """The readouts of one device's counters, made once and kept, for some of them remember what they read before."""

    def __init__(self, device: str, driver: str | Missing, unwrap: bool) -> None:
        self._device = device
        self._driver = driver
        self._unwrap = unwrap
        self._made: dict[tuple[str, str], Readout] = {}

    def hardware(self, name: str, port: str, path: str) -> Readout:
        """Return the readout of one of the driver's own counters."""
        return self._readout(_row_of(name, self._driver), name, port, path)

    def of_port(self, name: str, port: str, path: str) -> Readout:
        """Return the readout of a counter of the port's management agent."""
        return self._readout(port_rows().get(name), name, port, path)

    def _readout(self, row: CounterRow | None, name: str, port: str, path: str) -> Readout:
        if (port, path) not in self._made:
            self._made[port, path] = self._make(row, name, port, path)
        return self._made[port, path]

    def _make(self, row: CounterRow | None, name: str, port: str, path: str) -> Readout:
        named = (self._device, port, label(name))
        full = Sample(rows.SATURATED, named, 1.0)
        if row is None:
            return Readout(path, rows.UNKNOWN, named)
        metric, labels = rows.COUNTERS[row.stem], (self._device, port)
        own = isinstance(self._driver, Missing) or name in hardware_rows(self._driver) or name in port_rows()
        form = row.form if own else UNKNOWN_FORM
        return Readout(path, metric, labels, conversion(metric, labels, form, full, self._unwrap))


def ports_of(device: RdmaDevice) -> Sequence[RdmaPort]:
    """Return the ports of a device, none where they could not be listed."""
    return () if isinstance(device.ports, Missing) else device.ports


def device_readouts(
    tree: Tree, device: RdmaDevice, counters: DeviceCounters, asked: frozenset[int]
) -> Iterator[Readout]:
    """Plan the files of a device in the order that costs the firmware fewest commands.

    `asked` are the ports whose hardware counters come by netlink.
    """
    at = f"{CLASS}/{device.name}"
    yield from _hardware(tree, device.name, at, "", counters)
    for port in ports_of(device):
        number, place = str(port.number), f"{at}/ports/{port.number}"
        if port.number not in asked:
            yield from _hardware(tree, device.name, place, number, counters)
        for name in names(tree, f"{place}/counters")[:MOST_COUNTERS]:
            if port.link_layer != _ETHERNET or _says_something(tree, name, f"{place}/counters/{name}"):
                yield counters.of_port(name, number, f"{place}/counters/{name}")
        labels = (device.name, number)
        yield Readout(f"{place}/state", rows.STATE, labels, code_of_text(rows.STATE, labels))
        yield Readout(f"{place}/phys_state", rows.PHYSICAL_STATE, labels, code_of_text(rows.PHYSICAL_STATE, labels))
        yield Readout(f"{place}/rate", rows.RATE, labels, rate_of_text(rows.RATE, labels))


def _says_something(tree: Tree, name: str, path: str) -> bool:
    """Tell whether a port counter means anything on Ethernet: traffic does, errors of InfiniBand links once they count.

    Each of these files is a command to mlx5's firmware, and thirteen of them stay 0 there.
    """
    return name not in _OF_INFINIBAND or tree.read(path) != b"0\n"


def _hardware(tree: Tree, device: str, owner: str, port: str, counters: DeviceCounters) -> Iterator[Readout]:
    found = hw_counter_names(tree, owner)
    for name in found:
        yield counters.hardware(name, port, f"{owner}/hw_counters/{name}")
    if found and tree.exists(f"{owner}/hw_counters/lifespan"):
        labels = (device, port)
        yield Readout(f"{owner}/hw_counters/lifespan", rows.LIFESPAN, labels, scaled(rows.LIFESPAN, labels, 1e-3))
