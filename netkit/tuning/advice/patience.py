"""How long NCCL waits for a lost peer, beside how long the framework waits for NCCL."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.model.advice import Target
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.job_variables import without

_VARIABLES = ("NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC")


def _timeouts(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("E10")
    if found:
        yield from without(facts, _VARIABLES, said(found))


FAMILY = Family(
    id="patience",
    recommendations=(
        Recommendation(
            id="nccl-patience",
            target=Target.ENV,
            rules=("E10",),
            reason="the three defaults fit each other: NCCL names the lost peer before the watchdog ends the job",
            source="NVIDIA NCCL user guide, NCCL_IB_TIMEOUT; PyTorch, ProcessGroupNCCL.hpp",
            effect="a lost link ends as an error that names it; short disturbances are survived",
            risk="a fabric that heals slowly may want 22, as OCI and IBM publish: see the other values",
            propose=_timeouts,
        ),
    ),
)
