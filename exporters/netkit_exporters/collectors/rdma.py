"""RDMA devices, ports and counters: who is there, in what state, and everything the driver counts.

`hw_counters` come by RDMA netlink where it answers (one question a port), else from
`/sys/class/infiniband/<device>/ports/<n>/hw_counters`, the file that refreshes mlx5's cache first, so that all others
are answered from it. Linux Documentation/ABI/stable/sysfs-class-infiniband.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from netkit.catalogue.counter import tables
from netkit.catalogue.metric_rows import rdma as rows
from netkit.model.missing import Missing
from netkit.model.rdma import RdmaDevice
from netkit.sources.attributes import base_name
from netkit.sources.kept_files import KeptFiles
from netkit.sources.netlink.kernel import Kernel
from netkit.sources.netlink.nldev import read_device_indexes, read_port_counters
from netkit.sources.rdma import CLASS, is_virtual, read_frame
from netkit.sources.roster import Roster
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, Target
from netkit_exporters.expectation import expected_devices, named_platform
from netkit_exporters.pod_labels import maybe_with_pods
from netkit_exporters.rdma_readouts import DeviceCounters, device_readouts, ports_of
from netkit_exporters.readout import Readouts, label

_FRAME_EVERY = 60
"""Readings between two looks at what seldom changes: firmware, interface, link layer, what stands behind a name."""


class _Device:
    """One RDMA device; everything of it is read here, so that one that hangs costs no other anything."""

    def __init__(self, machine: Machine, name: str, expected_rate: float | None) -> None:
        self.key = name
        self._machine = machine
        self._expected_rate = expected_rate
        self._files = KeptFiles(machine.tree)
        self._kernel: Kernel | None = None
        self._index: int | None = None
        self._asked: tuple[int, ...] = ()
        self._counters: DeviceCounters | None = None
        self._readouts = Readouts(self._files, ())
        self._frame: tuple[Sample, ...] = ()
        self._readings = 0

    def read(self) -> Reading:
        """Read the device once."""
        if self._readings % _FRAME_EVERY == 0:
            self._look_around()
        self._readings += 1
        samples: list[Sample] = list(self._frame)
        faults: list[Missing] = []
        self._ask(samples, faults)
        self._readouts.read(samples, faults)
        return Reading(samples=samples, faults=faults)

    def lost_sight(self) -> bool:
        """Tell whether a file went away since the last call, so that this may be another device by now."""
        lost, self._files.lost_sight = self._files.lost_sight, False
        if lost:
            self._readings = 0
        return lost

    def close(self) -> None:
        """Let go of files and sockets."""
        self._files.close()
        close = getattr(self._kernel, "close", None)
        if close is not None:
            close()

    def _look_around(self) -> None:
        device = read_frame(self._machine.tree, self.key)
        self._frame = tuple(_frame(device, self._expected_rate))
        if self._counters is None:
            self._counters = DeviceCounters(self.key, device.driver, self._machine.options.get("unwrap") == "1")
            self._find_by_netlink(device)
        self._plan(device)

    def _plan(self, device: RdmaDevice) -> None:
        assert self._counters is not None
        wanted = tuple(device_readouts(self._machine.tree, device, self._counters, frozenset(self._asked)))
        if [readout.path for readout in wanted] != self._readouts.paths:
            self._readouts = Readouts(self._files, wanted)

    def _find_by_netlink(self, device: RdmaDevice) -> None:
        if self._machine.open_kernel is None:
            return
        self._kernel = self._machine.open_kernel()
        indexes = read_device_indexes(self._kernel)
        self._index = None if isinstance(indexes, Missing) else indexes.get(self.key)
        if self._index is not None:
            self._asked = tuple(port.number for port in ports_of(device))

    def _ask(self, samples: list[Sample], faults: list[Missing]) -> None:
        for number in self._asked:
            assert self._kernel is not None
            assert self._index is not None
            assert self._counters is not None
            found = read_port_counters(self._kernel, self._index, number, self.key)
            if isinstance(found, Missing):
                self._fall_back()
                return
            for name, value in found:
                where = f"rdma statistic {name} of {self.key}/{number}"
                gave = self._counters.hardware(name, str(number), where).samples(b"%d" % value)
                if isinstance(gave, Missing):
                    faults.append(gave)
                else:
                    samples += gave

    def _fall_back(self) -> None:
        """Read files from now on: some drivers' answers do not fit into one message."""
        self._asked = ()
        self._plan(read_frame(self._machine.tree, self.key))


