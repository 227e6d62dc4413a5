"""What sysfs shows of a node to a device graph, the way NCCL builds its own.

NVIDIA NCCL, src/graph/xml.cc, ncclTopoGetXmlFromSys: NCCL takes every second bridge above a device (the upstream port
of a switch; downstream and root ports are passed over), the NUMA node of the device as its CPU, and the lower of the
maximal speed and width of a device and of the bridge above it, so a link trained down stays invisible to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from netkit.model.missing import Missing
from netkit.model.pci import PciAddress, PciDevice, PciLink
from netkit.model.topology import Cpu, Gpu, LinkKind, Nic, Topology, VertexKind
from netkit.topology.constants import LOCAL_BANDWIDTH, UNSTATED_NET_RATE, nvlink_bandwidth, pcie_bandwidth
from netkit.topology.draft import Draft

_ACCELERATOR_CLASSES = frozenset({0x0302, 0x0380, 0x1200})
_DISPLAY_CLASS = 0x0300
_GPU_VENDORS = frozenset({0x10DE, 0x1002})
_NVSWITCH = "nvs:0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaFunction:
    """One RDMA port on a PCI function. `rate` is bytes per second, Missing where the port does not say."""

    address: PciAddress
    name: str
    port: int = 1
    rate: float | Missing
    guid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFact:
    """What a driver says of one GPU beyond sysfs; `nvlinks` counts active links to switches."""

    index: int
    compute_capability: int | None = None
    nvlinks: int = 0


def topology_of(
    devices: Sequence[PciDevice],
    rdma: Sequence[RdmaFunction],
    source: str,
    gpus: Mapping[PciAddress, GpuFact] | None = None,
    processor: Cpu | None = None,
) -> Topology:
    """Return the graph of one node.

    `gpus` gives index, capability and NVLinks by address; without it accelerators are found by class and numbered by
    address. `processor` lends vendor, family and model to every NUMA node; None leaves inter-socket links unlimited.
    """
    builder = _Builder(devices, source, processor)
    builder.place_gpus(gpus or {})
    builder.place_nics(rdma)
    return builder.draft.finish()


class _Builder:
    def __init__(self, devices: Sequence[PciDevice], source: str, processor: Cpu | None) -> None:
        self.draft = Draft(source)
        self._devices = {device.address: device for device in devices}
        self._processor = processor

    def place_gpus(self, facts: Mapping[PciAddress, GpuFact]) -> None:
        found = sorted(address for address, device in self._devices.items() if is_gpu(device) or address in facts)
        for address in sorted(set(facts) - set(self._devices)):
            self.draft.lacks(f"gpu{facts[address].index} at {address} is not in sysfs")
        for number, address in enumerate(found):
            fact = facts.get(address, GpuFact(index=number))
            device = self._devices[address]
            key = self._place(device, VertexKind.GPU)
            self.draft.gpus.append(
                Gpu(
                    key=key,
                    id=f"gpu{fact.index}",
                    index=fact.index,
                    address=address,
                    numa=_numa(device),
                    compute_capability=fact.compute_capability,
                    bridged=self.draft.bridged(key),
                    root=device.root,
                )
            )
            self._connect_nvlinks(key, fact)

    def _connect_nvlinks(self, key: str, fact: GpuFact) -> None:
        if fact.nvlinks:
            if _NVSWITCH not in self.draft.kinds:
                self.draft.add(_NVSWITCH, VertexKind.NVSWITCH)
            bandwidth = fact.nvlinks * nvlink_bandwidth(fact.compute_capability)
            self.draft.join(key, _NVSWITCH, LinkKind.NVL, bandwidth, fact.nvlinks)

    def place_nics(self, rdma: Sequence[RdmaFunction]) -> None:
        """Ports are numbered by PCI address, as NCCL_IB_DEVICE_PCI_ORDER=1 does."""
        ordered = sorted(rdma, key=lambda one: (one.address, one.port, one.name))
        for index, function in enumerate(ordered):
            device = self._devices.get(function.address)
            if device is None:
                self.draft.lacks(f"{function.name} at {function.address} is not in sysfs")
                continue
            self._place_port(function, device, index)

    def _place_port(self, function: RdmaFunction, device: PciDevice, index: int) -> None:
        nic = f"pci:{device.address}"
        if nic not in self.draft.kinds:
            self._place(device, VertexKind.NIC)
        unique = all(known.name != function.name for known in self.draft.nics)
        name = function.name if unique else f"{function.name}:{function.port}"
        key = f"net:{name}"
        rate = self._rate(function)
        self.draft.add(key, VertexKind.NET)
        self.draft.join(nic, key, LinkKind.NET, rate or LOCAL_BANDWIDTH)
        self.draft.nics.append(
            Nic(
                key=key,
                name=name,
                index=index,
                members=(name,),
                address=device.address,
                numa=_numa(device),
                rate=rate,
                port=function.port,
                guid=function.guid,
                bridged=self.draft.bridged(nic),
                root=device.root,
            )
        )

    def _rate(self, function: RdmaFunction) -> float | None:
        if isinstance(function.rate, Missing):
            self.draft.problems.append(f"{function.name}: rate unknown ({function.rate})")
            return None
        if function.rate <= 0:
            self.draft.problems.append(f"{function.name}: rate {function.rate:g}; NCCL plans with 10 Gbit/s")
            return UNSTATED_NET_RATE
        return function.rate

    def _place(self, device: PciDevice, kind: VertexKind) -> str:
        parent = self._cpu(device)
        # Counted from the device: its downstream port is passed over, the upstream port above is the switch.
        switches = device.chain[-2::-2]
        for bridge in reversed(switches):
            key = f"pci:{bridge}"
            if key not in self.draft.kinds:
                self.draft.hang(key, VertexKind.SWITCH, parent, self._bandwidth(bridge), self._pci_id(bridge))
            parent = key
        key = f"pci:{device.address}"
        self.draft.hang(key, kind, parent, self._bandwidth(device.address))
        return key

    def _cpu(self, device: PciDevice) -> str:
        numa = _numa(device)
        key = f"cpu:/{-1 if numa is None else numa}"
        if key not in self.draft.kinds:
            self.draft.add(key, VertexKind.CPU)
            known = self._processor or Cpu(key=key, numa=numa)
            self.draft.cpus.append(replace(known, key=key, numa=numa))
        return key

    def _bandwidth(self, address: PciAddress) -> float:
        device = self._devices.get(address)
        if device is None:
            return pcie_bandwidth(None, 0)
        above = self._devices.get(device.chain[-1]) if device.chain else None
        ends = [device.max_link] + ([above.max_link] if above is not None else [])
        return pcie_bandwidth(_lowest_speed(ends), _lowest_width(ends))

    def _pci_id(self, address: PciAddress) -> int:
        device = self._devices.get(address)
        if device is None:
            return 0
        subsystem = (device.subsystem_vendor, device.subsystem_device)
        low = [0 if isinstance(part, Missing) else part for part in subsystem]
        return device.vendor << 48 | device.device << 32 | low[0] << 16 | low[1]


def is_gpu(device: PciDevice) -> bool:
    """Tell by class and vendor whether a function is an accelerator."""
    kind = device.class_code >> 8
    return device.vendor in _GPU_VENDORS and (kind in _ACCELERATOR_CLASSES or kind == _DISPLAY_CLASS)


def _numa(device: PciDevice) -> int | None:
    numa = device.numa_node
    return None if isinstance(numa, Missing) or numa < 0 else numa


def _lowest_speed(ends: Sequence[PciLink]) -> float | None:
    known = [end.speed_gt_per_second for end in ends if not isinstance(end.speed_gt_per_second, Missing)]
    return min(known, default=None)


def _lowest_width(ends: Sequence[PciLink]) -> int:
    known = [end.width for end in ends if not isinstance(end.width, Missing) and end.width > 0]
    return min(known, default=0)
