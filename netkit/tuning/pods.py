"""Advice about the pods of a gang: what rules about gangs found, as patches of the pods' template.

Kubernetes strategic merge patches; resource.k8s.io/v1 constraints of claims; kubelet topology manager.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from netkit.model.advice import Advice, AdviceReport, ByHand, Change, PodPatch, Target, Unseen
from netkit.model.check import Outcome, Result

_SHM = "/dev/shm"  # noqa: S108 - a path inside pods
_SHM_SIZE = "8Gi"
_DEFAULT_SHM = "holds 64 MiB"
"""What a pod has that mounts nothing there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRecommendation:
    """What to change in the template of pods when a rule finds something wrong with members of a gang."""

    id: str
    rules: tuple[str, ...]
    setting: str
    proposed: str
    change: Change
    otherwise: Change | None = None
    """In place of `change` where members have something of their own that the patch would not give back."""
    reason: str
    source: str
    effect: str
    risk: str


_SHARED_MEMORY = PodPatch(
    pod={"volumes": [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": _SHM_SIZE}}]},
    container={"volumeMounts": [{"name": "shared-memory", "mountPath": _SHM}]},
    undo_pod={"volumes": [{"name": "shared-memory", "$patch": "delete"}]},
    undo_container={"volumeMounts": [{"mountPath": _SHM, "$patch": "delete"}]},
)
_LOCK = PodPatch(
    pod={},
    container={"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}},
    undo_pod={},
    undo_container={"securityContext": {"capabilities": {"add": None}}},
)
_ONE_TEMPLATE = "make every member from one template, and let the job start its pods anew"
_CONSTRAINT = '{"requests": ["gpu", "nic"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}'

RECOMMENDATIONS = (
    PodRecommendation(
        id="pod-shared-memory",
        rules=("K06",),
        setting=_SHM,
        proposed=f"{_SHM_SIZE} of memory",
        change=_SHARED_MEMORY,
        otherwise=ByHand(
            apply=f"raise sizeLimit of the emptyDir that is mounted at {_SHM} to {_SHM_SIZE}",
            rollback="set the sizeLimit that is named under now",
        ),
        reason="ranks of one node exchange data over shared memory; 64 MiB, the default of runtimes, is soon full",
        source="NVIDIA NCCL user guide, troubleshooting, shared memory",
        effect="the job no longer fails at start, or falls back to sockets between ranks of a node",
        risk="what is written there counts against the memory limit of the pod",
    ),
    PodRecommendation(
        id="pod-memlock",
        rules=("K14",),
        setting="capability IPC_LOCK",
        proposed="given to every member",
        change=_LOCK,
        reason="RDMA registers memory by locking it, and some members may not",
        source="NVIDIA NCCL user guide, troubleshooting, system limits; capabilities(7)",
        effect="memory registration works on every member",
        risk="the patch replaces the list of added capabilities: put others that stand there back in",
    ),
    PodRecommendation(
        id="pod-alignment",
        rules=("K03", "K11"),
        setting="constraint of the resource claim",
        proposed=_CONSTRAINT,
        change=ByHand(
            apply=f"add to spec.devices.constraints of the ResourceClaimTemplate: {_CONSTRAINT}; with device plug-ins "
            "the kubelet's topologyManagerPolicy: single-numa-node with topologyManagerScope: pod is the nearest to it",
            rollback="remove the constraint; kubelet: topologyManagerPolicy: none, topologyManagerScope: container",
        ),
        reason="GPU and NIC of a pod hang under different PCIe switches; one NUMA node is not near enough",
        source="Kubernetes dynamic resource allocation, KEP 4381 (pcieRoot); Azure AKS (25 and 56 GB/s); kubelet guide",
        effect="GPUDirect RDMA under one switch: twice the bandwidth in AKS's measurement",
        risk="fewer nodes fit, and pods may wait longer; a kubelet must be drained before its policy changes",
    ),
    PodRecommendation(
        id="pod-device-count",
        rules=("K08",),
        setting="device resources",
        proposed="one number on every member",
        change=ByHand(apply=_ONE_TEMPLATE, rollback="the template as it was: kubectl rollout undo, or the job's file"),
        reason="members ask for different numbers of devices, so that some ranks have a narrower way",
        source="Kubernetes extended resources; NVIDIA/nccl documentation on rails",
        effect="every rank has its NICs",
        risk="the job starts anew",
    ),
    PodRecommendation(
        id="pod-networks",
        rules=("K10", "K17", "K18"),
        setting="networks",
        proposed="one list, in one order, on every member",
        change=ByHand(
            apply=f"one k8s.v1.cni.cncf.io/networks annotation with one order of rails: {_ONE_TEMPLATE}",
            rollback="the annotation as it was: kubectl rollout undo, or the job's file",
        ),
        reason="members see other networks, another order or another partition: rail 0 of one is not that of the next",
        source="k8snetworkplumbingwg/multus-cni; NVIDIA/nccl issue 1427",
        effect="every rail meets itself",
        risk="the job starts anew",
    ),
    PodRecommendation(
        id="pod-settings",
        rules=("K16",),
        setting="environment",
        proposed="one value on every member",
        change=ByHand(
            apply="set the variables named here once, in the job's template or a ConfigMap of envFrom",
            rollback="the template as it was: kubectl rollout undo, or the job's file",
        ),
        reason="members of one job run with different settings of the communication library",
        source="NVIDIA NCCL user guide; NVIDIA/nccl issue 1277 (a hang)",
        effect="no hang and no slow rank from settings that only some have",
        risk="the job starts anew",
    ),
)


def advise_pods(gang: str, results: Sequence[Result]) -> AdviceReport:
    """Return the advice about the template of a gang's pods, and what could not be judged."""
    return AdviceReport(
        nodes=(gang,),
        advice=tuple(advice for one in RECOMMENDATIONS for advice in _advice(gang, one, results)),
        unseen=tuple(dict.fromkeys(row for one in RECOMMENDATIONS for row in _unseen(gang, one, results))),
    )


def _of(one: PodRecommendation, results: Iterable[Result], outcome: Outcome) -> list[Result]:
    return [result for result in results if result.rule in one.rules and result.outcome is outcome]


def _advice(gang: str, one: PodRecommendation, results: Sequence[Result]) -> Iterator[Advice]:
    found = _of(one, results, Outcome.FINDING)
    if not found:
        return
    plain = one.otherwise is None or all(_DEFAULT_SHM in result.summary for result in found)
    yield Advice(
        id=one.id,
        node=gang,
        target=Target.POD,
        setting=one.setting,
        now=found[0].summary,
        proposed=one.proposed,
        reason=one.reason,
        evidence=tuple(f"{result.rule} {result.subject}: {result.summary}" for result in found),
        source=one.source,
        effect=one.effect,
        risk=one.risk,
        changes=(one.change if plain or one.otherwise is None else one.otherwise,),
    )


def _unseen(gang: str, one: PodRecommendation, results: Sequence[Result]) -> Iterator[Unseen]:
    for result in _of(one, results, Outcome.INCOMPLETE):
        why = result.summary.removeprefix("could not look: ")
        yield Unseen(id=one.id, node=gang, subject=result.subject, why=why)
