"""Objects of any shape: whatever stands in a field, every judgement answers, and says nothing unprintable."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from netkit.gangs.cluster import Cluster
from netkit.gangs.device_sources import device_sources
from netkit.gangs.devices import with_devices
from netkit.gangs.placement import domains_of
from netkit.gangs.rank_order import rank_order
from netkit.gangs.resolver import resolve, with_placement
from netkit.gangs.rules import families
from netkit.gangs.systems import systems
from netkit.gangs.timeline import timeline
from netkit.gangs.view import view_of
from netkit.report import gangs_json, gangs_table
from netkit.report.plain_text import plain_text
from tests.gangs.cases import all_cases
from tests.gangs.synthetic_cluster import Body, pod, snapshot, thing

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    3.5,
    10**30,
    "",
    "x",
    "\x1b[31m",
    "9" * 40,
    "[",
    "{}",
    "[1,{}]",
    '{"gpu":[{"minor":[]}]}',
    [],
    [None],
    [[]],
    {},
    {"": {}},
    {"a": [1]},
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value but its root and the names by which objects are found."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [place for key, one in steps for place in places(one, (*path, key))]
    return [path, *inner] if path and path not in (("kind",), ("apiVersion",), ("metadata",)) else inner


def spoiled(body: Body, rng: random.Random) -> Body:
    """The object with one to three places replaced."""
    changed = copy.deepcopy(body)
    for _ in range(rng.randint(1, 3)):
        place = rng.choice(places(changed))
        holder: Any = changed
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = copy.deepcopy(rng.choice(ODD))
    return changed


def judged(*bodies: Body) -> str:
    """Everything netkit says about objects, as text."""
    cluster = Cluster(snapshot(*bodies))
    said = ""
    for gang in with_devices(resolve(cluster, systems()), cluster, device_sources()):
        at = with_placement(gang, domains_of(cluster)[1])
        rank_order(at.members)
        results = [result for family in families() for result in family.check(view_of(at, cluster))]
        said += "".join(result.summary + "".join(result.evidence) for result in results)
        said += "".join(moment.words for moment in timeline(at, cluster))
        said += plain_text(gangs_table.show_blocks(at)) + gangs_json.render([at])
    return said


FABRIC = (
    thing(
        "v1",
        "Node",
        "n0",
        metadata={"namespace": "", "labels": {"rack": "r"}},
        status={"conditions": [{"type": "Ready"}]},
    ),
    thing(
        "topology.volcano.sh/v1alpha1",
        "HyperNode",
        "s0",
        spec={"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n0"}}}]},
        metadata={"namespace": ""},
    ),
    thing(
        "kueue.x-k8s.io/v1beta1", "Topology", "t", spec={"levels": [{"nodeLabel": "rack"}]}, metadata={"namespace": ""}
    ),
    thing(
        "resource.k8s.io/v1",
        "ResourceSlice",
        "s",
        spec={
            "driver": "d",
            "pool": {"name": "p", "generation": 1},
            "devices": [{"name": "g", "attributes": {"uuid": {"string": "u"}}}],
        },
    ),
    thing(
        "resource.k8s.io/v1",
        "ResourceClaim",
        "c",
        status={"allocation": {"devices": {"results": [{"driver": "d", "pool": "p", "device": "g"}]}}},
    ),
    thing(
        "scheduling.koordinator.sh/v1alpha1",
        "Device",
        "n0",
        spec={"devices": [{"type": "gpu", "minor": 0, "topology": {"nodeID": 0}}]},
        metadata={"namespace": ""},
    ),
    thing(
        "node.katalyst.kubewharf.io/v1alpha1",
        "CustomNodeResource",
        "n0",
        status={
            "topologyZone": [
                {
                    "type": "Numa",
                    "name": "0",
                    "children": [{"type": "NIC", "name": "e", "allocations": [{"consumer": "team-a/x/uid-of-x"}]}],
                }
            ]
        },
        metadata={"namespace": ""},
    ),
    thing(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "np",
        spec={"podSelector": {"matchLabels": {"a": "b"}}, "ingress": [{"from": [{"podSelector": {}}]}]},
    ),
    pod(
        "x",
        node="n0",
        owner=("M", "m", "u"),
        spec={
            "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
            "containers": [
                {
                    "name": "a",
                    "env": [{"name": "NCCL_X", "value": "1"}],
                    "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    "volumeMounts": [{"name": "s", "mountPath": "/dev/shm"}],
                }
            ],
            "volumes": [{"name": "s", "emptyDir": {"sizeLimit": "1Gi"}}],
        },
        annotations={
            "scheduling.koordinator.sh/device-allocated": '{"gpu":[{"minor":0}]}',
            "k8s.v1.cni.cncf.io/network-status": "[{}]",
            "hami.io/vgpu-devices-allocated": "a,b:;",
        },
    ),
    pod("y", node="n0", owner=("M", "m", "u"), resources={"limits": {"nvidia.com/gpu": "1"}}),
)


@pytest.mark.parametrize("system", sorted({system for system, _ in all_cases()}))
def test_no_shape_of_a_systems_objects_breaks_a_judgement(system: str) -> None:
    """Each case of the system, spoiled in many ways."""
    rng = random.Random(system)
    for case in [case for name, case in all_cases() if name == system]:
        for _ in range(5):
            assert_printable(judged(*(spoiled(body, rng) if rng.random() < 0.6 else body for body in case.bodies)))


@pytest.mark.parametrize("seed", range(8))
def test_no_shape_of_fabric_or_devices_breaks_a_judgement(seed: int) -> None:
    """Nodes, topologies, claims, slices, policies: spoiled in many ways."""
    rng = random.Random(seed)
    for _ in range(10):
        assert_printable(judged(*(spoiled(body, rng) if rng.random() < 0.5 else body for body in FABRIC)))


def assert_printable(said: str) -> None:
    assert all(character == "\n" or character.isprintable() for character in said)
