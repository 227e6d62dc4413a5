"""Does each GPU have the right NIC? The verdict of `netkit topo`, as series.

The device graph comes from sysfs alone; distances carry NCCL's names and order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.catalogue.metric_rows import topology as rows
from netkit.catalogue.platforms import Platform
from netkit.model.missing import Missing, Reason
from netkit.model.topology import GpuEnd, PairingAnswer
from netkit.sources.pci import DEVICES, read_pci_devices
from netkit.sources.rdma import CLASS, is_virtual, read_frame
from netkit.sources.tree import Tree
from netkit.topology.pcitree import RdmaFunction, topology_of
from netkit.topology.view import TopologyView, view_of_topology
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, State, Target
from netkit_exporters.expectation import named_platform
from netkit_exporters.readout import label

_ANSWERS = {PairingAnswer.OK: 1.0, PairingAnswer.MISPAIRED: 0.0}


class _Pairing:
    """All GPUs and NICs of one machine: a pairing is judged as a whole."""

    key = "pairing"

    def __init__(self, tree: Tree, platform: Platform | None) -> None:
        self._tree = tree
        self._platform = platform

    def read(self) -> Reading:
        """Judge once."""
        devices = read_pci_devices(self._tree)
        if isinstance(devices, Missing):
            return Reading(faults=(devices,), state=State.NO_DATA)
        topology = topology_of(devices, tuple(_rdma_functions(self._tree)), "this node")
        if not topology.gpus:
            nothing = Missing(reason=Reason.ABSENT, where=DEVICES, detail="no GPU among the PCI functions")
            return Reading(faults=(nothing,), state=State.NO_DATA)
        return Reading(samples=tuple(_samples(view_of_topology(topology, platform=self._platform))))


def _rdma_functions(tree: Tree) -> Iterator[RdmaFunction]:
    found = tree.list(CLASS)
    for name in () if isinstance(found, Missing) else found:
        device = None if is_virtual(tree, name) else read_frame(tree, name)
        if device is None or isinstance(device.address, Missing) or isinstance(device.ports, Missing):
            continue
        guid = None if isinstance(device.node_guid, Missing) else device.node_guid
        for port in device.ports:
            rate = port.rate.bytes_per_second
            yield RdmaFunction(address=device.address, name=device.name, port=port.number, rate=rate, guid=guid)


def _samples(view: TopologyView) -> Iterator[Sample]:
    ends = {gpu.id: gpu for gpu in view.matrix.gpus}
    for pairing in view.pairing.gpus:
        place = (label(pairing.gpu), _address(ends.get(pairing.gpu)))
        if pairing.answer in _ANSWERS:
            yield Sample(rows.OK, place, _ANSWERS[pairing.answer])
        yield from _distances(view, pairing.gpu, pairing.nearest, place)
    found = [finding.id for finding in view.pairing.findings]
    for name in dict.fromkeys(found):
        yield Sample(rows.FINDINGS, (name,), float(found.count(name)))
    if view.platform is not None:
        yield Sample(rows.PLATFORM, (view.platform.id,), 1.0)


def _distances(view: TopologyView, gpu: str, nearest: Sequence[str], place: tuple[str, str]) -> Iterator[Sample]:
    """Say how far; a machine that hides its PCIe tree has distances that mean nothing."""
    if view.matrix.hidden is not None:
        return
    reached = [(nic, reach.path) for nic in nearest if (reach := view.matrix.reach.get((gpu, nic)))]
    for nic, path in reached:
        yield Sample(rows.PATH, (place[0], label(nic), path.name), 1.0)
    if reached:
        yield Sample(rows.DISTANCE, place, float(min(path for _, path in reached)))


def _address(gpu: GpuEnd | None) -> str:
    return "" if gpu is None or gpu.address is None else str(gpu.address)


class _Topology:
    """The one target."""

    def __init__(self, machine: Machine) -> None:
        self._pairing = _Pairing(machine.tree, named_platform(machine.options))

    def targets(self) -> Sequence[Target] | Missing:
        """Return the pairing."""
        return (self._pairing,)

    def close(self) -> None:
        """Nothing stays open."""


COLLECTOR = Collector(
    id="topology",
    question="Does each GPU use the NIC that is nearest to it?",
    open=_Topology,
    metrics=rows.ROWS,
    interval_seconds=60.0,
    deadline_seconds=10.0,
)
