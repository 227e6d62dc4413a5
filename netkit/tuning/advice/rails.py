"""Rails and flows: crossing them, queue pairs of a bond, and how many paths a fabric has."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.model.advice import Target
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.job_variables import with_value, without

_QUEUE_PAIRS = "NCCL_IB_QPS_PER_CONNECTION"


def _crossing(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("E08")
    if found:
        yield from without(facts, ["NCCL_CROSS_NIC"], said(found))


def _bonds(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("N11")
    if found and facts.context.environment.given:
        yield with_value(facts, _QUEUE_PAIRS, "2", said(found))


def _paths(facts: Facts) -> Iterator[Blank]:
    for found in facts.findings("R18"):
        why = f"{found.summary}; how many paths the fabric has cannot be seen from a node: measure 1, 2 and 4"
        yield Blank(subject=_QUEUE_PAIRS, why=why, variable=_QUEUE_PAIRS)


FAMILY = Family(
    id="rails",
    recommendations=(
        Recommendation(
            id="nccl-cross-nic",
            target=Target.ENV,
            rules=("E08",),
            reason="ports that share a GUID look like one NIC, and NCCL_CROSS_NIC=0 then forbids ways it needs",
            source="nccl issues 2097 and 2345",
            effect="rings form; NCCL still prefers one rail where that is possible",
            risk="on rail-only fabrics with single-port cards 0 is right",
            propose=_crossing,
        ),
        Recommendation(
            id="nccl-bond-queue-pairs",
            target=Target.ENV,
            rules=("N11",),
            reason="a bond sends each connection's one queue pair over one of its ports",
            source="nccl issue 1015 and pull request 2150; nccl-tests issues 191 and 265 (half the bandwidth)",
            effect="both ports of the bond carry traffic: up to twice the bandwidth",
            risk="more queue pairs take memory of the NIC; on very large jobs measure it",
            propose=_bonds,
        ),
        Recommendation(
            id="nccl-queue-pairs",
            target=Target.ENV,
            rules=("R18",),
            reason="fabrics of many paths spread flows, not packets: one flow is one path",
            source="NVIDIA NCCL user guide; Meta's RoCE paper, SIGCOMM 2024",
            effect="less congestion on fabrics with equal-cost paths and no adaptive routing",
            risk="nothing is gained where there is one path",
            propose=_paths,
        ),
    ),
)
