"""The pods of a gang as a probe needs them: which container, how many accelerators it holds, under which leaf. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from netkit.errors import InputError
from netkit.gangs.requests import kind_of_resource
from netkit.gangs.view import GangView
from netkit.model.gang import Device, DeviceKind, Member
from netkit.model.kube_object import KubeObject, number_of, text_of
from netkit.model.missing import Missing
from netkit.model.probe import ProbedPod, ProbeFinding, ProbeReport

MOST_PODS = 500
"""One connection to each pod goes through the API server; more are reached through a launcher's hostfile."""
_ACCELERATORS = frozenset({DeviceKind.GPU, DeviceKind.NPU})
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One pod to probe, the container that holds its accelerators, and how many those are."""

    pod: ProbedPod
    container: str
    accelerators: int
    leaf: str


def targets_of(view: GangView, *, running: bool = True) -> tuple[Target, ...]:
    """Return the pods of a gang that train, by rank: those that run, or at least have a node.

    Raises:
        InputError: there are fewer than two or too many, or some do not run.
    """
    members = list(view.members())
    key = view.gang.key
    if not 2 <= len(members) <= MOST_PODS:
        raise InputError(f"gang {key} with {len(members)} pods that train", f"2 to {MOST_PODS} pods")
    lacking = [
        f"{member.pod} ({member.phase or 'no phase'})"
        for member, _ in members
        if member.placement is None or (running and member.phase != "Running")
    ]
    if lacking:
        more = f" and {len(lacking) - _MOST_NAMED} more" if lacking[_MOST_NAMED:] else ""
        lack = f"{len(lacking)} of {len(members)} pods {'do not run' if running else 'have no node'}"
        raise InputError(f"gang {key}: {lack}: {', '.join(lacking[:_MOST_NAMED])}{more}", "a gang that does")
    shared = Counter(member.placement.node for member, _ in members if member.placement)
    return tuple(_target(member, pod, shared) for member, pod in members)


def shared_interfaces(targets: tuple[Target, ...]) -> tuple[str, ...]:
    """Return the network interfaces that all pods hold under the same names, in order; empty when they differ."""
    rows = {
        tuple(one.interface for one in target.pod.devices if one.kind is DeviceKind.NIC and one.interface)
        for target in targets
    }
    return next(iter(rows)) if len(rows) == 1 else ()


def naming_pods(report: ProbeReport, pods: tuple[ProbedPod, ...]) -> ProbeReport:
    """Return a report that knows which pod stood for which node, also in the evidence of what it found."""
    known = {pod.member: pod for pod in pods}
    findings = tuple(_with_evidence(finding, known) for finding in report.verdict.findings)
    return replace(report, pods=pods, verdict=replace(report.verdict, findings=findings))


def _with_evidence(finding: ProbeFinding, known: Mapping[str, ProbedPod]) -> ProbeFinding:
    named = [known[member] for member in (finding.node, finding.peer) if member is not None and member in known]
    lines = [f"{pod.member} was measured in pod {pod.namespace}/{pod.pod}{_held(pod.devices)}" for pod in named]
    return replace(finding, evidence=(*finding.evidence, *lines))


def _held(devices: Sequence[Device]) -> str:
    nics = [" ".join(filter(None, (one.rdma or one.id, one.pci))) for one in devices if one.kind is DeviceKind.NIC]
    return f", which holds {', '.join(nics[:_MOST_NAMED])}" if nics else ""


def _target(member: Member, pod: KubeObject, shared: Mapping[str, int]) -> Target:
    assert member.placement is not None
    node = member.placement.node
    container, accelerators = _holder(pod)
    return Target(
        pod=ProbedPod(
            # A report blames machines; only where pods share one does the pod's name belong to it.
            member=node if shared[node] == 1 else f"{node}/{member.pod}",
            namespace=member.namespace,
            pod=member.pod,
            uid=member.uid,
            node=node,
            devices=member.devices,
        ),
        container=container,
        accelerators=accelerators,
        leaf=member.placement.leaf,
    )


def _holder(pod: KubeObject) -> tuple[str, int]:
    """Return the container with the most accelerators, the first one where none has any, and their number."""
    held = [(_accelerators(row), text_of(row.get("name"))) for row in pod.rows("spec", "containers")]
    number, name = max(held, key=lambda one: one[0], default=(0, ""))
    return name, number


def _accelerators(container: Mapping[str, object]) -> int:
    """Count accelerators that a container is given; a claim for devices counts as one, whatever it holds."""
    resources = KubeObject("", container)
    asked = resources.fields("resources", "limits") or resources.fields("resources", "requests")
    counts = [number_of(text, name) for name, text in asked.items() if kind_of_resource(name) in _ACCELERATORS]
    total = sum(count for count in counts if not isinstance(count, Missing))
    return total or len(resources.rows("resources", "claims"))
