"""What the kernel's log says about GPUs, NICs and modules.

`netkit.sources.kernel_log` names the wordings, `netkit.catalogue.xids` whom an XID is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

from netkit.catalogue.xids import XidClass, xid_class
from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.host import KernelEvent, KernelEventKind
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot

_LOG = "the kernel log of this boot; needs CAP_SYSLOG"
XID = Rule(
    id="S01",
    name="gpu-xid",
    severity=Severity.CRITICAL,
    question="Has a GPU reported a hardware fault in this boot?",
    reads=_LOG,
    passes="no XID that NVIDIA attributes to hardware, no SXid of an NVSwitch, no GPU that fell off the bus",
    why="a GPU after such an error computes wrongly, slowly or not at all, and takes its whole job along",
    remedy="drain the node, reset the GPU or reboot; the same XID again means service",
    source="NVIDIA Xid Errors; leptonai/gpud",
    caution="XIDs that a faulty program causes (13, 31, 43, 45, 68 and others) are information, the driver's own "
    "warnings; the log says when, not whether it is over",
    playbook="gpu-xid",
)
PEERMEM = Rule(
    id="G02",
    name="peermem-errors",
    severity=Severity.WARNING,
    question="Does the peer-memory module work with the RDMA stack that is loaded?",
    reads=_LOG,
    passes="no complaint of nvidia-peermem",
    why="after an update of one of the two, registration fails and NCCL stages everything through host memory",
    remedy="rebuild and reload nvidia_peermem against the RDMA stack in use; or rely on DMA-BUF",
    source="leptonai/gpud; nccl issues 1537 and 1939",
    caution="a message from before a reload stays in the log until the next boot",
    playbook="nccl-slow",
)
POWER = Rule(
    id="N06",
    name="nic-slot-power",
    severity=Severity.WARNING,
    question="Does every NIC get the power it wants from its slot?",
    reads=_LOG,
    passes="no message of insufficient power",
    why="the NIC throttles, or switches modules off",
    remedy="the auxiliary power cable, the slot's power limit in the BIOS, or another slot",
    source="leptonai/gpud; Linux drivers/net/ethernet/mellanox/mlx5/core/events.c",
    caution="printed once at start by some cards in slots that do not announce their power at all",
    playbook="rdma-port-speed",
)
HEAT = Rule(
    id="N07",
    name="module-temperature",
    severity=Severity.WARNING,
    question="Are NICs and their modules cool, and are modules readable?",
    reads=_LOG,
    passes="no high-temperature message and no module error",
    why="hot optics lose bits before they switch off",
    remedy="air flow, dust, a module of the right class; then exchange the module",
    source="leptonai/gpud; Linux drivers/net/ethernet/mellanox/mlx5/core/events.c",
    caution="the log says that it was hot, not that it is; netkit top and the module's own reading say now",
    playbook="rdma-bad-cable",
)
FIRMWARE = Rule(
    id="N15",
    name="nic-firmware-errors",
    severity=Severity.WARNING,
    question="Do NICs answer their driver, without firmware errors and stuck queues?",
    reads=_LOG,
    passes="no health report, no command timeout, no transmit timeout; syndromes of single commands are information",
    why="a NIC whose firmware hangs drops connections, and the job waits for its retries",
    remedy="firmware and driver update; a cold power cycle; then service",
    source="Linux drivers/net/ethernet/mellanox/mlx5/core/{health,cmd}.c, net/sched/sch_generic.c",
    caution="command syndromes are printed for harmless questions too, hence only information",
    playbook="rdma-device-missing",
)
FLAPS = Rule(
    id="N03",
    name="link-flaps",
    severity=Severity.WARNING,
    question="Do links stay up?",
    reads=_LOG + "; link_downed and carrier_down_count now and in the recording given by --since",
    passes="at most two losses of one interface in the log, none since the earlier reading",
    why="every loss stalls the job for its retries, and a flapping link is about to fail",
    remedy="clean and reseat, then exchange the module or cable; look at the other end's log too",
    source="leptonai/gpud, Azure/azurehpc-health-checks (six lost carriers in one log)",
    caution="an interface goes down and up when it is configured; counts since boot alone prove nothing",
    playbook="rdma-link-flapping",
)
_XID_SEVERITY = MappingProxyType(
    {
        XidClass.HARDWARE: Severity.CRITICAL,
        XidClass.DRIVER: Severity.WARNING,
        XidClass.APPLICATION: Severity.INFO,
    }
)


@dataclass(frozen=True, slots=True)
class _Watch:
    rule: Rule
    kinds: frozenset[KernelEventKind]
    weigh: Callable[[KernelEvent], Severity]


def _xid(event: KernelEvent) -> Severity:
    if event.kind is not KernelEventKind.XID:
        return Severity.CRITICAL
    return _XID_SEVERITY[XidClass.DRIVER if isinstance(event.code, Missing) else xid_class(event.code)]


def _hang(event: KernelEvent) -> Severity:
    return Severity.INFO if event.kind is KernelEventKind.MLX5_SYNDROME else Severity.WARNING


def _warn(_event: KernelEvent) -> Severity:
    return Severity.WARNING


_WATCHES = (
    _Watch(XID, frozenset({KernelEventKind.XID, KernelEventKind.SXID, KernelEventKind.GPU_LOST}), _xid),
    _Watch(PEERMEM, frozenset({KernelEventKind.PEERMEM}), _warn),
    _Watch(POWER, frozenset({KernelEventKind.SLOT_POWER}), _warn),
    _Watch(HEAT, frozenset({KernelEventKind.MODULE_TEMPERATURE, KernelEventKind.MODULE_ERROR}), _warn),
    _Watch(
        FIRMWARE,
        frozenset(
            {
                KernelEventKind.MLX5_HEALTH,
                KernelEventKind.MLX5_TIMEOUT,
                KernelEventKind.MLX5_SYNDROME,
                KernelEventKind.TRANSMIT_TIMEOUT,
            }
        ),
        _hang,
    ),
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge event by event, and link losses by interface."""
    events = snapshot.kernel_events
    if isinstance(events, Missing):
        for watch in _WATCHES:
            yield watch.rule.incomplete(NODE, events)
        yield FLAPS.incomplete(NODE, events)
        return
    for watch in _WATCHES:
        yield from _watched(watch, events)
    yield from _flaps(context, events)


