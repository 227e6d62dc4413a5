"""GPUs as their driver shows them: NVLink, fabric manager, clocks, memory errors, PCIe under load.

NVML (nvml.h), AMD SMI, npu-smi through `netkit.sources`; a value the driver does not give is never judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.gpu import Gpu, Throttle
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot

NVLINK = Rule(
    id="T22",
    name="nvlink-down",
    severity=Severity.WARNING,
    question="Are all NVLinks of every GPU up?",
    reads="state of every link of every GPU, by NVML or nvidia-smi nvlink -s",
    passes="every link is active, and each GPU has as many as its siblings",
    why="NCCL plans with the GPU that has the fewest: one dead link slows all eight",
    remedy="reset the GPUs, restart the fabric manager, look for SXids; then service",
    source="Azure/azurehpc-health-checks (bad_nvlink_status)",
    caution="a GPU without NVLink at all is not judged; links of a partitioned machine are off on purpose",
    playbook="nvlink",
)
FABRIC = Rule(
    id="T23",
    name="nvswitch-fabric",
    severity=Severity.CRITICAL,
    question="Has the fabric manager admitted every GPU?",
    reads="fabric state and status of every GPU",
    passes="the state is completed and the status success",
    why="before that no CUDA program can use the GPU on an NVSwitch machine",
    remedy="systemctl status nvidia-fabricmanager; its version must be the driver's; look at its log",
    source="leptonai/gpud; NVIDIA Fabric Manager user guide",
    caution="GPUs without NVSwitch say `not supported` and are not judged",
    playbook="nvlink",
)
THROTTLE = Rule(
    id="S04",
    name="gpu-throttle",
    severity=Severity.WARNING,
    question="Does every GPU run at the clock it was asked for?",
    reads="throttle reasons of every GPU",
    passes="no hardware slowdown, no thermal reason, no power brake",
    why="the slowest GPU of a job sets its pace, and a hot one is slow for as long as the job runs",
    remedy="inlet temperature, fans, the power supply's brake signal; nvidia-smi -q -d PERFORMANCE",
    source="NVML, nvmlClocksEventReason*",
    caution="the software power cap is information: it is how GPUs at full load look",
    playbook="gpu-throttle",
)
MEMORY = Rule(
    id="S05",
    name="gpu-memory-errors",
    severity=Severity.CRITICAL,
    question="Is the memory of every GPU sound?",
    reads="uncorrected errors since the driver loaded, pending and failed row remaps",
    passes="none of them",
    why="an uncorrected error ends the process that meets it; a failed remap means the spare rows are used up",
    remedy="pending: reset the GPU when it is idle; failed, or errors that return: service",
    source="NVIDIA GPU memory error management",
    caution="remapped rows alone are the mechanism doing its work",
    playbook="gpu-xid",
)
SILENT = Rule(
    id="S06",
    name="gpu-silent",
    severity=Severity.CRITICAL,
    question="Does every GPU answer its driver?",
    reads="GPUs the driver lists, against those in the PCI tree",
    passes="every GPU of the PCI tree answers",
    why="a GPU that fell off the bus fails the next job that is given it",
    remedy="dmesg for Xid 79; a cold power cycle; then service",
    source="leptonai/gpud",
    caution="a driver that did not answer in time says nothing about the hardware: incomplete",
    playbook="gpu-missing",
)
UNDER_LOAD = Rule(
    id="S07",
    name="gpu-pcie-under-load",
    severity=Severity.WARNING,
    question="Does a busy GPU use its PCIe link in full?",
    reads="PCIe generation and lanes now and at most, utilisation",
    passes="at more than a tenth of utilisation both are at their maximum",
    why="the link carries everything between GPU and NIC; what T06 cannot say of an idle GPU shows here",
    remedy="reseat, then another slot; check the BIOS for a forced generation",
    source="NVML, nvmlDeviceGetCurrPcieLink*",
    caution="the maximum is what GPU and slot can do together, as the driver says",
    playbook="pcie-degraded",
)
_RULES = (NVLINK, FABRIC, THROTTLE, MEMORY, SILENT, UNDER_LOAD)
_BAD_THROTTLES = frozenset(
    {
        Throttle.HARDWARE_SLOWDOWN,
        Throttle.SOFTWARE_THERMAL,
        Throttle.HARDWARE_THERMAL,
        Throttle.HARDWARE_POWER_BRAKE,
    }
)
_BUSY = 0.1
_NO_NVSWITCH = frozenset({"not-supported", "not supported", "n/a"})


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every GPU that answered, then those that did not."""
    accelerators = snapshot.accelerators
    if not accelerators.inventories:
        unread = accelerators.nvidia
        for rule in _RULES:
            if context.pci.gpus and isinstance(unread, Missing):
                yield rule.incomplete(NODE, unread)
            else:
                yield rule.not_applicable("no GPU driver answers here")
        return
    usual = _usual_links(accelerators.gpus)
    for gpu in accelerators.gpus:
        subject = _name(context, gpu)
        yield _nvlink(gpu, subject, usual)
        yield from (judge(gpu, subject) for judge in _JUDGES)
    if not accelerators.gpus:
        yield from (rule.not_applicable("no GPU answered") for rule in _RULES if rule is not SILENT)
    yield from _silent(snapshot, context)


