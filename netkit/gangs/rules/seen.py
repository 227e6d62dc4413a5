"""K15: what the API says a pod holds against what the pod itself sees, and which component is at fault."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.view import GangRules, GangView
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.gang import Device, DeviceKind, Member
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot

SEEN = Rule(
    id="K15",
    name="pod-declared-seen",
    severity=Severity.CRITICAL,
    question="Does every member see the devices that the API says it holds?",
    reads="devices from the API, against sysfs recorded inside the pod (--snapshot)",
    passes="every NIC and GPU with a PCI address that the API names is there, inside the pod",
    why="NCCL uses what it sees: a NIC that was promised and is not there sends its traffic another way",
    remedy="look at the component named: its log on that node, and the pod's events",
    source="Kubernetes KEP-4680 on device status; the Network Plumbing Working Group's network-status annotation",
    caution="A recording made on the host sees the devices of all its pods; record inside the pod.",
)
_FAULTY = {
    "status_fields": "the device plug-in (the kubelet confirms the device)",
    "dra": "the DRA driver (the claim is allocated)",
    "koordinator": "Koordinator's node agent (the scheduler allotted the device)",
    "hami": "HAMi's device plug-in (the scheduler allotted the device)",
    "volcano": "Volcano's device plug-in (the scheduler allotted the device)",
    "multus": "the CNI plug-in behind Multus (it reported the interface)",
    "katalyst": "Katalyst's node agent (the node resource lists the device)",
}


def _check(view: GangView) -> Iterator[Result]:
    if not view.seen:
        yield SEEN.not_applicable("no recording from inside its pods: give --snapshot", view.gang.key)
        return
    for member, _ in view.members():
        node = view.seen.get(member.uid)
        if node is None:
            yield SEEN.incomplete(member.pod, "no recording from inside this pod")
        else:
            yield from _compared(member, node)


def _compared(member: Member, node: NodeSnapshot) -> Iterator[Result]:
    declared = [device for device in member.devices if device.pci or device.rdma]
    if not declared:
        yield SEEN.incomplete(member.pod, "the API names no device of it by PCI address or RDMA name")
        return
    absent = [device for device in declared if not _there(device, node)]
    for device in absent:
        blamed = _FAULTY.get(device.source, device.source)
        what = f"{device.kind.value} {device.rdma or device.pci} is declared by {device.source} and not seen in the pod"
        yield SEEN.finding(member.pod, what, f"component at fault: {blamed}", remedy=f"look at {blamed} on that node")
    if not absent:
        yield SEEN.ok(member.pod, f"sees all {len(declared)} devices that the API names")


def _there(device: Device, node: NodeSnapshot) -> bool:
    if device.kind is DeviceKind.NIC and device.rdma:
        known = () if isinstance(node.rdma_devices, Missing) else node.rdma_devices
        if any(one.name == device.rdma or str(one.address) == device.pci for one in known):
            return True
    functions = () if isinstance(node.pci_devices, Missing) else node.pci_devices
    return device.pci is not None and any(str(one.address) == device.pci for one in functions)


RULES = GangRules(id="seen", rules=(SEEN,), check=_check)