def _frame(device: RdmaDevice, expected_rate: float | None) -> Iterator[Sample]:
    said = (device.board_id, device.firmware, device.hca_type, device.driver, device.address, device.node_guid)
    yield Sample(rows.INFO, (device.name, *map(_or_nothing, said)), 1.0)
    for port in ports_of(device):
        labels = (device.name, str(port.number))
        about = (port.netdev, port.link_layer, device.address)
        yield Sample(rows.PORT_INFO, (*labels, *map(_or_nothing, about)), 1.0)
        if expected_rate is not None:
            yield Sample(rows.EXPECTED, labels, 1.0)
            yield Sample(rows.EXPECTED_RATE, labels, expected_rate)


def _or_nothing(value: object) -> str:
    return "" if isinstance(value, Missing) else label(str(value))


class _Inventory:
    """Which devices there are; no device is touched."""

    key = "inventory"

    def __init__(self, expected: int | None, widths: bool) -> None:
        self._expected = expected
        self._with_widths = widths
        self._roster = Roster()
        self._widths: tuple[Sample, ...] = ()
        self._noted: Mapping[str, str | Missing] | None = None

    def note(self, present: Mapping[str, str | Missing]) -> None:
        """Take the names of this refresh with their drivers."""
        self._roster = self._roster.after(present)
        if present is not self._noted:
            self._noted = present
            drivers = {driver for driver in present.values() if isinstance(driver, str)}
            self._widths = tuple(_widths(drivers)) if self._with_widths else ()

    def read(self) -> Reading:
        """Count what the last look saw."""
        samples = [Sample(rows.DEVICES, (), float(len(self._roster.present))), *self._widths]
        if self._expected is not None:
            samples.append(Sample(rows.DEVICES_EXPECTED, (), float(self._expected)))
        samples += [Sample(rows.ABSENT, (name,), 1.0) for name in sorted(self._roster.absent)]
        return Reading(samples=samples)


def _widths(drivers: set[str]) -> Iterator[Sample]:
    for table in tables():
        for driver in sorted(drivers.intersection(table.drivers)):
            for row in table.hardware:
                if row.form.bits is not None and row.form.bits < 64:
                    yield Sample(rows.BITS, (driver, row.name), float(row.form.bits))


class _Rdma:
    """The devices of one machine, each with what tells it from the next one of the same name."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._platform = named_platform(machine.options)
        self._virtual = machine.options.get("virtual_functions") == "1"
        self._devices: dict[str, tuple[str, _Device]] = {}
        expected = self._platform.nics if self._platform else None
        self._inventory = _Inventory(expected, widths=machine.options.get("widths") == "1")
        self._listed: tuple[str, ...] = ()
        self._drivers: Mapping[str, str | Missing] = {}
        self._roll_calls = 0

    def targets(self) -> Sequence[Target] | Missing:
        """Return the inventory and the devices; Missing where the kernel has no InfiniBand class."""
        tree = self._machine.tree
        found = tree.list(CLASS)
        if isinstance(found, Missing):
            self._listed = ()
            return found
        lost_sight = [device.lost_sight() for _, device in self._devices.values()]
        if found != self._listed or any(lost_sight) or self._roll_calls % _FRAME_EVERY == 0:
            self._listed = found
            self._look_closely(found)
        self._roll_calls += 1
        self._inventory.note(self._drivers)
        return (self._inventory, *(device for _, device in self._devices.values()))

    def _look_closely(self, found: tuple[str, ...]) -> None:
        """See what stands behind each name: a link and a driver a device."""
        tree = self._machine.tree
        wanted = tuple(name for name in found if self._virtual or not is_virtual(tree, name))
        self._drivers = {label(name): base_name(tree, f"{CLASS}/{name}/device/driver") for name in wanted}
        here = {name: str(tree.link(f"{CLASS}/{name}")) for name in wanted}
        self._forget(here)
        self._meet(here)

    def _forget(self, here: Mapping[str, str]) -> None:
        for name, (identity, device) in tuple(self._devices.items()):
            if here.get(name) != identity:
                device.close()
                del self._devices[name]

    def _meet(self, here: Mapping[str, str]) -> None:
        if here.keys() <= self._devices.keys():
            return
        expected = expected_devices(self._machine.tree, tuple(here), self._platform)
        for name, identity in here.items():
            if name not in self._devices:
                self._devices[name] = (identity, _Device(self._machine, name, expected.get(name)))

    def close(self) -> None:
        """Let go of every device."""
        for _, device in self._devices.values():
            device.close()


COLLECTOR = Collector(
    id="rdma",
    question="What do RDMA devices and ports count, and are they all there, up and at full speed?",
    open=maybe_with_pods(_Rdma),
    metrics=rows.ROWS,
)
