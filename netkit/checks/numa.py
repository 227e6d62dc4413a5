"""NUMA nodes of training devices.

Linux Documentation/ABI/testing/sysfs-bus-pci `numa_node`; NVIDIA NCCL, src/graph/xml.cc (a device's NUMA node is its
CPU).
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciDevice

NUMA = Rule(
    id="T05",
    name="numa-node",
    severity=Severity.WARNING,
    question="Does every GPU and NIC say which NUMA node it belongs to, and do the bridges above it agree?",
    reads="numa_node of the device and of every bridge above it; the NUMA nodes online",
    passes="the node is known and the same along the whole way up",
    why="NCCL hangs a device under the CPU its NUMA node names; a wrong or missing one makes near NICs look far",
    remedy="BIOS: SRAT and _PXM of the host bridge; virtual machine: pxb-pcie with a NUMA node, or a topology file",
    source="nccl-tests issue 256 (virtual machine without NUMA: 484 became 55 GB/s)",
    caution="on a machine with one NUMA node a missing number is harmless; in a virtual machine it is information, "
    "for the topology file is the remedy there",
    playbook="gpu-nic-pairing",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every GPU and NIC."""
    trainers = tuple(context.pci.trainers())
    if not trainers:
        yield NUMA.not_applicable("no GPU and no RDMA NIC on PCI")
    for device in trainers:
        yield _device(snapshot, context, device)


def _device(snapshot: NodeSnapshot, context: Context, device: PciDevice) -> Result:
    subject = context.pci.name(device.address)
    if isinstance(device.numa_node, Missing):
        return _unknown(snapshot, subject, device.numa_node)
    above = [context.pci.devices[bridge] for bridge in device.chain if bridge in context.pci.devices]
    others = {bridge.address: bridge.numa_node for bridge in above if not isinstance(bridge.numa_node, Missing)}
    strays = [f"{address} above it is on node {node}" for address, node in others.items() if node != device.numa_node]
    if strays:
        return NUMA.finding(subject, f"says NUMA node {device.numa_node}, the bridges above it say otherwise", *strays)
    return NUMA.ok(subject, f"NUMA node {device.numa_node}, as the {len(others)} bridges above it")


def _unknown(snapshot: NodeSnapshot, subject: str, why: Missing) -> Result:
    if snapshot.host.numa_nodes == "0":
        return NUMA.ok(subject, "unknown, and there is one NUMA node only")
    if isinstance(snapshot.host.numa_nodes, Missing):
        return NUMA.incomplete(subject, why)
    virtual = snapshot.host.virtual_machine is True
    said = f"no NUMA node, on a machine with nodes {snapshot.host.numa_nodes}"
    return NUMA.finding(subject, said, str(why), severity=Severity.INFO if virtual else None)


CHECK = NodeCheck(id="numa", rules=(NUMA,), check=check, needs=("pci_devices",))
