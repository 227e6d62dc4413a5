"""The IOMMU in the way of a NIC's memory accesses.

Linux Documentation/ABI/testing/sysfs-kernel-iommu_groups (`type`), admin-guide/kernel-parameters (`iommu=`).
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciDevice

IOMMU = Rule(
    id="T13",
    name="iommu-passthrough",
    severity=Severity.WARNING,
    question="Does the IOMMU let GPUs and NICs reach memory without translating every address?",
    reads="/sys/class/iommu, the type of each training device's IOMMU group, the kernel command line",
    passes="the IOMMU is off, or the group's type is identity (passthrough)",
    why="translation costs the NIC bandwidth and sends GPU-NIC peer traffic through the root complex",
    remedy="boot with iommu=pt (and intel_iommu=on or amd_iommu=on where devices are passed to guests)",
    source="ROCm RCCL documentation; nccl-tests issue 115",
    caution="inside a virtual machine the host decides, so it is not judged; only devices on the data path count",
    playbook="pcie-degraded",
)
_OFF = frozenset({"iommu=off", "intel_iommu=off", "amd_iommu=off"})
_PASSTHROUGH = frozenset({"iommu=pt", "iommu.passthrough=1"})


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every GPU and NIC."""
    trainers = tuple(context.pci.trainers())
    if not trainers:
        yield IOMMU.not_applicable("no GPU and no RDMA NIC on PCI")
    elif snapshot.host.virtual_machine is True:
        yield IOMMU.not_applicable("a virtual machine: the host's IOMMU is not knowable from inside")
    elif snapshot.host.iommu_units == () or _asked(snapshot) & _OFF:
        yield IOMMU.ok(NODE, "the IOMMU is off")
    else:
        yield from (_device(snapshot, context, device) for device in trainers)


def _device(snapshot: NodeSnapshot, context: Context, device: PciDevice) -> Result:
    subject = context.pci.name(device.address)
    known = context.pci.capabilities.get(device.address)
    domain = None if known is None or isinstance(known.iommu_domain, Missing) else known.iommu_domain
    if domain == "identity":
        return IOMMU.ok(subject, "passthrough")
    if domain is not None:
        return IOMMU.finding(subject, f"every access is translated (domain type {domain})")
    if _asked(snapshot) & _PASSTHROUGH:
        return IOMMU.ok(subject, "the kernel was booted with passthrough")
    if isinstance(snapshot.host.iommu_units, Missing):
        return IOMMU.incomplete(subject, snapshot.host.iommu_units)
    return IOMMU.incomplete(subject, "the type of its IOMMU group is not shown")


def _asked(snapshot: NodeSnapshot) -> frozenset[str]:
    line = snapshot.host.command_line
    return frozenset() if isinstance(line, Missing) else frozenset(line)


CHECK = NodeCheck(id="iommu", rules=(IOMMU,), check=check, needs=("pci_devices",))
