"""Bridges of a hypervisor that claim an ancient link.

`2.5 GT/s x1` on a virtual bridge is only a number; it counts when the way from GPU to NIC crosses its uplink.
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.pci_index import is_bridge
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress, PciDevice

BRIDGE = Rule(
    id="T10",
    name="virtual-bridge",
    severity=Severity.WARNING,
    question="Does a way from GPU to NIC cross a bridge that NCCL takes for hopelessly slow?",
    reads="max_link_speed and max_link_width of the bridges above GPUs and NICs, and where their ways meet",
    passes="no GPU's nearest NIC lies behind the uplink of a bridge of at most 5 GT/s or one lane",
    why="NCCL plans 0.2 GB/s for such an uplink and routes everything around it, or over it",
    remedy="have the hypervisor put each GPU and its NIC below one virtual switch, or give NCCL a topology file",
    source="nccl issue 749 (harmful), IBM's published H100 topology and nccl-tests issue 256 (harmless)",
    caution="harmless when GPU and NIC hang below the same bridge, because peer traffic turns before the uplink; "
    "that is answered with ok",
    playbook="gpu-nic-pairing",
)
_SLOWEST_REAL = 5.0


def check(_snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge GPU by GPU: the nearest NIC is the one with the longest common chain."""
    slow = frozenset(device.address for device in context.pci.devices.values() if _is_slow(device))
    if not context.pci.gpus or not context.pci.nics:
        yield BRIDGE.not_applicable("no GPU, or no RDMA NIC on PCI")
        return
    for gpu in context.pci.gpus:
        yield _gpu(context, gpu, slow)


def _gpu(context: Context, gpu: PciDevice, slow: frozenset[PciAddress]) -> Result:
    subject = context.pci.name(gpu.address)
    nearest = max(context.pci.nics, key=lambda nic: _common(gpu, nic))
    shared = _common(gpu, nearest)
    crossed = [bridge for one in (gpu, nearest) for bridge in one.chain[shared:] if bridge in slow]
    if crossed:
        said = f"the way to {context.pci.name(nearest.address)} crosses {', '.join(map(str, crossed))}"
        return BRIDGE.finding(subject, said, *(_links(context, bridge) for bridge in crossed))
    above = [bridge for bridge in gpu.chain if bridge in slow]
    if above:
        return BRIDGE.ok(subject, "a slow bridge stands above, and the way to the NIC turns below it")
    return BRIDGE.ok(subject, "no such bridge on the way")


def _common(one: PciDevice, other: PciDevice) -> int:
    if one.root != other.root:
        return 0
    pairs = zip(one.chain, other.chain, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one.chain), len(other.chain)))


def _is_slow(device: PciDevice) -> bool:
    speed, width = device.max_link.speed_gt_per_second, device.max_link.width
    if not is_bridge(device) or isinstance(speed, Missing):
        return False
    return speed <= _SLOWEST_REAL or width == 1


def _links(context: Context, address: PciAddress) -> str:
    link = context.pci.devices[address].max_link
    return f"{address}: {link.speed_gt_per_second:g} GT/s x{link.width}"


CHECK = NodeCheck(id="virtual_bridge", rules=(BRIDGE,), check=check, needs=("pci_devices",))
