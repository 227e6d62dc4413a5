"""The GID index: left to NCCL where NCCL finds the row by itself, a row every port has where it cannot."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.doctor.nic_ports import NicPort, gid_family
from netkit.model.advice import Target
from netkit.model.missing import Missing
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.job_variables import with_value, without

_VARIABLE = "NCCL_IB_GID_INDEX"
_BY_ITSELF = (2, 21, 0)


def _index(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("E04", "R02")
    if not found:
        return
    if not facts.context.environment.before(_BY_ITSELF):
        yield from without(facts, [_VARIABLE], said(found))
        return
    common = _common_rows([port for port in facts.context.ports if port.roce])
    if common:
        yield with_value(facts, _VARIABLE, str(min(common)), said(found), "this NCCL cannot find the row by itself")
    else:
        yield Blank(subject=_VARIABLE, why="no row is RoCE v2 and IPv4 on every port", variable=_VARIABLE)


def _common_rows(ports: list[NicPort]) -> set[int]:
    """Return the rows that hold a reachable IPv4 address of RoCE v2 on every port."""
    rows = [_rows(port) for port in ports]
    return set.intersection(*rows) if rows else set()


def _rows(port: NicPort) -> set[int]:
    table = port.port.gid_table
    gids = () if isinstance(table, Missing) else table.gids
    return {gid.index for gid in gids if gid.kind == "RoCE v2" and gid_family(gid) == 4}


FAMILY = Family(
    id="gid_index",
    recommendations=(
        Recommendation(
            id="nccl-gid-index",
            target=Target.ENV,
            rules=("E04", "R02"),
            reason="rows of GID tables move with addresses, interfaces and pods; NCCL finds the right one since 2.21",
            source="NVIDIA NCCL user guide, NCCL_IB_GID_INDEX; nccl issues 890, 1427, 1538 and 1573",
            effect="every port uses its own right row, also where tables differ",
            risk="several clouds publish a fixed row that is right on their images: see the other values",
            propose=_index,
        ),
    ),
)
