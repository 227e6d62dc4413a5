"""A foreseen probe of a gang for people and, schema `netkit.probe-plan/1`, for programs."""

from __future__ import annotations

import json
from typing import Any

from netkit.model.units import show_duration
from netkit.probe.gang_targets import Target
from netkit.probe.probe_plan import GangPlan

SCHEMA = "netkit.probe-plan/1"
_MOST_SHOWN = 16


def render(plan: GangPlan) -> str:
    """Return the plan as lines for a person."""
    pods, nodes = len(plan.targets), len({target.pod.node for target in plan.targets})
    rails = ", ".join(plan.interfaces or plan.subnets)
    found_by = plan.systems[0] if plan.systems else "pods named"
    held = f"{plan.accelerators} GPUs" if plan.accelerators else "no GPU"
    minutes = f"{plan.accelerator_minutes:.1f} GPU-minutes" if plan.accelerators else "no GPU time"
    return "\n".join(
        [
            f"probe of {_subject(plan)} ({found_by}): {_does(plan, pods, nodes)}",
            f"rails: {rails}",
            _disturbs(plan, f"{pods} pods holding {held}"),
            f"takes: at most {plan.rounds_at_most} rounds and {show_duration(plan.seconds_at_most)}, {minutes}",
            f"creates: {', '.join((*plan.creates, 'a Lease on each node'))}",
            "runs: one Python process in each pod, gone with netkit",
            *(f"  {row}" for row in _rows(plan)),
            *(f"left alone: {node}: {why}" for node, why in list(plan.left_out.items())[:_MOST_SHOWN]),
            *_more(len(plan.left_out), "left alone"),
        ]
    )


def _subject(plan: GangPlan) -> str:
    return plan.gang if plan.of_nodes else f"gang {plan.gang}"


def _does(plan: GangPlan, pods: int, nodes: int) -> str:
    if plan.of_nodes:
        return f"a gang of its own on {nodes} free nodes"
    return f"{'a gang of its own beside' if plan.creates else 'attach to'} {pods} pods on {nodes} nodes"


def _disturbs(plan: GangPlan, whom: str) -> str:
    if not plan.creates:
        return f"disturbs: {whom}; a pod whose GPUs are in use, or may be, is refused"
    if plan.accelerators:
        return f"disturbs: nobody, if the scheduler finds room; asks for {plan.accelerators} GPUs"
    return "disturbs: the network traffic of whatever runs on these nodes; asks for no GPU"


def _rows(plan: GangPlan) -> list[str]:
    return [*map(_row, plan.targets[:_MOST_SHOWN]), *_more(len(plan.targets), "probed")]


def _row(target: Target) -> str:
    pod = f"  {target.pod.namespace}/{target.pod.pod}  container {target.container}" if target.pod.pod else ""
    leaf = f"  leaf {target.leaf}" if target.leaf else ""
    return f"{target.pod.node}{pod}  {target.accelerators} GPUs{leaf}"


def _more(count: int, what: str) -> list[str]:
    return [f"and {count - _MOST_SHOWN} more {what}"] if count > _MOST_SHOWN else []


def render_json(plan: GangPlan) -> str:
    """Return the plan as one JSON object."""
    return json.dumps(_document(plan), indent=1) + "\n"


def _document(plan: GangPlan) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "gang": plan.gang,
        "systems": list(plan.systems),
        "as": "job" if plan.creates else "exec",
        "interfaces": list(plan.interfaces),
        "subnets": list(plan.subnets),
        "rounds_at_most": plan.rounds_at_most,
        "seconds_at_most": plan.seconds_at_most,
        "gpus": plan.accelerators,
        "gpu_minutes": plan.accelerator_minutes,
        "creates": list(plan.creates),
        "left_out": dict(plan.left_out),
        "pods": [
            {
                "namespace": target.pod.namespace,
                "pod": target.pod.pod or None,
                "uid": target.pod.uid or None,
                "node": target.pod.node,
                "container": target.container or None,
                "gpus": target.accelerators,
                "leaf": target.leaf or None,
            }
            for target in plan.targets
        ],
    }
