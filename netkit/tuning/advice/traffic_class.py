"""NCCL_IB_TC and its likes: the class whose DSCP the NICs of this machine put on their lossless priority.

RFC 2474 and 3168: the class is the whole ToS byte, DSCP in the upper six bits and ECN in the lower two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netkit.doctor.roce import intent_of
from netkit.model.advice import Target
from netkit.model.missing import Missing
from netkit.roce.qos import DSCPS
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.interfaces import RocePort, lossless_priority, roce_ports
from netkit.tuning.job_variables import with_value, without

_CLASS, _CONTROL, _ASCEND = "NCCL_IB_TC", "NCCL_IB_FIFO_TC", "HCCL_RDMA_TC"
_CUSTOMARY_DSCP = 26
_ECN_CAPABLE = 2


def _data(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("R06", "R12")
    if not found or not facts.context.environment.given:
        return
    ports, meant = tuple(roce_ports(facts)), lossless_priority(facts)
    wanted = intent_of(facts.context.environment).traffic_class or 0
    if meant is None:
        yield from _with_ecn(facts, wanted)
        return
    dscp = wanted >> 2 if _served(ports, wanted >> 2, meant) else _dscp_of(ports, meant)
    if dscp is None:
        yield Blank(subject=_CLASS, why=f"no DSCP has priority {meant} on every NIC", variable=_CLASS)
    elif dscp != wanted >> 2 or facts.findings("R12"):
        shown = tuple(f"{one.interface}: DSCP {dscp} has priority {meant}, which PFC keeps lossless" for one in ports)
        yield with_value(facts, _CLASS, str(dscp << 2 | _ECN_CAPABLE), (*said(found), *shown[:2]))


def _with_ecn(facts: Facts, wanted: int) -> Iterator[Proposal | Blank]:
    """Nothing is lossless: only the ECN bits can be judged."""
    found = facts.findings("R12")
    if found:
        yield with_value(facts, _CLASS, str(wanted & 0xFC | _ECN_CAPABLE), said(found))


def _served(ports: tuple[RocePort, ...], dscp: int, meant: int) -> bool:
    """Tell whether most NICs put this DSCP on the lossless priority; those that do not are the odd ones."""
    if dscp not in DSCPS:
        return False
    return sum(one.qos.priority_of(dscp) == meant for one in ports) * 2 > len(ports)


def _dscp_of(ports: tuple[RocePort, ...], meant: int) -> int | None:
    """Return a DSCP with that priority on every NIC, 26 where it is one: most fabrics know it."""
    tables = [one.qos.dscp_to_priority for one in ports]
    known: list[Mapping[int, int]] = [table for table in tables if not isinstance(table, Missing)]
    shared = [dscp for dscp in DSCPS if known and all(table.get(dscp) == meant for table in known)]
    return _CUSTOMARY_DSCP if _CUSTOMARY_DSCP in shared else next(iter(shared), None)


def _control(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("R13")
    if found:
        yield from without(facts, [_CONTROL], said(found))


def _ascend(facts: Facts) -> Iterator[Proposal | Blank]:
    """HCCL wants a multiple of 4: the ECN bits are the driver's."""
    present = facts.context.environment.number(_ASCEND)
    if present is not None and present % 4:
        seen = (f"{_ASCEND}={present} is no multiple of 4",)
        yield with_value(facts, _ASCEND, str(present & 0xFC), seen)


FAMILY = Family(
    id="traffic_class",
    recommendations=(
        Recommendation(
            id="nccl-traffic-class",
            target=Target.ENV,
            rules=("R06", "R12"),
            reason="NCCL marks its packets itself (cma_roce_tos does not reach it), and this class gets the lossless "
            "priority of these NICs with ECN-capable packets",
            source="RFC 2474, RFC 3168; NVIDIA NCCL user guide, NCCL_IB_TC; nccl issue 378 (0.x GB/s without PFC)",
            effect="no drops where the fabric is lossless; congestion is marked before it pauses",
            risk="the switches must know the DSCP too (netkit check qos --switch); vendors publish other classes, each "
            "right on its own fabric",
            propose=_data,
        ),
        Recommendation(
            id="nccl-control-class",
            target=Target.ENV,
            rules=("R13",),
            reason="control messages return credit, and on a lower priority than the data senders wait for them",
            source="NVIDIA NCCL user guide, NCCL_IB_FIFO_TC",
            effect="credit travels at least as well as the data",
            risk="a high priority of their own is better still, where the fabric has one (GCP 84, AMD 192)",
            propose=_control,
        ),
        Recommendation(
            id="hccl-traffic-class",
            target=Target.ENV,
            rules=(),
            reason="HCCL takes a class that is a multiple of 4, DSCP in the upper six bits",
            source="hiascend.com, HCCL environment variables",
            effect="the class that was meant is in force",
            risk="switch and NPU must map the DSCP (hccn_tool -i N -dscp_to_tc)",
            propose=_ascend,
        ),
    ),
)
