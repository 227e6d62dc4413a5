"""A probe as JSON, schema `netkit.probe/1`: base units, missing numbers as null, ASCII only.

The form follows RFC 8259; it never holds NaN or Infinity, and a lone surrogate, which many readers refuse, is
spelled as a visible escape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from netkit.model.missing import Missing
from netkit.model.probe import (
    Fabric,
    GangReading,
    NoiseLevel,
    PlacementFinding,
    ProbedPod,
    ProbeFinding,
    ProbeReport,
    Reading,
    Round,
)
from netkit.report.probe_facts import finite

SCHEMA = "netkit.probe/1"

_SURROGATE = re.compile("[\ud800-\udfff]")


def render(report: ProbeReport) -> str:
    """Return the whole report as one JSON object, ending in a newline."""
    return json.dumps(_storable(document(report)), ensure_ascii=True, allow_nan=False, indent=1) + "\n"


def document(report: ProbeReport) -> dict[str, Any]:
    """Return the report as plain dicts and lists, keys in the order a reader wants them."""
    verdict = report.verdict
    return {
        "schema": SCHEMA,
        "verdict": verdict.answer.value,
        "why": verdict.why,
        "findings": [_finding(finding) for finding in verdict.findings],
        "rounds": len(report.rounds),
        "smallest_detectable_slowdown": verdict.smallest_detectable_slowdown,
        "not_seen": list(verdict.not_seen),
        "noise": [_noise(level) for level in verdict.noise],
        "placement": [_placement(finding) for finding in report.placement],
        "gang": [_gang(gang) for gang in report.gang_readings],
        "name": report.name,
        "transport": report.transport,
        "backend": report.backend,
        "tool_version": report.tool_version,
        "started_at": report.started_at,
        "seconds": report.seconds,
        "seed": report.seed,
        "warnings": list(report.warnings),
        "fabric": _fabric(report.fabric),
        "pods": [_pod(pod) for pod in report.pods],
        "plan": [_round(one) for one in report.rounds],
        "readings": [_reading(reading) for reading in report.readings],
    }


def _finding(finding: ProbeFinding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "class": finding.fault_class.value,
        "node": finding.node,
        "rail": finding.rail,
        "direction": finding.direction.value,
        "slowdown": finding.slowdown,
        "severity": finding.severity.value,
        "summary": finding.summary,
        "evidence": list(finding.evidence),
        "next": list(finding.next),
        "leaf": finding.leaf,
        "peer": finding.peer,
    }


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "round": reading.round,
        "rail": reading.rail,
        "nodes": list(reading.nodes),
        "distance": reading.distance.value,
        "rate_bytes_per_second": reading.rate,
        "forward_bytes_per_second": reading.forward,
        "reverse_bytes_per_second": reading.reverse,
        "spread": reading.spread,
        "cpu_bound": reading.cpu_bound,
        "missing": _missing(reading.missing),
    }


def _missing(missing: Missing | None) -> dict[str, Any] | None:
    if missing is None:
        return None
    return {"reason": missing.reason.value, "where": missing.where, "detail": missing.detail}


def _placement(finding: PlacementFinding) -> dict[str, Any]:
    return {
        "node": finding.node,
        "gpus": list(finding.gpus),
        "severity": str(finding.severity),
        "summary": finding.summary,
        "evidence": list(finding.evidence),
        "next": list(finding.next),
    }


def _gang(gang: GangReading) -> dict[str, Any]:
    return {
        "rail": gang.rail,
        "ranks": gang.ranks,
        "bytes": gang.bytes,
        "busbw_bytes_per_second": gang.busbw,
        "missing": _missing(gang.missing),
    }


def _noise(level: NoiseLevel) -> dict[str, Any]:
    return {
        "distance": level.distance.value,
        "center_bytes_per_second": level.center,
        "sigma": level.sigma,
        "dips": level.dips,
        "readings": level.readings,
        "smallest_slowdown": level.smallest_slowdown,
    }


def _round(one: Round) -> dict[str, Any]:
    return {
        "round": one.number,
        "kind": one.kind.value,
        "groups": [
            {"nodes": list(group.nodes), "rails": list(group.rails), "distance": group.distance.value}
            for group in one.groups
        ],
        "sitting_out": list(one.sitting_out),
    }


def _fabric(fabric: Fabric) -> dict[str, Any]:
    return {
        "nodes": list(fabric.nodes),
        "rails": fabric.rails,
        "leaf_of": dict(fabric.leaf_of),
        "line_rate_bytes_per_second": fabric.line_rate,
    }


def _pod(pod: ProbedPod) -> dict[str, Any]:
    return {
        "member": pod.member,
        "namespace": pod.namespace,
        "pod": pod.pod,
        "uid": pod.uid,
        "node": pod.node,
        "devices": [
            {
                "kind": device.kind.value,
                "id": device.id,
                "container": device.container,
                "resource": device.resource,
                "pci": device.pci,
                "numa": device.numa,
                "rdma": device.rdma or None,
                "interface": device.interface or None,
                "source": device.source,
            }
            for device in pod.devices
        ],
    }


def _storable(value: Any) -> Any:
    """Replace, at any depth, what JSON cannot carry: numbers that are none, and halves of characters."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", value)
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, Mapping):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list) else value
