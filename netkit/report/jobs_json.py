"""Who uses which GPU and NIC right now, as JSON, schema `netkit.topo-jobs/1`: unknown as null."""

from __future__ import annotations

import json
from typing import Any

from netkit.model.missing import Missing
from netkit.report.topology_json import finding_document
from netkit.topology.running import JobProcess, RunningJobs
from netkit.topology.view import TopologyView

SCHEMA = "netkit.topo-jobs/1"


def render(jobs: RunningJobs, view: TopologyView, *, one_line: bool = False) -> str:
    """Return processes and verdicts as one JSON object, ending in a newline."""
    document = {
        "schema": SCHEMA,
        "processes": [_process(process) for process in jobs.processes],
        "gpus": [_gpu(jobs, view, number) for number in range(len(view.matrix.gpus))],
        "findings": [finding_document(finding) for finding in view.pairing.findings],
        "source": view.matrix.source,
        "notes": list(jobs.notes),
    }
    return json.dumps(document, ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"


def _process(process: JobProcess) -> dict[str, Any]:
    about = process.about
    return {
        "pid": process.pid,
        "name": process.name,
        "pod": about.pod if about and not isinstance(about.pod, Missing) else None,
        "gpus": list(process.gpus),
        "nics": [{"name": use.nic, "queue_pairs": use.queue_pairs, "minor": use.minor} for use in process.nics],
    }


def _gpu(jobs: RunningJobs, view: TopologyView, number: int) -> dict[str, Any]:
    gpu, pairing = view.matrix.gpus[number], view.pairing.gpus[number]
    predicted = next((list(choice.chosen) for choice in view.choices if choice.gpu == gpu.id), None)
    seen = gpu.id in jobs.used
    return {
        "id": gpu.id,
        "busid": str(gpu.address) if gpu.address else None,
        "pids": [process.pid for process in jobs.processes if gpu.id in process.gpus],
        "uses": list(jobs.used[gpu.id]) if seen else None,
        "predicted": predicted,
        "verdict": pairing.answer.value if seen else "unseen",
        "why": pairing.why if seen else "no process is seen to use RDMA for this GPU alone",
    }
