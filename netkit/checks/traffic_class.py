"""NCCL's traffic classes beside the QoS chain: ECN bits, control messages, and who negotiates with the switch.

RFC 2474 and 3168: the traffic class is the whole ToS byte, DSCP in the upper six bits and ECN in the lower two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.job import JOB, not_given
from netkit.doctor.roce import intent_of
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.roce.qos import HostQos

BITS = Rule(
    id="R12",
    name="roce-ecn-bits",
    severity=Severity.INFO,
    question="Does NCCL_IB_TC mark packets as able to carry ECN?",
    reads="the low two bits of NCCL_IB_TC",
    passes="they are 1 or 2 (ECN-capable)",
    why="a switch drops instead of marking what is not ECN-capable, and congestion control never hears of it",
    remedy="add 2: 104 becomes 106",
    source="published settings differ: 106, OCI 41 and 105, GCP 52, AMD 104, HCCL 132",
    caution="information: some NICs set the bits themselves, which was not verified for all",
    playbook="ecn-cnp",
)
CONTROL = Rule(
    id="R13",
    name="nccl-control-class",
    severity=Severity.INFO,
    question="Do NCCL's control messages travel at least as well as its data?",
    reads="NCCL_IB_FIFO_TC, NCCL_IB_TC; the NIC's DSCP table",
    passes="NCCL_IB_FIFO_TC is not set, or its priority is not below that of the data",
    why="control messages return credit: when they wait, senders stand still",
    remedy="give them a high priority that PFC does not pause (GCP 84, AMD 192), or leave them with the data",
    source="NCCL user guide; GCP and AMD published settings",
    caution="information: priorities are compared as numbers, which is how strict scheduling orders them",
    playbook="qos-mismatch",
)
OWNER = Rule(
    id="R23",
    name="dcb-owner",
    severity=Severity.WARNING,
    question="Does one party only negotiate priorities with the switch?",
    reads="who runs DCBX for the interface (DCB netlink)",
    passes="the host or the firmware, not both",
    why="two of them undo each other's settings, minutes after somebody set them right",
    remedy="mlxconfig -d DEVICE set LLDP_NB_DCBX_P1=FALSE LLDP_NB_RX_MODE_P1=2, or stop lldpad",
    source="NVIDIA Cumulus LLDP notes; Linux include/uapi/linux/dcbnl.h",
    caution="which of the two is right is a matter of the fleet",
    playbook="qos-mismatch",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge the job's classes, then each interface's owner."""
    yield not_given(context, BITS) or _bits(context)
    yield not_given(context, CONTROL) or _control(context)
    yield from _owners(snapshot, context)


def _bits(context: Context) -> Result:
    wanted = intent_of(context.environment).traffic_class
    if not any(port.roce for port in context.ports):
        return BITS.not_applicable("no port is RoCE", JOB)
    if wanted is None:
        return BITS.ok(JOB, "NCCL_IB_TC is not set")
    if wanted & 3 in {1, 2}:
        return BITS.ok(JOB, f"NCCL_IB_TC {wanted} is ECN-capable")
    return BITS.finding(JOB, f"NCCL_IB_TC {wanted}: the ECN bits are {wanted & 3:02b}")


def _control(context: Context) -> Result:
    intent = intent_of(context.environment)
    if intent.control_class is None:
        return CONTROL.ok(JOB, "control messages travel with the data")
    found = (context.qos[port.name] for port in context.ports if port.roce)
    qos = next((one for one in found if isinstance(one, HostQos)), None)
    if qos is None:
        return CONTROL.not_applicable("no port is RoCE", JOB)
    control, data = qos.priority_of(intent.control_class >> 2), qos.priority_of(intent.dscp)
    if isinstance(control, Missing) or isinstance(data, Missing):
        return CONTROL.incomplete(JOB, control if isinstance(control, Missing) else "the DSCP table was not read")
    said = f"control messages on priority {control}, data on {data}"
    return CONTROL.finding(JOB, said) if control < data else CONTROL.ok(JOB, said)


def _owners(snapshot: NodeSnapshot, context: Context) -> Iterator[Result]:
    ports = [port for port in context.ports if port.roce and port.hardware]
    if not ports:
        yield no_ports(OWNER, snapshot) if not context.ports else OWNER.not_applicable("no port is RoCE hardware")
    for port in ports:
        link = snapshot.ethernet_link(port.port.netdev) if isinstance(port.port.netdev, str) else None
        dcb = snapshot.ethernet_links if link is None else link.bridging
        if link is None or isinstance(dcb, Missing) or isinstance(link.bridging, Missing):
            yield OWNER.incomplete(port.name, dcb if isinstance(dcb, Missing) else NODE)
        elif isinstance(link.bridging.negotiated_by, Missing):
            yield OWNER.incomplete(port.name, link.bridging.negotiated_by)
        else:
            yield _owner(port.name, link.bridging.negotiated_by)


def _owner(subject: str, owners: tuple[str, ...]) -> Result:
    said = ", ".join(owners) or "nobody"
    if {"host", "firmware"} <= set(owners):
        return OWNER.finding(subject, f"both negotiate: {said}")
    return OWNER.ok(subject, said)


CHECK = NodeCheck(id="traffic_class", rules=(BITS, CONTROL, OWNER), check=check)
