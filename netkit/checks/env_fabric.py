"""Settings that must fit the fabric and each other: GID index, queue pairs, timeouts, rails, NVLink domains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.job import JOB, not_given
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.units import show_duration

GID = Rule(
    id="E04",
    name="nccl-gid-index-set",
    severity=Severity.INFO,
    question="Does the job leave the GID index to NCCL, where NCCL can find it?",
    reads="NCCL_IB_GID_INDEX; the NCCL version given by --nccl, or the newest",
    passes="it is not set, or NCCL is older than 2.21",
    why="since 2.21 NCCL finds the row by address family and RoCE version; a fixed index breaks when rows move",
    remedy="unset NCCL_IB_GID_INDEX",
    source="NCCL user guide; nccl issues 890, 1427, 1573",
    caution="information: several clouds publish a fixed index that is right on their images",
)
QUEUES = Rule(
    id="E09",
    name="nccl-queue-pairs",
    severity=Severity.INFO,
    question="Do queue pairs and the way data is split over them fit together?",
    reads="NCCL_IB_QPS_PER_CONNECTION, NCCL_IB_SPLIT_DATA_ON_QPS",
    passes="splitting is asked for only with several queue pairs",
    why="with one queue pair splitting does nothing; with many, splitting small messages costs latency",
    remedy="set both, or neither",
    source="nccl issue 1401",
    caution="information: which pair is best is a matter of measurement",
)
MULTIPATH = Rule(
    id="R18",
    name="roce-entropy",
    severity=Severity.INFO,
    question="Do RoCE connections have enough flows for a fabric of many paths?",
    reads="NCCL_IB_QPS_PER_CONNECTION, NCCL_IB_ADAPTIVE_ROUTING; whether ports are RoCE",
    passes="more than one queue pair, or adaptive routing",
    why="one queue pair is one flow: two of them hashed onto one uplink share it for the whole job",
    remedy="NCCL_IB_QPS_PER_CONNECTION=4, or adaptive routing where NIC and switch have it",
    source="NCCL user guide; Meta's RoCE paper, SIGCOMM 2024; UCCL issue 153",
    caution="information: a rail with one switch has one path, and there more flows gain nothing",
    playbook="fabric-congestion",
)
BOND = Rule(
    id="N11",
    name="roce-bond",
    severity=Severity.WARNING,
    question="Do connections over a bonded NIC use both of its ports?",
    reads="bonding of the RoCE ports' interfaces; NCCL_IB_QPS_PER_CONNECTION",
    passes="the port is no bond, or at least two queue pairs are asked for",
    why="a bond places each flow on one port: with one queue pair a connection has half the bond",
    remedy="NCCL_IB_QPS_PER_CONNECTION=2 or more",
    source="nccl issue 1015 and pull request 2150, nccl-tests issues 191 and 265 (half the bandwidth)",
    caution="without a job's environment it is information: the default of one queue pair is presumed",
    playbook="nccl-slow",
)
PATIENCE = Rule(
    id="E10",
    name="nccl-patience",
    severity=Severity.WARNING,
    question="Does NCCL give up on a lost connection before the framework gives up on NCCL?",
    reads="NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT, TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC; defaults of the NCCL version",
    passes="4.096 us x 2^timeout x retries is above zero, finite, and below the watchdog (480 s by default)",
    why="the error that names the broken connection comes too late, and the watchdog's says only `timeout`",
    remedy="NCCL_IB_TIMEOUT=22 with NCCL_IB_RETRY_CNT=7 gives up after two minutes",
    source="NCCL user guide, NCCL_IB_TIMEOUT; PyTorch, ProcessGroupNCCL.hpp",
    caution="0 and 32 or more mean for ever",
    playbook="nccl-probe-failing",
)
RAILS = Rule(
    id="E08",
    name="nccl-cross-nic",
    severity=Severity.WARNING,
    question="May NCCL cross rails where it has to?",
    reads="NCCL_CROSS_NIC; node GUIDs of the RDMA ports",
    passes="it is not 0, or every port has a GUID of its own",
    why="with 0, ports that share a GUID count as one rail, and rings over dual-port cards fail or halve",
    remedy="unset NCCL_CROSS_NIC, which prefers one rail and crosses only when it gains",
    source="nccl issues 2097 and 2345",
    caution="0 is right on rail-only fabrics with single-port cards",
    playbook="nccl-slow",
)
DOMAIN = Rule(
    id="E11",
    name="nccl-nvlink-domain",
    severity=Severity.CRITICAL,
    question="Do settings of NVLink domains and of memory allocation fit together?",
    reads="NCCL_MNNVL_ENABLE, NCCL_CUMEM_ENABLE, NCCL_NVLS_ENABLE",
    passes="NVLink between nodes is not forced while cuMem allocation is off",
    why="NCCL_MNNVL_ENABLE=1 fails at start without cuMem; NVLink SHARP is silently lost without it",
    remedy="unset NCCL_CUMEM_ENABLE, or set NCCL_MNNVL_ENABLE=0",
    source="NCCL user guide, NCCL_MNNVL_ENABLE; k8s-dra-driver-gpu issues 213 and 892, nccl issue 2186",
    caution="whether the IMEX channel device is there is seen inside the pod only",
    playbook="nvlink",
)
_RULES = (GID, QUEUES, MULTIPATH, BOND, PATIENCE, RAILS, DOMAIN)
_ACK_SECONDS = 4.096e-6
_WATCHDOG_SECONDS = 480.0


def check(_snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge each setting beside the ones it must fit."""
    judges = {
        GID: _gid,
        QUEUES: _queues,
        MULTIPATH: _multipath,
        PATIENCE: _patience,
        RAILS: _rails,
        DOMAIN: _domain,
    }
    for rule, judge in judges.items():
        yield not_given(context, rule) or judge(context)
    yield from _bonds(context)


