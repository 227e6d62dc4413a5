"""The timeline: everything about a gang in order of time, in plain words, and nothing of its neighbours."""

from __future__ import annotations

from typing import Any

from netkit.gangs.cluster import Cluster
from netkit.gangs.resolver import resolve
from netkit.gangs.systems import systems
from netkit.gangs.timeline import Moment, timeline
from tests.gangs.synthetic_cluster import Body, pod, snapshot, thing


def event(about: str, reason: str, message: str, at: str, **more: Any) -> Body:
    return thing("v1", "Event", f"{about}.{at}") | {
        "involvedObject": {"uid": f"uid-of-{about}"},
        "reason": reason,
        "message": message,
        "lastTimestamp": at,
        "type": more.get("type", "Normal"),
        "count": more.get("count", 1),
    }


def moments() -> tuple[Moment, ...]:
    mark = {"labels": {"scheduling.x-k8s.io/pod-group": "ring"}}
    group = thing(
        "scheduling.x-k8s.io/v1alpha1",
        "PodGroup",
        "ring",
        spec={"minMember": 1},
        status={"phase": "Pending"},
        metadata={"creationTimestamp": "2026-03-01T09:59:00Z"},
    )
    ready = {"type": "Ready", "status": "False", "reason": "NodeNotReady", "lastTransitionTime": "2026-03-01T10:00:30Z"}
    fine = {"type": "DiskPressure", "status": "False", "lastTransitionTime": "2026-03-01T10:00:31Z"}
    node = thing("v1", "Node", "n0", metadata={"namespace": ""}, status={"conditions": [ready, fine]})
    full = "0/8 nodes are available: 8 Insufficient nvidia.com/gpu."
    bodies = (
        pod("a", node="n0", **mark, why=full),
        pod("stranger"),
        group,
        node,
        event("a", "FailedScheduling", full, "2026-03-01T10:00:10Z", type="Warning", count=7),
        event("a", "Scheduled", "assigned", "2026-03-01T10:00:20Z"),
        event("stranger", "Scheduled", "assigned", "2026-03-01T10:00:20Z"),
        event("a", "BrandNewReason", "", "2026-03-01T10:00:40Z"),
    )
    cluster = Cluster(snapshot(*bodies))
    (gang,) = resolve(cluster, systems())
    return timeline(gang, cluster)


def test_moments_stand_in_order_of_time() -> None:
    """Group, pod, conditions, events and the trouble of a node, on one line of time."""
    shown = [(one.at[11:19], one.object, one.what) for one in moments()]
    assert shown == [
        ("09:59:00", "PodGroup team-a/ring", "created"),
        ("10:00:00", "Pod team-a/a", "created"),
        ("10:00:05", "Pod team-a/a", "PodScheduled=False"),
        ("10:00:10", "Pod team-a/a", "FailedScheduling"),
        ("10:00:20", "Pod team-a/a", "Scheduled"),
        ("10:00:30", "Node n0", "Ready=False"),
        ("10:00:40", "Pod team-a/a", "BrandNewReason"),
    ]


def test_reasons_are_translated_and_unknown_ones_kept() -> None:
    """Plain words first, the scheduler's count behind; repeats are counted, warnings marked."""
    by_what = {one.what: one for one in moments()}
    failed = by_what["FailedScheduling"]
    assert failed.words == "the scheduler found no place: none of 8 nodes fits: 8 Insufficient nvidia.com/gpu"
    assert (failed.count, failed.warning) == (7, True)
    assert by_what["BrandNewReason"].words == "BrandNewReason"
    assert by_what["Ready=False"].words == "its node is not ready"
