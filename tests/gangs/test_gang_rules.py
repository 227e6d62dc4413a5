"""Rules about a gang: silent where it is right, speaking where it is not, honest about what could not be seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from netkit.gangs.cluster import Cluster
from netkit.gangs.device_sources import device_sources
from netkit.gangs.devices import with_devices
from netkit.gangs.resolver import resolve
from netkit.gangs.rules import families, gang_rule, gang_rules
from netkit.gangs.systems import systems
from netkit.gangs.view import view_of
from netkit.model.check import Outcome, Result
from netkit.model.gang_snapshot import GangSnapshot
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from tests.gangs.synthetic_cluster import Body, pod, snapshot, thing


def member(at: int, **more: Any) -> Body:
    """One of two pods of a job that asks for GPUs and NICs and has all that training needs."""
    shm = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    container = {
        "name": "main",
        "image": more.get("image", "train:1"),
        "env": [{"name": key, "value": value} for key, value in more.get("env", {"NCCL_IB_TC": "106"}).items()],
        "resources": {"limits": more.get("limits", {"nvidia.com/gpu": "8", "rdma/hca": "1"})},
        "securityContext": {"capabilities": {"add": more.get("capabilities", ["IPC_LOCK"])}},
        "volumeMounts": [{"name": "shm", "mountPath": more.get("shm_at", "/dev/shm")}],
    }
    spec = {"containers": [container], "volumes": [shm]} | more.get("spec", {})
    labels = {"job-name": "job", "batch.kubernetes.io/job-completion-index": str(at)} | more.get("labels", {})
    return pod(f"job-{at}", node=f"n{at}", labels=labels, spec=spec, annotations=more.get("annotations", {}))


def answers(*bodies: Body, seen: dict[str, NodeSnapshot] | None = None, denied: str = "") -> list[Result]:
    found = snapshot(*bodies)
    listings = dict(found.listings)
    if denied:
        listings[denied] = Missing(reason=Reason.DENIED, where=denied)
    cluster = Cluster(GangSnapshot(server="s", namespace="", taken_at=0, listings=listings))
    (gang,) = with_devices(resolve(cluster, systems()), cluster, device_sources())
    view = view_of(gang, cluster, seen)
    return [result for family in families() for result in family.check(view)]


def outcomes(results: list[Result], rule: str) -> set[Outcome]:
    return {result.outcome for result in results if result.rule == rule}


def multus(*interfaces: str) -> dict[str, str]:
    rows = [{"name": f"ns/{name}", "interface": name} for name in interfaces]
    return {"k8s.v1.cni.cncf.io/network-status": json.dumps(rows)}


def partition(key: str) -> dict[str, str]:
    """An InfiniBand network whose arguments hold a GUID and a partition key, as ib-kubernetes writes them."""
    arguments = {"guid": "02:00:00:00:00:00:00:01", "mellanox.infiniband.app": "configured", "pkey": key}
    return {"k8s.v1.cni.cncf.io/networks": json.dumps([{"name": "ib", "cni-args": arguments}])}


def policy(*labels: str, **more: Any) -> Body:
    """A policy that selects the job's pods, and lets in pods with the given labels; none given: everybody's."""
    wanted = {"matchLabels": dict.fromkeys(labels, "job")} if labels else {}
    spec = {
        "podSelector": more.get("selects", {"matchLabels": {"job-name": "job"}}),
        "ingress": more.get("ingress", [{"from": [{"podSelector": wanted}]}]),
        "policyTypes": more.get("types", ["Ingress"]),
    }
    return thing("networking.k8s.io/v1", "NetworkPolicy", "only", spec=spec, metadata=more.get("metadata", {}))


TWO = (member(0), member(1))
JOB_LABELS = ("volcano.sh/job-name", "volcano.sh/job-namespace")
VOLCANO = {"ownerReferences": [{"kind": "Job", "name": "job", "uid": "u", "apiVersion": "batch.volcano.sh/v1alpha1"}]}

SPEAKING: dict[str, tuple[str, tuple[Body, ...], str]] = {
    "fewer NICs": (
        "K08",
        (member(0), member(1, limits={"nvidia.com/gpu": "8"}), member(2)),
        "number of nics asked for is 0",
    ),
    "no shared memory": ("K06", (member(0), member(1, shm_at="/data")), "/dev/shm holds 64 MiB"),
    "host network": (
        "K10",
        (member(0), member(1, spec={"hostNetwork": True}), member(2)),
        "the network is host network",
    ),
    "another image": (
        "K13",
        (member(0), member(1, image="train:2"), member(2)),
        "the image is train:2, and train:1 on 2 of 3",
    ),
    "no memlock": ("K14", (member(0), member(1, capabilities=[]), member(2)), "the right to lock memory is not given"),
    "another class": (
        "K16",
        (member(0), member(1, env={"NCCL_IB_TC": "41"}), member(2)),
        "NCCL_IB_TC is 41, and 106 on 2 of 3",
    ),
    "setting missing": ("K16", (member(0), member(1, env={}), member(2)), "NCCL_IB_TC is not set, and 106 on 2 of 3"),
    "rails swapped": (
        "K17",
        (
            member(0, annotations=multus("net1", "net2")),
            member(1, annotations=multus("net2", "net1")),
            member(2, annotations=multus("net1", "net2")),
        ),
        "its NICs is net2:net2 net1:net1",
    ),
    "ib-guid": (
        "K18",
        (member(0, annotations=partition("0x1")), member(1, annotations=partition("0x2"))),
        "the partition key is 0x2",
    ),
    "svc plug-in": (
        "K12",
        (*TWO, policy(*JOB_LABELS, metadata=VOLCANO)),
        "lets in only pods labelled volcano.sh/job-name=job, volcano.sh/job-namespace=job",
    ),
    "nobody": ("K12", (*TWO, policy(ingress=[])), "lets in only nobody"),
    "by expression": (
        "K12",
        (*TWO, policy("a", selects={"matchExpressions": [{"key": "job-name", "operator": "Exists"}]})),
        "lets in only pods labelled a=job",
    ),
}


@pytest.mark.parametrize("name", SPEAKING)
def test_a_rule_speaks(name: str) -> None:
    """The finding names the member and what differs."""
    rule, bodies, said = SPEAKING[name]
    found = [one for one in answers(*bodies) if one.rule == rule and one.outcome is Outcome.FINDING]
    assert any(said in one.summary for one in found), [one.summary for one in found]
    assert all(one.remedy for one in found)


@pytest.mark.parametrize("rule", ["K06", "K08", "K10", "K12", "K13", "K14", "K16"])
def test_a_rule_is_silent_on_a_gang_that_is_right(rule: str) -> None:
    """Two equal members: every rule that can look says ok."""
    assert outcomes(answers(*TWO), rule) == {Outcome.OK}


@pytest.mark.parametrize(
    "harmless",
    [
        policy(),
        policy(types=["Egress"]),
        policy("a", selects={"matchLabels": {"app": "other"}}),
        policy(ingress=[{}]),
    ],
    ids=["whole namespace", "egress only", "other pods", "any peer"],
)
def test_a_policy_that_lets_probes_in_is_no_finding(harmless: Body) -> None:
    """Only what would keep a probe out counts."""
    assert outcomes(answers(*TWO, harmless), "K12") == {Outcome.OK}


def test_policies_that_may_not_be_read_are_incomplete() -> None:
    """Unknown is not open."""
    assert outcomes(answers(*TWO, denied="networkpolicies.networking.k8s.io"), "K12") == {Outcome.INCOMPLETE}


def joint(nic: int) -> tuple[Body, ...]:
    """Two pods with a GPU and a NIC each by Koordinator; NIC 0 shares the GPU's switch, NIC 1 does not."""
    text = json.dumps({"gpu": [{"minor": 0}, {"minor": 1}], "rdma": [{"minor": nic}]})
    rows = [
        {"type": "gpu", "minor": 0, "id": "GPU-0", "topology": {"nodeID": 0, "pcieID": "s0"}},
        {"type": "gpu", "minor": 1, "id": "GPU-1", "topology": {"nodeID": 0, "pcieID": "s0"}},
        {"type": "rdma", "minor": 0, "id": "0000:09:00.0", "topology": {"nodeID": 0, "pcieID": "s0"}},
        {"type": "rdma", "minor": 1, "id": "0000:0a:00.0", "topology": {"nodeID": 0, "pcieID": "s1"}},
    ]
    nodes = [
        thing(
            "scheduling.koordinator.sh/v1alpha1", "Device", f"n{at}", spec={"devices": rows}, metadata={"namespace": ""}
        )
        for at in range(2)
    ]
    return (*(member(at, annotations={"scheduling.koordinator.sh/device-allocated": text}) for at in range(2)), *nodes)


@pytest.mark.parametrize(("nic", "outcome"), [(0, Outcome.OK), (1, Outcome.FINDING)])
def test_alignment_is_judged_from_the_api(nic: int, outcome: Outcome) -> None:
    """Same NUMA node, other switch."""
    found = answers(*joint(nic))
    assert outcomes(found, "K03") == {outcome}
    if outcome is Outcome.FINDING:
        assert "though one is on its NUMA node" in next(one.summary for one in found if one.rule == "K03")


def test_alignment_that_nobody_tells_is_incomplete() -> None:
    """Resources are counted, devices are not named."""
    assert outcomes(answers(*TWO), "K03") == {Outcome.INCOMPLETE}


def test_every_rule_answers_and_explains_itself() -> None:
    """At least once on any gang; with question, remedy, source and caution."""
    asked = {result.rule for result in answers(*TWO)}
    assert asked == set(gang_rules())
    for rule in gang_rules().values():
        assert all((rule.question, rule.reads, rule.passes, rule.why, rule.remedy, rule.source, rule.caution))
        assert gang_rule(rule.name) is rule
