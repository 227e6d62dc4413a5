"""Advice in the forms programs read: shell environment, nccl.conf, ConfigMap, pod patch, difference.

NVIDIA NCCL user guide, NCCL_CONF_FILE (`NAME=value` lines); Kubernetes ConfigMap and strategic merge patches.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from netkit.model.advice import Advice, AdviceReport, ByHand, KernelFile, PodPatch, Program, Variable
from netkit.model.text import visible


def _variables(report: AdviceReport) -> dict[str, tuple[Variable, Advice]]:
    """Return each variable once: nodes of one job share its environment."""
    found: dict[str, tuple[Variable, Advice]] = {}
    for advice in report.advice:
        for change in advice.changes:
            if isinstance(change, Variable):
                found.setdefault(change.name, (change, advice))
    return found


def env(report: AdviceReport) -> str:
    """Return lines for `. FILE` of a POSIX shell."""
    lines = ["# netkit tune advise: source this before the job starts"]
    for change, advice in _variables(report).values():
        lines += [f"# {visible(advice.reason)}", f"# way back: {change.rollback}", change.apply]
    return _text(lines)


def nccl_conf(report: AdviceReport) -> str:
    """Return an NCCL configuration file; what should not be set stands as a comment, for a file cannot unset."""
    lines = ["# netkit tune advise: /etc/nccl.conf, ~/.nccl.conf or NCCL_CONF_FILE"]
    for change, _ in _variables(report).values():
        if change.proposed is None:
            lines.append(f"# remove {change.name} wherever it is set (now {visible(change.present or '')})")
        else:
            lines.append(f"{change.name}={change.proposed}")
    return _text(lines)


def config_map(report: AdviceReport, name: str) -> str:
    """Return a ConfigMap for `envFrom`; JSON strings are YAML strings."""
    found = _variables(report).values()
    removed = [f"# not to be set: {change.name}" for change, _ in found if change.proposed is None]
    data = {change.name: change.proposed for change, _ in found if change.proposed is not None}
    lines = [*removed, "apiVersion: v1", "kind: ConfigMap", "metadata:", f"  name: {json.dumps(name)}"]
    lines += ["data:" if data else "data: {}"]
    lines += [f"  {variable}: {json.dumps(value)}" for variable, value in data.items()]
    return _text(lines)


def pod_patch(report: AdviceReport, container: str) -> str:
    """Return one strategic merge patch of the pods' template, for `kubectl patch --patch-file`."""
    variables = [_env_row(change) for change, _ in _variables(report).values()]
    merged: dict[str, Any] = {"containers": [{"name": container, "env": variables}]} if variables else {}
    for advice in report.advice:
        for change in advice.changes:
            if isinstance(change, PodPatch):
                merged = _merge(merged, change.patch_of(container))
    return json.dumps({"spec": {"template": {"spec": merged}}}, indent=2) + "\n"


def _env_row(change: Variable) -> dict[str, str]:
    if change.proposed is None:
        return {"name": change.name, "$patch": "delete"}
    return {"name": change.name, "value": change.proposed}


def _merge(one: Any, other: Any) -> Any:
    """Return both patches as one: objects by key, lists of named things by name."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _merge(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **both}
    if isinstance(one, list) and isinstance(other, list):
        named = {json.dumps(row.get("name", row)): row for row in one}
        for row in other:
            key = json.dumps(row.get("name", row))
            named[key] = _merge(named[key], row) if key in named else row
        return list(named.values())
    return other


def difference(report: AdviceReport) -> str:
    """Return what changes as lines with - and +."""
    several = len(report.nodes) > 1
    lines = ["--- now", "+++ proposed"]
    for advice in report.advice:
        where = f"{advice.node}: " if several else ""
        lines.append(f"@@ {visible(where + advice.id)} @@")
        lines += [line for change in advice.changes for line in _sides(change, advice)]
    return _text(lines)


def _sides(change: Variable | KernelFile | Program | PodPatch | ByHand, advice: Advice) -> Iterator[str]:
    if isinstance(change, Variable):
        yield from (f"-{change.name}={change.present}",) if change.present is not None else ()
        yield from (f"+{change.name}={change.proposed}",) if change.proposed is not None else ()
    elif isinstance(change, KernelFile):
        yield from (f"-{change.path} {change.present}", f"+{change.path} {change.proposed}")
    else:
        yield from (f"-{advice.setting}: {advice.now}", f"+{advice.setting}: {advice.proposed}")


def _text(lines: Iterable[str]) -> str:
    return "\n".join(visible(line) for line in lines) + "\n"
