"""Why one pod has no node, in plain words: its gates, its PodScheduled condition, what the scheduler counted."""

from __future__ import annotations

import re

from netkit.model.kube_object import KubeObject, text_of

_GATES = {
    "kueue.x-k8s.io/admission": "waits for Kueue to admit its group: quota",
    "kueue.x-k8s.io/topology": "waits for Kueue to find a place in the topology",
    "kueue.x-k8s.io/elastic-job": "waits for Kueue to resize its job",
    "scheduling.volcano.sh/queue-allocation-gate": "waits for its Volcano queue to have room",
}
_AVAILABLE = re.compile(r"0/(\d+) nodes are available: (.*?)(?:\. preemption|$)")
_SIBLINGS = re.compile(r"cannot find enough sibling pods.*minMember of group: (\d+)", re.DOTALL)
_WITH_ITS_GROUP = re.compile(r"gets rejected due to member Pod \"?([\w./-]+)")
_REJECTED = re.compile(r"Gang .*gets rejected due to pod is unschedulable")
_DENIED = re.compile(r"last failed in ([\w.]+), deny")


def gates(pod: KubeObject) -> tuple[str, ...]:
    """Return the scheduling gates that still hold a pod."""
    return tuple(text_of(gate.get("name")) for gate in pod.rows("spec", "schedulingGates"))


def gate_words(name: str) -> str:
    """Return what a gate waits for."""
    return _GATES.get(name, f"held by the scheduling gate {name}")


def why_unplaced(pod: KubeObject) -> str:
    """Return why a pod has no node, empty when nothing says so."""
    held = gates(pod)
    if held:
        return "; ".join(map(gate_words, held))
    condition = pod.condition("PodScheduled")
    if condition is None or condition.holds:
        return ""
    return scheduler_words(condition.message) or condition.reason


def scheduler_words(message: str) -> str:
    """Return a scheduler's message in plain words, with what it counted; an unknown message as it is."""
    siblings = _SIBLINGS.search(message)
    if siblings:
        return f"fewer pods of the gang exist than its minimum of {siblings[1]}"
    together = _WITH_ITS_GROUP.search(message)
    if together:
        return f"a member of a gang placed together with it, {together[1]}, found no place"
    if _REJECTED.search(message):
        return "a member of the gang found no place, so none is placed"
    denied = _DENIED.search(message)
    if denied:
        return f"the gang failed a moment ago and is not tried again for {denied[1]}"
    counted = _AVAILABLE.search(message)
    if counted:
        return f"none of {counted[1]} nodes fits: {counted[2].rstrip('.')}"
    return message
