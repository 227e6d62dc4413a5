"""Sizes and ordering of PCIe transfers on the GPU-NIC way.

PCI Express Base Specification 6.0, 7.5.3.4 (Device Control: Max_Payload_Size, Max_Read_Request_Size, relaxed ordering).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.pci_index import Pair
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress, PciDevice
from netkit.model.pci_capabilities import PciCapabilities

PAYLOAD = Rule(
    id="T15",
    name="pcie-max-payload",
    severity=Severity.WARNING,
    question="Do GPU, NIC and the switch ports between them use one maximal payload?",
    reads="Max_Payload_Size in Device Control of every function between a GPU and its NIC; needs root",
    passes="the value is the same on the whole way",
    why="the smallest one rules the way; a port with a smaller one than its neighbour refuses larger packets as errors",
    remedy="BIOS setting, or boot with pci=pcie_bus_safe (or pcie_bus_perf) so that the kernel sets one value",
    source="leptonai/gpud's healthy H100 recording: 256 bytes throughout, although NICs could 512 and switches 2048",
    caution="compared along the way, never with what a device could do: that would be 62 false alarms on that machine",
    playbook="pcie-degraded",
)
READ_REQUEST = Rule(
    id="T16",
    name="pcie-read-request",
    severity=Severity.WARNING,
    question="May every NIC ask for enough data at once?",
    reads="Max_Read_Request_Size in Device Control of the NICs; needs root",
    passes="512 bytes or more; 4096 is what large fleets set",
    why="a NIC that reads 128 bytes at a time waits for memory most of the time",
    remedy="setpci -s ADDRESS CAP_EXP+8.w=5000:7000 sets 4096 until the next reboot; then a NIC profile or udev rule",
    source="oracle-quickstart/oci-hpc (4096), NVIDIA network operator NIC profiles",
    caution="NICs only: switch ports read nothing themselves, so the 128 they show is of no account",
    playbook="pcie-degraded",
)
ORDERING = Rule(
    id="T17",
    name="pcie-relaxed-ordering",
    severity=Severity.WARNING,
    question="May NICs write to memory in relaxed order?",
    reads="the relaxed ordering bit in Device Control of the NICs, needs root; NCCL_IB_PCI_RELAXED_ORDERING",
    passes="the bit is on, and NCCL does not switch it off",
    why="with strict ordering one slow write holds up all behind it; under an IOMMU or in a guest the loss is large",
    remedy="BIOS: PCIe relaxed ordering on; leave NCCL_IB_PCI_RELAXED_ORDERING at its default",
    source="nccl issue 1205; Azure NDv4 and NDv5 settings",
    caution="the bit only permits; whether a driver marks its writes is its own business",
    playbook="pcie-degraded",
)


def check(_snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge payloads pair by pair, requests and ordering NIC by NIC."""
    if not context.pci.pairs:
        yield PAYLOAD.not_applicable("no GPU shares a PCIe switch with a NIC")
    for pair in context.pci.pairs:
        yield _payload(context, pair)
    if not context.pci.nics:
        yield READ_REQUEST.not_applicable("no RDMA NIC on PCI")
        yield ORDERING.not_applicable("no RDMA NIC on PCI")
    for nic in context.pci.nics:
        yield from _nic(context, nic)


def _payload(context: Context, pair: Pair) -> Result:
    subject = f"{context.pci.name(pair.gpu.address)} to {context.pci.name(pair.nic.address)}"
    found: dict[PciAddress, int] = {}
    for address in (pair.gpu.address, *pair.below, pair.nic.address):
        known = context.pci.capabilities.get(address)
        if known is None:
            return PAYLOAD.incomplete(subject, f"the configuration space of {address} was not read")
        if isinstance(known.max_payload_bytes, Missing):
            return PAYLOAD.incomplete(subject, known.max_payload_bytes)
        found[address] = known.max_payload_bytes
    if len(set(found.values())) == 1:
        return PAYLOAD.ok(subject, f"{found[pair.gpu.address]} bytes on the whole way")
    evidence = [f"{context.pci.name(address)}: {size} bytes" for address, size in found.items()]
    return PAYLOAD.finding(subject, f"between {min(found.values())} and {max(found.values())} bytes", *evidence)


def _nic(context: Context, nic: PciDevice) -> Iterator[Result]:
    subject = context.pci.name(nic.address)
    known = context.pci.capabilities.get(nic.address)
    if known is None:
        for rule in (READ_REQUEST, ORDERING):
            yield rule.incomplete(subject, "its configuration space was not read")
        return
    yield _request(context, subject, known.max_read_request_bytes)
    yield _ordering(context, subject, known)


def _request(context: Context, subject: str, size: int | Missing) -> Result:
    if isinstance(size, Missing):
        return READ_REQUEST.incomplete(subject, size)
    if size < context.thresholds.smallest_read_request_bytes:
        return READ_REQUEST.finding(subject, f"asks for {size} bytes at a time")
    return READ_REQUEST.ok(subject, f"{size} bytes")


def _ordering(context: Context, subject: str, known: PciCapabilities) -> Result:
    if context.environment.number("NCCL_IB_PCI_RELAXED_ORDERING") == 0:
        return ORDERING.finding(subject, "NCCL_IB_PCI_RELAXED_ORDERING=0 switches it off")
    if isinstance(known.relaxed_ordering, Missing):
        return ORDERING.incomplete(subject, known.relaxed_ordering)
    if not known.relaxed_ordering:
        return ORDERING.finding(subject, "the NIC may not relax the order of its writes")
    return ORDERING.ok(subject, "permitted")


CHECK = NodeCheck(id="payload", rules=(PAYLOAD, READ_REQUEST, ORDERING), check=check, needs=("pci_devices",))