def _name(context: Context, gpu: Gpu) -> str:
    return f"gpu{gpu.index}" if isinstance(gpu.address, Missing) else context.pci.name(gpu.address)


def _usual_links(gpus: Iterable[Gpu]) -> int:
    counts = Counter(len(gpu.links) for gpu in gpus if not isinstance(gpu.links, Missing))
    return counts.most_common(1)[0][0] if counts else 0


def _nvlink(gpu: Gpu, subject: str, usual: int) -> Result:
    if isinstance(gpu.links, Missing):
        return NVLINK.incomplete(subject, gpu.links)
    if not usual:
        return NVLINK.not_applicable("no NVLink", subject)
    down = [str(link.index) for link in gpu.links if link.active is False]
    if down:
        return NVLINK.finding(subject, f"NVLink {', '.join(down)} down, {len(gpu.links) - len(down)} up")
    if len(gpu.links) < usual:
        return NVLINK.finding(subject, f"{len(gpu.links)} NVLinks, its siblings have {usual}")
    unknown = next((link.active for link in gpu.links if isinstance(link.active, Missing)), None)
    return NVLINK.ok(subject, f"{len(gpu.links)} up") if unknown is None else NVLINK.incomplete(subject, unknown)


def _fabric(gpu: Gpu, subject: str) -> Result:
    if isinstance(gpu.fabric, Missing):
        return FABRIC.not_applicable("the driver tells of no fabric", subject)
    state, status = gpu.fabric.state, gpu.fabric.status
    if isinstance(state, Missing):
        return FABRIC.incomplete(subject, state)
    if state in _NO_NVSWITCH:
        return FABRIC.not_applicable("no NVSwitch", subject)
    said = f"state {state}, status {status if isinstance(status, str) else 'not given'}"
    if state == "completed" and status == "success":
        return FABRIC.ok(subject, said)
    return FABRIC.finding(subject, said)


def _throttle(gpu: Gpu, subject: str) -> Result:
    if isinstance(gpu.throttle, Missing):
        return THROTTLE.incomplete(subject, gpu.throttle)
    bad = [reason.value for reason in gpu.throttle if reason in _BAD_THROTTLES]
    if bad:
        return THROTTLE.finding(subject, ", ".join(bad))
    if Throttle.SOFTWARE_POWER_CAP in gpu.throttle:
        return THROTTLE.finding(subject, "held at its power limit", severity=Severity.INFO)
    return THROTTLE.ok(subject, "at the clock it was asked for")


def _memory(gpu: Gpu, subject: str) -> Result:
    ecc = gpu.ecc
    asked = (ecc.uncorrected, ecc.remap_pending, ecc.remap_failed)
    known = [value for value in asked if not isinstance(value, Missing)]
    if ecc.remap_failed is True:
        return MEMORY.finding(subject, "a row could not be remapped")
    if isinstance(ecc.uncorrected, int) and ecc.uncorrected:
        return MEMORY.finding(subject, f"{ecc.uncorrected} uncorrected errors since the driver loaded")
    if ecc.remap_pending is True:
        return MEMORY.finding(subject, "a row waits to be remapped at the next reset", severity=Severity.WARNING)
    first = next((value for value in asked if isinstance(value, Missing)), None)
    return MEMORY.incomplete(subject, first) if first is not None and not known else MEMORY.ok(subject, "no errors")


def _under_load(gpu: Gpu, subject: str) -> Result:
    pcie, busy = gpu.pcie, gpu.utilisation.compute
    values = (pcie.generation, pcie.max_generation, pcie.width, pcie.max_width, busy)
    missing = next((value for value in values if isinstance(value, Missing)), None)
    if missing is not None or isinstance(busy, Missing):
        return UNDER_LOAD.incomplete(subject, missing or "utilisation is not known")
    if busy < _BUSY:
        return UNDER_LOAD.incomplete(subject, "idle: read it again under load")
    generation, most, lanes, most_lanes = values[:4]
    said = f"generation {generation} of {most}, {lanes} of {most_lanes} lanes, {busy:.0%} busy"
    full = (generation, lanes) == (most, most_lanes)
    return UNDER_LOAD.ok(subject, said) if full else UNDER_LOAD.finding(subject, said)


_JUDGES: tuple[Callable[[Gpu, str], Result], ...] = (_fabric, _throttle, _memory, _under_load)


def _silent(snapshot: NodeSnapshot, context: Context) -> Iterator[Result]:
    silent = snapshot.accelerators.silent
    for gpu in silent:
        subject = f"gpu{gpu.index}" if isinstance(gpu.address, Missing) else context.pci.name(gpu.address)
        yield SILENT.finding(subject, "lost, as its driver says") if gpu.lost else SILENT.incomplete(subject, gpu.why)
    answered = {gpu.address for gpu in snapshot.accelerators.gpus} | {gpu.address for gpu in silent}
    unknown = [gpu.address for gpu in context.pci.gpus if gpu.address not in answered]
    for address in unknown:
        yield SILENT.finding(context.pci.name(address), "in the PCI tree, unknown to its driver")
    if not silent and not unknown:
        yield SILENT.ok(NODE, f"{len(snapshot.accelerators.gpus)} GPUs answer")


CHECK = NodeCheck(id="gpu_health", rules=_RULES, check=check, needs=("pci_devices",))
