"""Which nodes of a selection are free for a burn-in, and why the others are left alone. Pure.

Free is what a scheduler would say: ready, not cordoned, no taint but those that keep pods without GPUs away, and no
accelerator held by a pod that has not ended. A claim of devices (DRA) counts as held, whatever it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from netkit.errors import InputError
from netkit.gangs.placement import Domains
from netkit.gangs.requests import kind_of_resource, requests
from netkit.model.gang import DeviceKind
from netkit.model.kube_object import KubeObject, number_of, text_of
from netkit.model.missing import Missing
from netkit.model.probe import ProbedPod
from netkit.probe.gang_targets import Target

_ACCELERATORS = frozenset({DeviceKind.GPU, DeviceKind.NPU})
_ENDED = frozenset({"Succeeded", "Failed"})
_KEEPING_OUT = frozenset({"NoSchedule", "NoExecute"})
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeNode:
    """One node that nobody uses: its accelerators by resource name, and the taints a pod must live with."""

    name: str
    leaf: str
    accelerators: Mapping[str, int]
    tolerations: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChoice:
    """The free nodes of a selection, and by name why each other one is left alone."""

    free: tuple[FreeNode, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def choose(nodes: Iterable[KubeObject], pods: Iterable[KubeObject], domains: Domains) -> NodeChoice:
    """Sort nodes into free ones and others."""
    on: dict[str, list[KubeObject]] = {}
    for pod in pods:
        if pod.text("status", "phase") not in _ENDED:
            on.setdefault(pod.text("spec", "nodeName"), []).append(pod)
    free, left_out = [], {}
    for node in sorted(nodes, key=lambda one: one.name):
        reason = next(filter(None, (why(node, on.get(node.name, ())) for why in _REASONS)), "")
        if reason:
            left_out[node.name] = reason
        else:
            free.append(_free(node, domains))
    return NodeChoice(free=tuple(free), left_out=left_out)


def targets_on(choice: NodeChoice, namespace: str) -> tuple[Target, ...]:
    """Return the pods to come, one a free node; they have no name yet."""
    return tuple(
        Target(
            pod=ProbedPod(member=node.name, namespace=namespace, pod="", uid="", node=node.name),
            container="",
            accelerators=sum(node.accelerators.values()),
            leaf=node.leaf,
        )
        for node in choice.free
    )


def accelerators_alike(choice: NodeChoice) -> Mapping[str, int]:
    """Return what each free node has.

    Raises:
        InputError: nodes differ, and the pods of one gang ask for the same.
    """
    kinds = Counter(tuple(sorted(node.accelerators.items())) for node in choice.free)
    if len(kinds) > 1:
        listed = "; ".join(
            f"{times} with {', '.join(f'{name}={count}' for name, count in kind)}" for kind, times in kinds.items()
        )
        raise InputError(
            f"free nodes that differ: {listed}", "a selector of one kind of node, or --resource NAME=COUNT"
        )
    return dict(next(iter(kinds), ()))


def _free(node: KubeObject, domains: Domains) -> FreeNode:
    return FreeNode(
        name=node.name,
        leaf=next(iter(domains.get(node.name, ())), ""),
        accelerators=_accelerators(node),
        tolerations=tuple({"key": key, "operator": "Exists", "effect": effect} for key, effect in _taints(node)),
    )


def _accelerators(node: KubeObject) -> dict[str, int]:
    counts = {
        name: number_of(text, name)
        for name, text in node.fields("status", "allocatable").items()
        if kind_of_resource(name) in _ACCELERATORS
    }
    return {name: count for name, count in counts.items() if not isinstance(count, Missing) and count > 0}


def _taints(node: KubeObject) -> list[tuple[str, str]]:
    rows = node.rows("spec", "taints")
    return [(text_of(row.get("key")), effect) for row in rows if (effect := text_of(row.get("effect"))) in _KEEPING_OUT]


def _not_ready(node: KubeObject, _pods: Sequence[KubeObject]) -> str:
    ready = any(condition.type == "Ready" and condition.holds for condition in node.conditions())
    return "" if ready else "it is not ready"


def _cordoned(node: KubeObject, _pods: Sequence[KubeObject]) -> str:
    return "it is cordoned" if node.find("spec", "unschedulable") is True else ""


def _without_accelerators(node: KubeObject, _pods: Sequence[KubeObject]) -> str:
    return "" if _accelerators(node) else "it has no GPU that can be asked for"


def _tainted(node: KubeObject, _pods: Sequence[KubeObject]) -> str:
    others = [f"{key}:{effect}" for key, effect in _taints(node) if kind_of_resource(key) not in _ACCELERATORS]
    return f"it bears the taint {', '.join(others)}" if others else ""


def _held(node: KubeObject, pods: Sequence[KubeObject]) -> str:
    holders = {f"{pod.namespace}/{pod.name}": _holds(pod) for pod in pods}
    names = [name for name, count in holders.items() if count]
    if not names:
        return ""
    held, total = sum(holders.values()), sum(_accelerators(node).values())
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{min(held, total)} of {total} GPUs are held by {', '.join(names[:_MOST_NAMED])}{more}"


def _holds(pod: KubeObject) -> int:
    asked = sum(count for _, kind, count in requests(pod) if kind in _ACCELERATORS)
    return asked + len(pod.rows("spec", "resourceClaims"))


_REASONS = (_not_ready, _cordoned, _without_accelerators, _tainted, _held)
