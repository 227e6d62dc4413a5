"""K12, K17, K18: NetworkPolicy in a probe's way, NICs in one order on all members, one partition key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netkit.gangs.view import GangRules, GangView, odd_ones
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.gang import DeviceKind, Member
from netkit.model.kube_object import KubeObject, embedded_json, rows_of, text_of
from netkit.model.missing import Missing, Reason

_POLICIES = "networkpolicies.networking.k8s.io"

POLICY = Rule(
    id="K12",
    name="pod-network-policy",
    severity=Severity.WARNING,
    question="Would a NetworkPolicy keep a probe beside this gang from reaching it?",
    reads="NetworkPolicies of the namespace, Volcano's svc plug-in's first",
    passes="no policy selects the members for ingress, or each lets any pod of the namespace in",
    why="the probe would time out, and the network would look broken where only a rule stands",
    remedy="give probe pods the labels the policy asks for (for Volcano: volcano.sh/job-name and "
    "volcano.sh/job-namespace), or run the probe inside the members",
    source="volcano-sh/volcano pkg/controllers/job/plugins/distributed-framework and svc",
    caution="A policy does nothing where the network plug-in does not enforce policies, nor for hostNetwork pods.",
)
NICS = Rule(
    id="K17",
    name="pod-nic-order",
    severity=Severity.CRITICAL,
    question="Do all members hold as many NICs, in one order of networks?",
    reads="devices of the members: networks, RDMA names and interfaces in their order",
    passes="one list over the gang",
    why="rail i of one member talks to rail i of the next; an order that differs sends traffic across rails",
    remedy="name the networks in one order in the job's template, or fix the order by NCCL_IB_HCA",
    source="NVIDIA/nccl issues 1277, 1591 and 1933",
    caution="Device names may differ on purpose between node types; then the PCI order decides.",
)
PARTITION = Rule(
    id="K18",
    name="pod-partition-key",
    severity=Severity.CRITICAL,
    question="Do all members use one InfiniBand partition?",
    reads="pkey in the cni-args of the networks annotation, as ib-kubernetes writes it",
    passes="one key over the gang",
    why="queue pairs of different partitions never connect",
    remedy="use one NetworkAttachmentDefinition for all members",
    source="Mellanox/ib-kubernetes",
    caution="Without InfiniBand SR-IOV there is no key, and nothing to look at.",
)


def _check(view: GangView) -> Iterator[Result]:
    yield from _policies(view)
    yield from _nics(view)
    yield from _partitions(view)


def _policies(view: GangView) -> Iterator[Result]:
    missing = view.cluster.snapshot.missing().get(_POLICIES)
    if missing is not None and missing.reason is not Reason.ABSENT:
        yield POLICY.incomplete(view.gang.key, missing)
        return
    own = [pod for _, pod in view.members() if pod.find("spec", "hostNetwork") is not True]
    policies = [one for one in view.cluster.objects(_POLICIES) if one.namespace == view.gang.namespace]
    blocking = [one for one in sorted(policies, key=_volcano_first) if _limits_ingress(one) and _selects(one, own)]
    for policy in blocking:
        yield POLICY.finding(view.gang.key, f"{policy} lets in only {_let_in(policy)}", *_evidence(policy))
    if not blocking:
        yield POLICY.ok(view.gang.key, f"none of {len(policies)} policies limits who reaches its members")


def _volcano_first(policy: KubeObject) -> tuple[bool, str]:
    owner = next(policy.owners(), None)
    return owner is None or not owner.api_version.startswith("batch.volcano.sh"), policy.name


def _limits_ingress(policy: KubeObject) -> bool:
    types = policy.find("spec", "policyTypes")
    if isinstance(types, list) and "Ingress" not in types:
        return False
    return not any(_lets_namespace_in(rule) for rule in policy.rows("spec", "ingress"))


def _lets_namespace_in(rule: Mapping[str, Any]) -> bool:
    """Tell whether a rule lets every pod of the namespace in: no peers and no ports, or a selector of all."""
    peers = rows_of(rule.get("from"))
    everyone = not peers or any(peer.get("podSelector") == {} for peer in peers)
    return everyone and not rows_of(rule.get("ports"))


def _selects(policy: KubeObject, pods: list[KubeObject]) -> bool:
    return any(_matches(policy.fields("spec", "podSelector"), pod) for pod in pods)


def _matches(selector: Mapping[str, Any], pod: KubeObject) -> bool:
    labels = selector.get("matchLabels")
    exact = all(pod.label(key) == value for key, value in labels.items()) if isinstance(labels, dict) else True
    return exact and all(_holds(row, pod) for row in rows_of(selector.get("matchExpressions")))


def _holds(row: Mapping[str, Any], pod: KubeObject) -> bool:
    key, operator, values = text_of(row.get("key")), row.get("operator"), row.get("values")
    listed = values if isinstance(values, list) else []
    present = key in pod.labels
    return {
        "In": present and pod.label(key) in listed,
        "NotIn": not present or pod.label(key) not in listed,
        "Exists": present,
        "DoesNotExist": not present,
    }.get(str(operator), True)


def _let_in(policy: KubeObject) -> str:
    asked = []
    for rule in policy.rows("spec", "ingress"):
        for peer in rows_of(rule.get("from")):
            labels = KubeObject("", peer).fields("podSelector", "matchLabels")
            asked.append(
                "pods labelled " + ", ".join(f"{key}={value}" for key, value in labels.items())
                if labels
                else "other peers"
            )
        if rows_of(rule.get("ports")):
            asked.append("some ports")
    return "; ".join(dict.fromkeys(asked)) or "nobody"


def _evidence(policy: KubeObject) -> Iterator[str]:
    owner = next(policy.owners(), None)
    if owner is not None:
        yield f"{policy} belongs to {owner.kind} {owner.name}"


def _nics(view: GangView) -> Iterator[Result]:
    values = {member.pod: _order(member) for member, _ in view.members()}
    if any(values.values()):
        yield from odd_ones(NICS, "its NICs", values)
    else:
        yield NICS.not_applicable("the API names no NIC of any member")


def _order(member: Member) -> str:
    nics = [device for device in member.devices if device.kind is DeviceKind.NIC]
    return " ".join(f"{nic.resource.rpartition('/')[2]}:{nic.interface or '-'}" for nic in nics)


def _partitions(view: GangView) -> Iterator[Result]:
    values = {member.pod: _keys(pod) for member, pod in view.members()}
    if any(values.values()):
        yield from odd_ones(PARTITION, "the partition key", values)
    else:
        yield PARTITION.not_applicable("no member has an InfiniBand partition key")


def _keys(pod: KubeObject) -> str:
    text = pod.annotation("k8s.v1.cni.cncf.io/networks")
    asked = embedded_json(text, str(pod)) if text.startswith("[") else None
    rows = () if isinstance(asked, Missing) else rows_of(asked)
    return " ".join(filter(None, (KubeObject("", row).text("cni-args", "pkey") for row in rows)))


RULES = GangRules(id="networks", rules=(POLICY, NICS, PARTITION), check=_check)
