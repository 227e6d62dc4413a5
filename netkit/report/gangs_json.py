"""Gangs as JSON, schema `netkit.gangs/1`: what is not known is null, with its reason beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from netkit.model.gang import Device, Evidence, Gang, Member, Workload
from netkit.model.missing import Missing

SCHEMA = "netkit.gangs/1"


def render(gangs: Sequence[Gang], incomplete: Iterable[Missing] = ()) -> str:
    """Return gangs as one JSON object, ending in a newline."""
    return dump(document(gangs, incomplete))


def render_lines(gangs: Sequence[Gang]) -> str:
    """Return one JSON object a gang and line."""
    return "".join(dump({"schema": SCHEMA} | gang_row(gang), one_line=True) for gang in gangs)


def document(gangs: Sequence[Gang], incomplete: Iterable[Missing] = ()) -> dict[str, Any]:
    """Return gangs as plain dicts and lists."""
    return {
        "schema": SCHEMA,
        "gangs": [gang_row(gang) for gang in gangs],
        "incomplete": [{"reason": one.reason.value, "where": one.where, "detail": one.detail} for one in incomplete],
    }


def gang_row(gang: Gang) -> dict[str, Any]:
    """Return one gang as plain dicts and lists."""
    return {
        "namespace": gang.namespace,
        "name": gang.name,
        "workload": _workload(gang.workload),
        "systems": list(gang.systems),
        "min_members": _known(gang.min_members),
        "total": _known(gang.total),
        "state": gang.state.value,
        "why": gang.why,
        "members": [_member(member) for member in gang.members],
        "evidence": [_evidence(one) for one in gang.evidence],
        "problems": list(gang.problems),
    }


def _workload(workload: Workload | None) -> dict[str, Any] | None:
    if workload is None:
        return None
    names = {"kind": workload.kind, "namespace": workload.namespace, "name": workload.name, "uid": workload.uid}
    return names | {"evidence": [_evidence(workload.evidence)]}


def _member(member: Member) -> dict[str, Any]:
    placement, rank = member.placement, member.rank
    return {
        "pod": member.pod,
        "namespace": member.namespace,
        "uid": member.uid,
        "phase": member.phase,
        "group": member.group or None,
        "node": placement.node if placement else None,
        "leaf": placement.leaf or None if placement else None,
        "domains": list(placement.domains) if placement else [],
        "rank": None if isinstance(rank, Missing) else rank.number,
        "rank_of": None if isinstance(rank, Missing) else rank.of.value,
        "devices": [_device(device) for device in member.devices],
        "evidence": [_evidence(one) for one in member.evidence],
    }


def _device(device: Device) -> dict[str, Any]:
    return {
        "kind": device.kind.value,
        "id": device.id,
        "pci": device.pci,
        "source": device.source,
        "container": device.container or None,
        "resource": device.resource or None,
        "numa": device.numa,
        "pcie_root": device.pcie_root or None,
        "pcie_switch": device.pcie_switch or None,
        "rdma": device.rdma or None,
        "interface": device.interface or None,
        "healthy": device.healthy,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "object": evidence.object,
        "field": evidence.field,
        "value": evidence.value,
        "system": evidence.system,
        "declared": evidence.declared,
    }


def _known(size: int | Missing) -> int | None:
    return None if isinstance(size, Missing) else size


def dump(value: dict[str, Any], *, one_line: bool = False) -> str:
    """Return JSON in ASCII, ending in a newline."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"
