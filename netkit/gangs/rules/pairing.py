"""K03, K08, K11: the GPUs and NICs a pod was given belong together, as far as the API tells where they sit."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.alignment import Misaligned, misaligned
from netkit.gangs.devices import device_sources_of
from netkit.gangs.requests import requests
from netkit.gangs.view import GangRules, GangView, odd_ones
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.gang import Device, DeviceKind, Member

ALIGNED = Rule(
    id="K03",
    name="pod-alignment",
    severity=Severity.WARNING,
    question="Do the GPU and the NIC given to a pod share a PCIe switch, not only a NUMA node?",
    reads="ResourceClaims and ResourceSlices, Koordinator's annotation and Device objects",
    passes="every GPU has a NIC of its pod with the same PCIe switch or root",
    why="below one NUMA node there are several switches; traffic between them crosses the processor, at half the rate",
    remedy="ask for GPU and NIC together: a DRA claim with matchAttribute resource.kubernetes.io/pcieRoot, "
    "or Koordinator's device-joint-allocate with requiredScope SamePCIe",
    source="k8snetworkplumbingwg/sriov-network-operator issue 736; Azure AKS: 25 against 56 GB/s",
    caution="On GB300 with Data Direct NICs, GPU and NIC share no root by design.",
)
COUNT = Rule(
    id="K08",
    name="pod-nic-count",
    severity=Severity.CRITICAL,
    question="Does every member ask for the same devices?",
    reads="resources of the pods' containers and the devices they were given",
    passes="one number of GPUs and one number of NICs over the gang",
    why="NCCL builds rings over the NICs it finds; a member short of one slows or stops all",
    remedy="give all members the same resources in the job's template",
    source="google/dranet, NCCL topology search",
    caution="Members that do not train, such as a launcher, are left out only where they have no rank.",
)
PARTIAL = Rule(
    id="K11",
    name="pod-partial-node",
    severity=Severity.WARNING,
    question="Does a pod that holds a part of a node hold the NICs of its own GPUs?",
    reads="devices of the pod, and whether it holds as many NICs as GPUs",
    passes="a pod with NICs named in the API holds at least one near each of its GPUs",
    why="a pod of one GPU that was given any NIC of eight has one chance in eight of the right one",
    remedy="allot GPU and NIC together, see K03",
    source="Azure AKS, test with one GPU",
    caution="Pods that share all NICs of a node (rdma/…) choose for themselves and are not judged here.",
)


def _check(view: GangView) -> Iterator[Result]:
    yield from _aligned(view)
    yield from _counted(view)


def _aligned(view: GangView) -> Iterator[Result]:
    for member, _ in view.members():
        found = list(misaligned(member.devices))
        rule = PARTIAL if _few(member) else ALIGNED
        for one in found:
            yield rule.finding(member.pod, _sentence(one), f"GPU from {one.gpu.source}", *_places(one))
        if not found:
            yield _silent(member)
    if not any(_few(member) for member, _ in view.members()):
        yield PARTIAL.not_applicable("no member holds one device of a kind only")


def _few(member: Member) -> bool:
    return sum(device.kind is DeviceKind.GPU for device in member.devices) == 1


def _silent(member: Member) -> Result:
    rule = PARTIAL if _few(member) else ALIGNED
    if not device_sources_of(member.devices, DeviceKind.GPU, DeviceKind.NIC):
        return rule.incomplete(member.pod, "the API does not name both its GPUs and its NICs")
    placed = [device for device in member.devices if device.pcie_root or device.pcie_switch]
    if len(placed) < len(member.devices):
        return rule.incomplete(member.pod, "the API names its devices and not the PCIe switch of each")
    return rule.ok(member.pod, "each GPU has a NIC below its own switch")


def _sentence(one: Misaligned) -> str:
    nics = ", ".join(_name(nic) for nic in one.nics[:4])
    numa = {True: ", though one is on its NUMA node", False: ", nor on its NUMA node", None: ""}[one.same_numa]
    return f"GPU {_name(one.gpu)} shares no {one.by} with its NICs ({nics}){numa}"


def _places(one: Misaligned) -> Iterator[str]:
    for device in (one.gpu, *one.nics[:4]):
        place = device.pcie_switch or device.pcie_root
        numa = "?" if device.numa is None else device.numa
        yield f"{device.kind.value} {_name(device)}: {one.by} {place}, NUMA {numa}"


def _name(device: Device) -> str:
    return device.rdma or device.pci or device.id


def _counted(view: GangView) -> Iterator[Result]:
    asked = {member.pod: dict(_totals(pod_requests)) for member, pod_requests in _requests(view)}
    for kind in (DeviceKind.GPU, DeviceKind.NPU, DeviceKind.NIC):
        values = {pod: str(totals.get(kind, 0)) for pod, totals in asked.items()}
        if any(value != "0" for value in values.values()):
            yield from odd_ones(COUNT, f"number of {kind.value}s asked for", values)
    if not any(asked.values()):
        yield COUNT.not_applicable("no member asks for a device resource")


def _requests(view: GangView) -> Iterator[tuple[Member, list[tuple[str, DeviceKind, int]]]]:
    return ((member, list(requests(pod))) for member, pod in view.members())


def _totals(asked: list[tuple[str, DeviceKind, int]]) -> Iterator[tuple[DeviceKind, int]]:
    for kind in DeviceKind:
        total = sum(count for _, one, count in asked if one is kind)
        if total:
            yield kind, total


RULES = GangRules(id="pairing", rules=(ALIGNED, COUNT, PARTIAL), check=_check)
