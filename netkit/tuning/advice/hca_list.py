"""NCCL_IB_HCA and NCCL_SOCKET_IFNAME: the compute NICs exactly, and an interface that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from netkit.doctor.context import Context
from netkit.doctor.nic_ports import training_ports
from netkit.model.advice import Target
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.job_variables import with_value, without

_LIST = "NCCL_IB_HCA"
_SAFE = re.compile(r"[A-Za-z0-9_.-]+")


def _hcas(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("N08", "N09", "N10", "T27")
    if not found:
        return
    names = _compute_nics(facts.context)
    if any(_compute_nics(fellow.context) != names for fellow in facts.fellows):
        yield Blank(subject=_LIST, why="nodes of the gang name their NICs differently: rename them first (rule J01)")
    elif names:
        yield with_value(facts, _LIST, "=" + ",".join(names), said(found))
    else:
        yield Blank(subject=_LIST, why="no RDMA port that is up can be told from storage and administration")


def _compute_nics(context: Context) -> list[str]:
    """Return the ports that are up and fast, near a GPU where the PCI tree says which are near."""
    fast = [port for port in training_ports(context.all_ports, None, context.thresholds) if port.active]
    near = {pair.nic.address for pair in context.pci.pairs}
    chosen = [port for port in fast if port.device.address in near] or fast
    return [port.name.replace("/", ":") for port in chosen if _SAFE.fullmatch(port.device.name)]


def _interface(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("E12")
    if found:
        yield from without(facts, ["NCCL_SOCKET_IFNAME"], said(found))


FAMILY = Family(
    id="hca_list",
    recommendations=(
        Recommendation(
            id="nccl-hca-list",
            target=Target.ENV,
            rules=("N08", "N09", "N10", "T27"),
            reason="only an exact list holds every compute NIC and nothing else: a name without a match is skipped "
            "silently, a prefix takes storage ports along",
            source="NVIDIA NCCL user guide, NCCL_IB_HCA; oracle-quickstart/oci-hpc publishes exact lists",
            effect="every GPU uses the NIC under its own switch",
            risk="nodes of another type have other names: one list serves nodes that are alike (see rule J01)",
            propose=_hcas,
        ),
        Recommendation(
            id="nccl-socket-interface",
            target=Target.ENV,
            rules=("E12",),
            reason="no interface that is up matches, so bootstrap cannot start; unset, NCCL looks for one that is",
            source="NVIDIA NCCL user guide, NCCL_SOCKET_IFNAME",
            effect="the job starts",
            risk="NCCL may take an interface other nodes cannot reach: then name the right one exactly, as =NAME",
            propose=_interface,
        ),
    ),
)
