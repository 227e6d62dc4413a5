"""A node's topology as JSON, schema `netkit.topo/1`: addresses as text, bytes per second, unknown as null."""

from __future__ import annotations

import json
from typing import Any

from netkit.model.topology import DeviceMatrix, NicEnd, TopologyFinding
from netkit.topology.difference import Difference
from netkit.topology.nic_choice import Candidate, GpuChoice
from netkit.topology.view import TopologyView

SCHEMA = "netkit.topo/1"
DIFFERENCE_SCHEMA = "netkit.topo-diff/1"
EXPLAIN_SCHEMA = "netkit.topo-explain/1"


def render(view: TopologyView, *, one_line: bool = False) -> str:
    """Return the view as one JSON object, ending in a newline."""
    return _dump(document(view), one_line=one_line)


def document(view: TopologyView) -> dict[str, Any]:
    """Return the view as plain dicts and lists."""
    return {
        "schema": SCHEMA,
        "gpus": [_gpu(view, number) for number in range(len(view.matrix.gpus))],
        "findings": [finding_document(finding) for finding in view.pairing.findings],
        "source": view.matrix.source,
        "platform": view.platform.id if view.platform else None,
        "partial": view.matrix.partial,
        "problems": list(view.matrix.problems),
        "notes": list(view.notes),
    }


def _gpu(view: TopologyView, number: int) -> dict[str, Any]:
    gpu, pairing = view.matrix.gpus[number], view.pairing.gpus[number]
    effective = {one.name: one for choice in view.choices if choice.gpu == gpu.id for one in choice.candidates}
    near_first = sorted(view.matrix.nics, key=lambda nic: view.matrix.reach[gpu.id, nic.name].path)
    return {
        "id": gpu.id,
        "busid": str(gpu.address) if gpu.address else None,
        "numa": gpu.numa,
        "nics": [_nic(view.matrix, gpu.id, nic, effective.get(nic.name)) for nic in near_first],
        "chosen": list(pairing.used),
        "verdict": pairing.answer.value,
        "why": pairing.why,
    }


def _nic(matrix: DeviceMatrix, gpu: str, nic: NicEnd, effective: Candidate | None) -> dict[str, Any]:
    reach = matrix.reach[gpu, nic.name]
    return {
        "name": nic.name,
        "busid": str(nic.address) if nic.address else None,
        "path": reach.path.name,
        "bandwidth_bytes_per_second": reach.bandwidth,
        "nvidia_smi": reach.label,
        "effective_path": effective.effective.type.name if effective else None,
        "gpu_direct": effective.gdr if effective else None,
    }


def finding_document(finding: TopologyFinding) -> dict[str, Any]:
    """Return one finding as plain data."""
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "summary": finding.summary,
        "evidence": list(finding.evidence),
        "next": list(finding.next),
    }


def render_differences(found: tuple[Difference, ...], *, one_line: bool = False) -> str:
    """Return differences as one JSON object, ending in a newline."""
    rows = [{"subject": one.subject, "what": one.what, "before": one.before, "after": one.after} for one in found]
    return _dump({"schema": DIFFERENCE_SCHEMA, "differences": rows}, one_line=one_line)


def render_choice(choice: GpuChoice, verdict: str, why: str, *, one_line: bool = False) -> str:
    """Return the explanation of one GPU's choice as one JSON object, ending in a newline."""
    rows = [
        {
            "name": one.name,
            "members": list(one.members),
            "path": one.physical.type.name,
            "effective_path": one.effective.type.name,
            "bandwidth_bytes_per_second": one.effective.bandwidth,
            "gpu_direct": one.gdr,
            "relay": one.relay,
            "chosen": one.chosen,
            "links": [[link.source, link.target, link.kind.value, link.bandwidth] for link in one.effective.links],
        }
        for one in choice.candidates
    ]
    answer = {"schema": EXPLAIN_SCHEMA, "gpu": choice.gpu, "chosen": list(choice.chosen), "verdict": verdict}
    more = {"why": [*choice.why, why], "excluded": list(choice.excluded), "nics": rows}
    return _dump(answer | more, one_line=one_line)


def _dump(value: dict[str, Any], *, one_line: bool) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"
