"""The PCI tree of one node as rules walk it: who trains, who shares a switch, which ports lie between two devices.

PCI Express Base Specification 6.0, 6.12 (ACS): peer traffic turns at the switch both devices hang under, and only the
ports where the two ways part decide whether it may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress, PciDevice, PciLink
from netkit.model.pci_capabilities import NO_CAPABILITY, PciCapabilities
from netkit.topology.node import carries_rdma
from netkit.topology.pcitree import is_gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A GPU and a NIC under one PCIe switch, and the ports of that switch where their ways part."""

    gpu: PciDevice
    nic: PciDevice
    switch: PciAddress
    parting: tuple[PciAddress, ...]
    below: tuple[PciAddress, ...]
    """Every port strictly below the common switch on either way, the parting ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PciIndex:
    """Devices and capabilities by address; `gpus` and `nics` are those that take part in training."""

    devices: Mapping[PciAddress, PciDevice]
    capabilities: Mapping[PciAddress, PciCapabilities]
    gpus: tuple[PciDevice, ...]
    nics: tuple[PciDevice, ...]
    pairs: tuple[Pair, ...]
    names: Mapping[PciAddress, str]
    """What people call a device: `mlx5_0 (0000:1a:00.0)`."""

    def name(self, address: PciAddress) -> str:
        """Return the name people use for the device at `address`."""
        return self.names.get(address, str(address))

    def parent(self, device: PciDevice) -> PciDevice | None:
        """Return the port a device hangs at; None at the root, or where it was not read."""
        return self.devices.get(device.chain[-1]) if device.chain else None

    def trainers(self) -> Iterator[PciDevice]:
        """Yield every GPU and NIC that takes part in training."""
        yield from self.gpus
        yield from self.nics

    def links(self) -> Iterator[PciDevice]:
        """Yield the lower end of every link between a training device and the root, each once."""
        seen: set[PciAddress] = set()
        for device in self.trainers():
            ends = [device, *(self.devices[bridge] for bridge in reversed(device.chain) if bridge in self.devices)]
            for end in ends:
                if end.address not in seen and end.chain and not _inside_a_switch(end):
                    seen.add(end.address)
                    yield end


def _inside_a_switch(end: PciDevice) -> bool:
    """Tell whether a function is a downstream port, which hangs at its own switch's upstream port over no wire."""
    return is_bridge(end) and len(end.chain) % 2 == 0


def is_bridge(device: PciDevice) -> bool:
    """Tell whether a function is a PCI bridge: a root, upstream or downstream port."""
    return device.class_code >> 8 == 0x0604


def index_of(snapshot: NodeSnapshot) -> PciIndex:
    """Return the index of one node; empty where PCI could not be read."""
    found = () if isinstance(snapshot.pci_devices, Missing) else snapshot.pci_devices
    devices = {device.address: device for device in found}
    gpus = tuple(device for device in found if is_gpu(device))
    nics = tuple(_nics(snapshot, devices))
    return PciIndex(
        devices=devices,
        capabilities={one.address: one for one in snapshot.pci_capabilities},
        gpus=gpus,
        nics=nics,
        pairs=tuple(pair for gpu in gpus for nic in nics if (pair := pair_of(gpu, nic))),
        names=_names(snapshot, gpus),
    )


def _nics(snapshot: NodeSnapshot, devices: Mapping[PciAddress, PciDevice]) -> Iterator[PciDevice]:
    """RDMA devices' functions; where no RDMA class was read, functions whose driver carries RDMA."""
    if not isinstance(snapshot.rdma_devices, Missing):
        addresses = {one.address for one in snapshot.rdma_devices if not one.virtual_function}
        yield from (device for address, device in devices.items() if address in addresses)
        return
    yield from (device for device in devices.values() if carries_rdma(device))


def _names(snapshot: NodeSnapshot, gpus: Sequence[PciDevice]) -> dict[PciAddress, str]:
    names = {gpu.address: f"gpu{number} ({gpu.address})" for number, gpu in enumerate(gpus)}
    rdma = () if isinstance(snapshot.rdma_devices, Missing) else snapshot.rdma_devices
    return names | {one.address: f"{one.name} ({one.address})" for one in rdma if not isinstance(one.address, Missing)}


def pair_of(gpu: PciDevice, nic: PciDevice) -> Pair | None:
    """Return how two devices meet below one switch; None when they meet at a root port or higher."""
    if gpu.root != nic.root:
        return None
    common = [one for one, other in takewhile(lambda pair: pair[0] == pair[1], zip(gpu.chain, nic.chain, strict=False))]
    if len(common) < 2:  # the first of the chain is the root port, and peers below it meet in the CPU
        return None
    below = [chain[len(common) :] for chain in (gpu.chain, nic.chain)]
    return Pair(
        gpu=gpu,
        nic=nic,
        switch=common[-1],
        parting=tuple(dict.fromkeys(chain[0] for chain in below if chain)),
        below=tuple(dict.fromkeys(port for chain in below for port in chain)),
    )


def lower_of(ends: Sequence[PciLink], what: str) -> float | Missing:
    """Return the lower of both ends' `speed_gt_per_second` or `width`; Missing when one end does not say."""
    values: list[float] = []
    for end in ends:
        value: float | Missing = getattr(end, what)
        if isinstance(value, Missing):
            return value
        values.append(value)
    return min(values) if values else Missing(reason=Reason.ABSENT, where="pci", detail="no link")


def without(value: object) -> bool:
    """Tell whether a capability is missing because the function has none, which is an answer."""
    return isinstance(value, Missing) and value.detail == NO_CAPABILITY
