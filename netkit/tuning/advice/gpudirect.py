"""How far GPUDirect RDMA may reach, DMA-BUF, and the topology NCCL is told to believe."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.model.advice import ByHand, Target
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.job_variables import without

_LEVEL = "NCCL_NET_GDR_LEVEL"


def _level(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("E18", "G05")
    if not found:
        return
    if facts.context.environment.find(_LEVEL) is not None:
        yield from without(facts, [_LEVEL], said(found))
    else:
        why = f"{found[0].summary}: mend the pairing first; which level helps on this machine only measuring tells"
        yield Blank(subject=_LEVEL, why=why, variable=_LEVEL)


def _dma_buf(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("G01")
    if found and facts.context.environment.number("NCCL_DMABUF_ENABLE") == 0:
        yield from without(facts, ["NCCL_DMABUF_ENABLE"], said(found))


def _topology_file(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("E06")
    if found:
        yield from without(facts, ["NCCL_TOPO_FILE"], said(found))


def _unknown_speeds(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("T09")
    if found and facts.context.environment.find("NCCL_TOPO_FILE") is None:
        yield Proposal(
            setting="NCCL_TOPO_FILE",
            now="not set",
            proposed="a topology with true speeds",
            evidence=said(found),
            changes=(
                ByHand(
                    apply="netkit topo emit > topo.xml, correct link_speed and link_width of the devices named above, "
                    "and set NCCL_TOPO_FILE to it",
                    rollback="unset NCCL_TOPO_FILE",
                ),
            ),
        )


FAMILY = Family(
    id="gpudirect",
    recommendations=(
        Recommendation(
            id="nccl-gdr-level",
            target=Target.ENV,
            rules=("E18", "G05"),
            reason="a level beyond the default hides a bad pairing, one below it keeps GPUDirect from good ones",
            source="NVIDIA NCCL user guide, NCCL_NET_GDR_LEVEL; Azure AKS and MetaX guides for where SYS is right",
            effect="NCCL takes GPUDirect RDMA over the paths where it gains",
            risk="in a flattened virtual machine a level of SYS may be the right answer: see the other values",
            propose=_level,
        ),
        Recommendation(
            id="nccl-dma-buf",
            target=Target.ENV,
            rules=("G01",),
            reason="the job forbids DMA-BUF, and no peer-memory module is loaded in its place",
            source="NVIDIA NCCL user guide, NCCL_DMABUF_ENABLE",
            effect="GPUDirect RDMA, where driver and kernel offer DMA-BUF",
            risk="what it worked around may come back",
            propose=_dma_buf,
        ),
        Recommendation(
            id="nccl-topo-file",
            target=Target.ENV,
            rules=("E06",),
            reason="NCCL ignores bus ids that are not here, and plans with a machine that is another one",
            source="NVIDIA NCCL user guide, NCCL_TOPO_FILE; nccl issues 1303 and 820",
            effect="NCCL detects the machine it runs on",
            risk="inside a flattened virtual machine detection sees little: then write a right file (netkit topo emit)",
            propose=_topology_file,
        ),
        Recommendation(
            id="nccl-topo-speeds",
            target=Target.ENV,
            rules=("T09",),
            reason="NCCL plans with speeds that are not those of the links: the maximum, or Gen3 where none is shown",
            source="NVIDIA NCCL, src/graph/xml.cc; nccl issues 428 and 1519",
            effect="channels and NICs are chosen by what the links do",
            risk="mend the link first where it is the link (rules T06, T07); a file outlives the fault it describes",
            propose=_unknown_speeds,
        ),
    ),
)
