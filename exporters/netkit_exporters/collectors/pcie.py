"""PCIe between GPUs and NICs: speed and width of every link on the way to the root, errors at both ends.

`/sys/bus/pci/devices/<address>`: Linux Documentation/ABI/testing/sysfs-bus-pci, sysfs-bus-pci-devices-aer_stats. A
GPU lowers its link's speed when idle, so speed is judged under load; width never changes by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.catalogue.metric_rows import pcie as rows
from netkit.model.counter import Counter
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress, PciDevice
from netkit.sources.attributes import hexadecimal
from netkit.sources.pci import DEVICES, address_of, is_virtual_function, read_pci_device
from netkit.sources.pci_errors import read_pci_errors
from netkit.sources.tree import Tree
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, Target
from netkit_exporters.nics import told

_KINDS = {0x0200: "nic", 0x0207: "nic", 0x0300: "gpu", 0x0302: "gpu", 0x1200: "gpu"}
"""By base class and subclass: Ethernet and Infiniband controllers, display, 3D and processing accelerators."""
_LEAST_WIDTH = 4
"""What has fewer lanes, or no link of its own, is for administration."""
_TOTAL = "TOTAL_ERR_"
_TRANSFERS = 1e9


class _Endpoint:
    """One GPU or NIC, with the links between it and the root complex."""

    def __init__(self, tree: Tree, address: PciAddress, kind: str, shared: frozenset[PciAddress]) -> None:
        self.key = str(address)
        self._tree = tree
        self._address = address
        self._kind = kind
        self.shared = shared
        """Switch ports whose link another endpoint already tells about."""

    def read(self) -> Reading:
        """Read the function and what is above it."""
        device = read_pci_device(self._tree, self._address)
        if device is None:
            return Reading()
        faults: list[Missing] = []
        samples = [*self._links(device, faults), *self._errors(device, faults)]
        return Reading(samples=samples, faults=faults, state=told(faults, bool(samples)))

    def _links(self, device: PciDevice, faults: list[Missing]) -> Iterator[Sample]:
        """Each link is told at its lower end: every second function on the way down from the root port."""
        way = (*device.chain, device.address)
        for upper, lower in zip(way[::2], way[1::2], strict=False):
            if lower in self.shared:
                continue
            ends = [read_pci_device(self._tree, end) for end in (upper, lower)]
            kind = self._kind if lower == self._address else "switch"
            yield from _link([end for end in ends if end], (str(lower), kind), faults)

    def _errors(self, device: PciDevice, faults: list[Missing]) -> Iterator[Sample]:
        ends = {"endpoint": device.address} | ({"upstream": device.chain[-1]} if device.chain else {})
        for role, address in ends.items():
            found = read_pci_errors(self._tree, address)
            uncorrectable = [group for group in (found.nonfatal, found.fatal) if not isinstance(group, Missing)]
            yield from self._counted(role, "correctable", found.correctable, faults)
            if uncorrectable:
                counts = tuple(counter for group in uncorrectable for counter in group)
                yield from self._counted(role, "uncorrectable", counts, faults)

    def _counted(
        self, role: str, severity: str, counts: Sequence[Counter] | Missing, faults: list[Missing]
    ) -> Iterator[Sample]:
        if not isinstance(counts, Missing):
            yield from _counted((self.key, self._kind, severity, role), counts)
        elif counts.reason is not Reason.ABSENT:
            # Most functions simply have no error reporting.
            faults.append(counts)


def _link(ends: Sequence[PciDevice], labels: tuple[str, str], faults: list[Missing]) -> Iterator[Sample]:
    lower = ends[-1]
    speeds = [end.max_link.speed_gt_per_second for end in ends]
    widths = [end.max_link.width for end in ends]
    told_now = (
        (rows.SPEED, lower.current_link.speed_gt_per_second, _TRANSFERS),
        (rows.MAX_SPEED, _least(speeds), _TRANSFERS),
        (rows.WIDTH, lower.current_link.width, 1),
        (rows.MAX_WIDTH, _least(widths), 1),
    )
    for metric, value, factor in told_now:
        if isinstance(value, Missing):
            faults.append(value)
        else:
            yield Sample(metric, labels, value * factor)


def _least(values: Sequence[float | Missing]) -> float | Missing:
    known = [value for value in values if not isinstance(value, Missing)]
    return min(known) if known else values[-1]


def _counted(labels: tuple[str, ...], counts: Sequence[Counter]) -> Iterator[Sample]:
    types = [(counter.name, counter.raw) for counter in counts if isinstance(counter.raw, int)]
    totals = [count for name, count in types if name.startswith(_TOTAL)]
    single: dict[str, int] = {}
    for name, count in types:
        if not name.startswith(_TOTAL):
            single[name] = single.get(name, 0) + count
    yield Sample(rows.ERRORS, labels, float(sum(totals) if totals else sum(single.values())))
    for name, count in single.items():
        if count:
            yield Sample(rows.ERROR_TYPES, (*labels, name), float(count))


class _Pcie:
    """The GPUs and NICs of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._tree = machine.tree
        self._endpoints: dict[PciAddress, _Endpoint] = {}

    def targets(self) -> Sequence[Target] | Missing:
        """Return one target for each GPU and NIC; a link that several share is told by the first of them."""
        found = self._tree.list(DEVICES)
        if isinstance(found, Missing):
            return found
        here = {address: kind for name in found if (address := address_of(name)) and (kind := self._kind(address))}
        if here.keys() != self._endpoints.keys():
            self._endpoints = dict(self._met(here))
        return tuple(self._endpoints.values())

    def _kind(self, address: PciAddress) -> str:
        code = hexadecimal(self._tree, f"{DEVICES}/{address}/class")
        kind = "" if isinstance(code, Missing) else _KINDS.get(code >> 8, "")
        return "" if kind and is_virtual_function(self._tree, address) else kind

    def _met(self, here: dict[PciAddress, str]) -> Iterator[tuple[PciAddress, _Endpoint]]:
        told_about: set[PciAddress] = set()
        for address, kind in here.items():
            device = read_pci_device(self._tree, address)
            if device is None or not _of_interest(device):
                continue
            yield address, _Endpoint(self._tree, address, kind, frozenset(told_about))
            told_about.update(device.chain)

    def close(self) -> None:
        """Nothing stays open."""


def _of_interest(device: PciDevice) -> bool:
    width = device.max_link.width
    return not isinstance(width, Missing) and width >= _LEAST_WIDTH


COLLECTOR = Collector(
    id="pcie",
    question="Do the PCIe links between GPUs and NICs run at full speed and width, and without errors?",
    open=_Pcie,
    metrics=rows.ROWS,
    interval_seconds=15.0,
)
