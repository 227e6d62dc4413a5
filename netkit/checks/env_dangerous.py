"""Settings that break results, switch RDMA off, or stay behind from debugging."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.catalogue.nccl_variables import nccl_variables
from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.job import JOB, not_given
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.node import NodeSnapshot
from netkit.model.units import show_size

CHUNK = Rule(
    id="E05",
    name="nccl-chunk-size",
    severity=Severity.CRITICAL,
    question="Is NCCL_CHUNK_SIZE small enough not to corrupt data?",
    reads="NCCL_CHUNK_SIZE of the job",
    passes="it is not set, 0, or below 1 MiB",
    why="from 1 MiB on NCCL sums wrong numbers without an error, or dies with Xid 31",
    remedy="unset NCCL_CHUNK_SIZE",
    source="nccl issues 1496, 2408 and 2409, pull request 2410",
    caution="the variable is not documented; smaller values were not reported to do harm",
    playbook="nccl-slow",
)
PROTOCOL = Rule(
    id="E22",
    name="nccl-forced-ll128",
    severity=Severity.WARNING,
    question="Does the job leave it to NCCL whether LL128 is safe here?",
    reads="NCCL_PROTO of the job",
    passes="LL128 is not named, or only excluded",
    why="on a platform whose way to the NIC does not keep 128-byte stores whole, LL128 corrupts data",
    remedy="unset NCCL_PROTO, or exclude protocols instead (NCCL_PROTO=^LL128)",
    source="NCCL user guide, NCCL_PROTO",
    caution="on platforms where NCCL would choose LL128 by itself it is safe: silence it with that reason",
    playbook="nccl-slow",
)
OFF = Rule(
    id="E07",
    name="nccl-transport-off",
    severity=Severity.WARNING,
    question="May NCCL use RDMA, peer-to-peer copies and shared memory?",
    reads="NCCL_IB_DISABLE, NCCL_NET, NCCL_P2P_DISABLE, NCCL_SHM_DISABLE; whether RDMA ports are there",
    passes="none of them switches off what the node has",
    why="one line left over from a debugging session costs most of the bandwidth",
    remedy="unset the variable",
    source="NCCL user guide",
    caution="P2P_DISABLE is right where ACS cannot be switched off and a guest owns the GPUs: silence it there",
    playbook="nccl-socket-fallback",
)
LEFT_OVER = Rule(
    id="E03",
    name="nccl-debugging-left",
    severity=Severity.INFO,
    question="Are settings for debugging and experiments gone?",
    reads="the job's NCCL variables",
    passes="none is of the kind NVIDIA's guide wants out of production",
    why="they keep NCCL from choosing, and what was right for one version and size is wrong for the next",
    remedy="unset it, or write down beside it which measurement wants it",
    source="NCCL user guide, `Debugging`",
    caution="information: platforms do publish such settings (NCCL_BUFFSIZE, NCCL_IB_QPS_PER_CONNECTION)",
)
_SWITCHES = {
    "NCCL_IB_DISABLE": ("1", "RDMA is off: TCP sockets carry the data"),
    "NCCL_P2P_DISABLE": ("1", "GPUs of one node no longer copy directly"),
    "NCCL_SHM_DISABLE": ("1", "ranks of one node that cannot copy directly use the network"),
}


def check(_snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge the dangerous ones, then what is merely left over."""
    for rule, judge in ((CHUNK, _chunk), (PROTOCOL, _protocol), (OFF, _off), (LEFT_OVER, _left_over)):
        unasked = not_given(context, rule)
        yield from [unasked] if unasked is not None else judge(context)


def _chunk(context: Context) -> Iterator[Result]:
    size = context.environment.number("NCCL_CHUNK_SIZE") or 0
    if size >= context.thresholds.nccl_chunk_bytes:
        yield CHUNK.finding(JOB, f"NCCL_CHUNK_SIZE is {show_size(size)}: results are silently wrong")
    else:
        yield CHUNK.ok(JOB, "not set" if size == 0 else show_size(size))


def _protocol(context: Context) -> Iterator[Result]:
    asked = context.environment.text("NCCL_PROTO") or ""
    names = {part.strip().lower() for group in asked.split(";") for part in group.rpartition(":")[2].split(",")}
    if "ll128" in names and "^" not in asked:
        yield PROTOCOL.finding(JOB, f"NCCL_PROTO={asked} allows LL128 whatever the platform")
    else:
        yield PROTOCOL.ok(JOB, "not forced")


def _off(context: Context) -> Iterator[Result]:
    settings = context.environment
    found = [
        OFF.finding(name, said, f"{name}={settings.text(name)}")
        for name, (value, said) in _SWITCHES.items()
        if (settings.text(name) or "").strip() == value and not (name == "NCCL_IB_DISABLE" and not context.all_ports)
    ]
    net = (settings.text("NCCL_NET") or "").strip()
    if net.lower() == "socket" and context.all_ports:
        found.append(OFF.finding("NCCL_NET", "TCP sockets carry the data although RDMA ports are there"))
    yield from found or [OFF.ok(JOB, "nothing is switched off")]


def _left_over(context: Context) -> Iterator[Result]:
    rows = nccl_variables()
    names = dict.fromkeys(
        one.name for one in context.environment.all() if one.name in rows and rows[one.name].debugging
    )
    if names:
        shown = [f"{name}={context.environment.text(name)}" for name in names]
        yield LEFT_OVER.finding(JOB, f"{len(names)} set: {', '.join(names)}", *shown)
    else:
        yield LEFT_OVER.ok(JOB, "none")


CHECK = NodeCheck(id="env_dangerous", rules=(CHUNK, PROTOCOL, OFF, LEFT_OVER), check=check)