def _gid(context: Context) -> Result:
    index = context.environment.number("NCCL_IB_GID_INDEX")
    if index is None or index < 0 or context.environment.before((2, 21, 0)):
        return GID.ok(JOB, "left to NCCL" if index is None or index < 0 else "this NCCL cannot find the row by itself")
    return GID.finding(JOB, f"NCCL_IB_GID_INDEX={index}; NCCL would find the row by itself")


def _queues(context: Context) -> Result:
    split = context.environment.number("NCCL_IB_SPLIT_DATA_ON_QPS")
    pairs = _queue_pairs(context)
    if split == 1 and pairs == 1:
        return QUEUES.finding(JOB, "NCCL_IB_SPLIT_DATA_ON_QPS=1 with one queue pair does nothing")
    return QUEUES.ok(JOB, f"{pairs} queue pair{'s' if pairs > 1 else ''} a connection")


def _queue_pairs(context: Context) -> int:
    return context.environment.number("NCCL_IB_QPS_PER_CONNECTION") or 1


def _multipath(context: Context) -> Result:
    if not any(port.roce for port in context.ports):
        return MULTIPATH.not_applicable("no port is RoCE", JOB)
    if context.environment.number("NCCL_IB_ADAPTIVE_ROUTING") == 1:
        return MULTIPATH.ok(JOB, "adaptive routing is asked for")
    pairs = _queue_pairs(context)
    if pairs > 1:
        return MULTIPATH.ok(JOB, f"{pairs} queue pairs a connection")
    return MULTIPATH.finding(JOB, "one flow a connection: enough for one path, little for many")


def _bonds(context: Context) -> Iterator[Result]:
    bonds = [port for port in context.ports if port.netdev is not None and not isinstance(port.netdev.bond, Missing)]
    if not bonds:
        yield BOND.not_applicable("no training port is a bond")
    for port in bonds:
        if _queue_pairs(context) > 1:
            yield BOND.ok(port.name, f"{_queue_pairs(context)} queue pairs a connection")
        else:
            severity = None if context.environment.given else Severity.INFO
            yield BOND.finding(port.name, "a bond, and one queue pair a connection uses one port", severity=severity)


def _patience(context: Context) -> Result:
    settings = context.environment
    timeout, retries = settings.number("NCCL_IB_TIMEOUT"), settings.number("NCCL_IB_RETRY_CNT")
    if timeout is None:
        timeout = 18 if settings.before((2, 23, 0)) else 20
    retries = 7 if retries is None else retries
    watchdog = float(settings.number("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC") or _WATCHDOG_SECONDS)
    said = f"NCCL_IB_TIMEOUT {timeout}, NCCL_IB_RETRY_CNT {retries}"
    if timeout <= 0 or timeout >= 32:
        return PATIENCE.finding(JOB, f"{said}: NCCL never gives up")
    seconds = _ACK_SECONDS * 2**timeout * retries
    if retries <= 0:
        return PATIENCE.finding(JOB, f"{said}: the first lost packet ends the job")
    if seconds >= watchdog:
        return PATIENCE.finding(JOB, f"{said}: gives up after {show_duration(seconds)}, the watchdog is faster")
    return PATIENCE.ok(JOB, f"{said}: gives up after {show_duration(seconds)}")


def _rails(context: Context) -> Result:
    if context.environment.number("NCCL_CROSS_NIC") != 0:
        return RAILS.ok(JOB, "rails may be crossed")
    guids = [guid for port in context.ports if isinstance(guid := port.device.node_guid, str)]
    shared = sorted({guid for guid in guids if guids.count(guid) > 1})
    if shared:
        return RAILS.finding(JOB, f"NCCL_CROSS_NIC=0, and ports share the GUID {', '.join(shared)}")
    return RAILS.ok(JOB, "NCCL_CROSS_NIC=0, and every port has a GUID of its own")


def _domain(context: Context) -> Result:
    settings = context.environment
    if settings.number("NCCL_CUMEM_ENABLE") != 0:
        return DOMAIN.ok(JOB, "cuMem allocation is not switched off")
    forced = [name for name in ("NCCL_MNNVL_ENABLE", "NCCL_NVLS_ENABLE") if settings.number(name) == 1]
    if forced:
        return DOMAIN.finding(JOB, f"{', '.join(forced)}=1 needs what NCCL_CUMEM_ENABLE=0 switches off")
    return DOMAIN.ok(JOB, "cuMem allocation is off, and nothing that needs it is forced")


CHECK = NodeCheck(id="env_fabric", rules=_RULES, check=check, needs=("rdma_devices",))
