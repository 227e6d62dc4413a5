"""PCIe links of training devices and of the switches above them: speed and lanes now, against what both ends can do.

Linux Documentation/ABI/testing/sysfs-bus-pci (`current_link_*`, `max_link_*`); NVIDIA NCCL, src/graph/xml.cc.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.pci_index import lower_of
from netkit.model.check import Outcome, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciDevice
from netkit.topology.constants import pcie_lane_known

SPEED = Rule(
    id="T06",
    name="pcie-link-speed",
    severity=Severity.WARNING,
    question="Does every PCIe link on a GPU's or NIC's way run as fast as both of its ends can?",
    reads="current_link_speed and max_link_speed of the device and of the port above it",
    passes="the current speed is the lower of the two maxima",
    why="a link one generation down halves what the NIC can move, whatever its port says",
    remedy="reseat the card or riser, check the BIOS for a forced generation, update firmware; then compare again",
    source="leptonai/gpud's H100 recording: 16 of 16 alarms of tools that ignore the partner were false",
    caution="measured against the partner's capability, never the device's own alone; an idle GPU may lower its speed "
    "to save power, so a slow GPU link is incomplete until it is read under load",
    playbook="pcie-degraded",
)
WIDTH = Rule(
    id="T07",
    name="pcie-link-width",
    severity=Severity.WARNING,
    question="Does every PCIe link on a GPU's or NIC's way use as many lanes as both of its ends have?",
    reads="current_link_width and max_link_width of the device and of the port above it",
    passes="the current width is the lower of the two maxima",
    why="x8 instead of x16 halves the bandwidth; lanes drop out through dirt, a bent pin or a bad riser",
    remedy="reseat the card or riser, look for bifurcation in the BIOS; a lane that stays away wants another slot",
    source="PCI Express Base Specification 6.0, 4.2.7 (link width negotiation)",
    caution="a GPU keeps its width when idle, so unlike the speed the width is judged at once",
    playbook="pcie-degraded",
)
UNSEEN = Rule(
    id="T08",
    name="pcie-link-unseen-by-nccl",
    severity=Severity.WARNING,
    question="Is there a slow link that NCCL does not know of?",
    reads="the links of T06 and T07",
    passes="no NIC's or switch's link runs below its maximum",
    why="NCCL plans with the maximum of both ends, so it keeps a trained-down NIC in its rings at full share",
    remedy="mend the link; until then write its real speed into a topology file (NCCL_TOPO_FILE)",
    source="NVIDIA NCCL, src/graph/xml.cc (ncclTopoGetXmlFromSys reads max_link_speed and max_link_width)",
    caution="GPUs are left out: NCCL takes their current link from NVML",
    playbook="pcie-degraded",
)
KNOWN = Rule(
    id="T09",
    name="pcie-speed-known",
    severity=Severity.WARNING,
    question="Are link speeds such that NCCL understands them?",
    reads="max_link_speed of every GPU, NIC and switch on the way",
    passes="the speed is one of 2.5, 5, 8, 16, 32, 64 GT/s",
    why="NCCL takes an empty or unknown speed for 8 GT/s and plans with a quarter of a Gen5 link",
    remedy="a kernel that knows the speed, a hypervisor that shows it, or a topology file (netkit topo emit)",
    source="nccl issues 428 and 1519; NVIDIA NCCL, src/graph/xml.cc",
    caution="in a virtual machine a hidden speed is information: the topology file is the remedy there",
    playbook="gpu-nic-pairing",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every link of training devices from the device up to the root."""
    trainers = tuple(context.pci.trainers())
    if not trainers:
        for rule in (SPEED, WIDTH, UNSEEN, KNOWN):
            yield rule.not_applicable("no GPU and no RDMA NIC on PCI")
        return
    virtual = snapshot.host.virtual_machine is True
    for device in trainers:
        yield _known(context, device, virtual=virtual)
    links = tuple(context.pci.links())
    if not links:
        for rule in (SPEED, WIDTH, UNSEEN):
            yield rule.incomplete("node", "no port above any device is visible, so no link has two known ends")
        return
    for device in links:
        yield from _link(context, device)


def _link(context: Context, device: PciDevice) -> Iterator[Result]:
    speed = _compare(context, device, SPEED, "speed_gt_per_second", "GT/s")
    width = _compare(context, device, WIDTH, "width", "lanes")
    yield speed
    yield width
    if device in context.pci.gpus:
        return
    subject = context.pci.name(device.address)
    slow = [one for one in (speed, width) if one.outcome is Outcome.FINDING]
    if slow:
        said = "; ".join(one.summary for one in slow)
        yield UNSEEN.finding(subject, f"NCCL plans with the maximum although {said}")
    elif any(one.outcome is Outcome.INCOMPLETE for one in (speed, width)):
        yield UNSEEN.incomplete(subject, "speed or width is unknown")
    else:
        yield UNSEEN.ok(subject, "the link runs at what NCCL plans with")


def _compare(context: Context, device: PciDevice, rule: Rule, field: str, unit: str) -> Result:
    subject = context.pci.name(device.address)
    above = context.pci.parent(device)
    if above is None:
        return rule.incomplete(subject, "the port above it is not visible")
    now: float | Missing = getattr(device.current_link, field)
    best = lower_of((device.max_link, above.max_link), field)
    if isinstance(now, Missing):
        return rule.incomplete(subject, now)
    if isinstance(best, Missing):
        return rule.incomplete(subject, best)
    if now >= best:
        return rule.ok(subject, f"{now:g} {unit}, as both ends can")
    said = f"{now:g} of {best:g} {unit}"
    if rule is SPEED and device in context.pci.gpus:
        return rule.incomplete(subject, f"{said}; an idle GPU lowers its link, read it again under load")
    limits = f"{context.pci.name(above.address)} above can {getattr(above.max_link, field):g} {unit}"
    return rule.finding(subject, said, f"the device can {getattr(device.max_link, field):g} {unit}", limits)


def _known(context: Context, device: PciDevice, *, virtual: bool) -> Result:
    subject = context.pci.name(device.address)
    speed = device.max_link.speed_gt_per_second
    if isinstance(speed, Missing):
        if speed.reason not in {Reason.UNSUPPORTED, Reason.MALFORMED}:
            return KNOWN.incomplete(subject, speed)
        severity = Severity.INFO if virtual else None
        return KNOWN.finding(
            subject, "NCCL will plan with 8 GT/s: the speed is not shown", str(speed), severity=severity
        )
    if not pcie_lane_known(speed):
        return KNOWN.finding(subject, f"NCCL will plan with 8 GT/s: it does not know {speed:g} GT/s")
    return KNOWN.ok(subject, f"{speed:g} GT/s")


CHECK = NodeCheck(id="pcie_link", rules=(SPEED, WIDTH, UNSEEN, KNOWN), check=check, needs=("pci_devices",))