def _watched(watch: _Watch, events: Iterable[KernelEvent]) -> Iterator[Result]:
    found = [event for event in events if event.kind in watch.kinds]
    if not found:
        yield watch.rule.ok(NODE, "nothing of the kind in the log")
    by_subject: dict[tuple[str, Severity], list[KernelEvent]] = {}
    for event in found:
        by_subject.setdefault((_subject(event), watch.weigh(event)), []).append(event)
    for (subject, severity), mine in by_subject.items():
        often = f" ({len(mine)} times, first and last below)" if len(mine) > 1 else ""
        lines = dict.fromkeys((_line(mine[0]), _line(mine[-1])))
        yield watch.rule.finding(subject, f"{_what(mine[-1])}{often}", *lines, severity=severity)


def _subject(event: KernelEvent) -> str:
    if not isinstance(event.address, Missing):
        return str(event.address)
    return NODE if isinstance(event.interface, Missing) else event.interface


def _what(event: KernelEvent) -> str:
    if event.kind in {KernelEventKind.XID, KernelEventKind.SXID} and not isinstance(event.code, Missing):
        return f"{'Xid' if event.kind is KernelEventKind.XID else 'SXid'} {event.code}"
    return event.kind.value.replace("-", " ")


def _line(event: KernelEvent) -> str:
    when = "" if isinstance(event.seconds_since_boot, Missing) else f"[{event.seconds_since_boot:.1f}] "
    return f"{when}{event.text}"


def _flaps(context: Context, events: Iterable[KernelEvent]) -> Iterator[Result]:
    downs: dict[str, list[KernelEvent]] = {}
    for event in events:
        if event.kind is KernelEventKind.LINK_DOWN:
            downs.setdefault(_link(event), []).append(event)
    for link, lost in downs.items():
        said = f"lost its link {len(lost)} times in this boot"
        if len(lost) > context.thresholds.flaps:
            yield FLAPS.finding(link, said, _line(lost[0]), _line(lost[-1]))
        else:
            yield FLAPS.ok(link, said)
    if not downs:
        yield FLAPS.ok(NODE, "no link was lost in this boot")


def _link(event: KernelEvent) -> str:
    return event.interface if not isinstance(event.interface, Missing) else _subject(event)


CHECK = NodeCheck(id="kernel_log", rules=(XID, PEERMEM, POWER, HEAT, FIRMWARE, FLAPS), check=check)
