"""Settings that break results, switch transports off, or keep NCCL from choosing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from netkit.catalogue.nccl_variables import nccl_variables
from netkit.model.advice import Target
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.job_variables import profiled, without

_GUIDE = "NVIDIA NCCL user guide, Environment Variables"
_ON_PURPOSE = frozenset({"NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_ADAPTIVE_ROUTING"})
"""The guide calls them debugging; how many paths a fabric has is still nothing NCCL could find out."""


def _drops(rule: str, *names: str) -> Callable[[Facts], Iterator[Proposal | Blank]]:
    """Propose to unset these variables when the rule finds something."""

    def propose(facts: Facts) -> Iterator[Proposal | Blank]:
        found = facts.findings(rule)
        if found:
            yield from without(facts, names, said(found))

    return propose


def _transports(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("E07"):
        yield from without(facts, [found.subject], said([found]))


def _left_over(facts: Facts) -> Iterator[Proposal | Blank]:
    rows = nccl_variables()
    for found in facts.findings("E03"):
        names = [one.name for one in facts.context.environment.all() if one.name in rows and rows[one.name].debugging]
        loose = [name for name in names if name not in _ON_PURPOSE and not profiled(facts, name)]
        yield from without(facts, loose, said([found]))


FAMILY = Family(
    id="job_leftovers",
    recommendations=(
        Recommendation(
            id="nccl-chunk-size",
            target=Target.ENV,
            rules=("E05",),
            reason="from 1 MiB on NCCL sums wrong numbers without an error, or dies with Xid 31",
            source="nccl issues 1496, 2408 and 2409, pull request 2410",
            effect="results are right again",
            risk="none: the default is 0, NCCL's own choice",
            propose=_drops("E05", "NCCL_CHUNK_SIZE"),
        ),
        Recommendation(
            id="nccl-protocol",
            target=Target.ENV,
            rules=("E22",),
            reason="LL128 corrupts data where the way to the NIC does not keep 128-byte stores whole; NCCL knows where",
            source=f"{_GUIDE}, NCCL_PROTO",
            effect="NCCL takes LL128 where it is safe and faster",
            risk="NCCL may choose another protocol than the one that was measured",
            propose=_drops("E22", "NCCL_PROTO"),
        ),
        Recommendation(
            id="nccl-transport",
            target=Target.ENV,
            rules=("E07",),
            reason="a line left over from debugging keeps NCCL off the fastest way between two GPUs",
            source=_GUIDE,
            effect="RDMA, peer copies or shared memory carry the data again: often most of the bandwidth",
            risk="what it worked around may come back: run one job and read NCCL's log",
            propose=_transports,
        ),
        Recommendation(
            id="nccl-split",
            target=Target.ENV,
            rules=("E09",),
            reason="splitting each message over queue pairs needs more than one of them",
            source="nccl issue 1401",
            effect="none today; the setting no longer suggests one",
            risk="none",
            propose=_drops("E09", "NCCL_IB_SPLIT_DATA_ON_QPS"),
        ),
        Recommendation(
            id="nccl-nvlink-domain",
            target=Target.ENV,
            rules=("E11",),
            reason="multi-node NVLink and NVLS need the cuMem allocation that is switched off here",
            source=f"{_GUIDE}, NCCL_MNNVL_ENABLE; k8s-dra-driver-gpu issues 213 and 892, nccl issue 2186",
            effect="the job starts, and NVLink carries what it can",
            risk="cuMem needs an IMEX channel inside containers: without one the job fails at start",
            propose=_drops("E11", "NCCL_CUMEM_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_NVLS_ENABLE"),
        ),
        Recommendation(
            id="nccl-debugging",
            target=Target.ENV,
            rules=("E03",),
            reason="NVIDIA's guide wants it out of production: it keeps NCCL from choosing by size and version",
            source=f"{_GUIDE}, Debugging",
            effect="none is promised: measure before and after (netkit probe)",
            risk="a measurement may have wanted it: ask who set it",
            propose=_left_over,
        ),
    ),
)
