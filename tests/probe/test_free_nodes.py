"""Which nodes a burn-in takes, and what it says of the others."""

from __future__ import annotations

from typing import Any

import pytest

from netkit.errors import InputError
from netkit.probe.free_nodes import NodeChoice, accelerators_alike, choose, targets_on
from netkit.sources.kube.objects import object_of
from tests.gangs.synthetic_cluster import pod, thing

Body = dict[str, Any]
READY = [{"type": "Ready", "status": "True"}]
GPUS = {"nvidia.com/gpu": "8", "cpu": "96"}
HOLDS_ALL = {"limits": {"nvidia.com/gpu": "8"}}


def node(name: str = "gpu-0", **more: Any) -> Body:
    """A node that is free unless told otherwise: `allocatable`, `conditions`, `spec`."""
    status = {"allocatable": more.get("allocatable", GPUS), "conditions": more.get("conditions", READY)}
    return thing("v1", "Node", name, metadata={"namespace": ""}, spec=more.get("spec", {}), status=status)


def taint(key: str, effect: str = "NoSchedule") -> Body:
    return {"taints": [{"key": key, "effect": effect}]}


def chosen(nodes: list[Body], *pods: Body) -> NodeChoice:
    domains = {"gpu-0": ("leaf-a", "spine-a")}
    return choose([object_of(one, "nodes") for one in nodes], [object_of(one, "pods") for one in pods], domains)


CLAIM = {"resourceClaims": [{"name": "gpus"}]}
OTHERS = [
    ({"conditions": []}, (), "it is not ready"),
    ({"conditions": [{"type": "Ready", "status": "Unknown"}]}, (), "it is not ready"),
    ({"spec": {"unschedulable": True}}, (), "it is cordoned"),
    ({"allocatable": {"cpu": "96"}}, (), "it has no GPU that can be asked for"),
    ({"allocatable": {"nvidia.com/gpu": "0"}}, (), "it has no GPU that can be asked for"),
    ({"allocatable": {"nvidia.com/gpu": "many"}}, (), "it has no GPU that can be asked for"),
    ({"spec": taint("team-b", "NoExecute")}, (), "it bears the taint team-b:NoExecute"),
    ({}, (pod("train-0", "gpu-0", resources=HOLDS_ALL),), "8 of 8 GPUs are held by team-a/train-0"),
    ({}, (pod("train-0", "gpu-0", resources=HOLDS_ALL, phase="Pending"),), "8 of 8 GPUs are held by team-a/train-0"),
    ({}, (pod("train-0", "gpu-0", resources={"limits": {"nvidia.com/gpu": "1"}}),), "1 of 8 GPUs are held by team-a/"),
    ({}, (pod("train-0", "gpu-0", spec=CLAIM),), "1 of 8 GPUs are held by team-a/train-0"),
    (
        {},
        tuple(pod(f"p-{at}", "gpu-0", resources={"limits": {"nvidia.com/gpu": "1"}}) for at in range(5)),
        "5 of 8 GPUs are held by team-a/p-0, team-a/p-1, team-a/p-2 and 2 more",
    ),
]


@pytest.mark.parametrize(("shape", "pods", "why"), OTHERS)
def test_a_node_that_is_not_free_is_left_alone_with_the_reason(shape: Body, pods: tuple[Body, ...], why: str) -> None:
    """What a scheduler would say; a pod that is still starting holds its GPUs already."""
    choice = chosen([node(**shape)], *pods)
    assert choice.free == ()
    assert choice.left_out["gpu-0"].startswith(why)


FREE = [
    ({}, ()),
    ({"spec": taint("nvidia.com/gpu")}, ()),
    ({"spec": taint("team-b", "PreferNoSchedule")}, ()),
    ({}, (pod("agent", "gpu-0", resources={"limits": {"cpu": "1"}}),)),
    ({}, (pod("elsewhere", "gpu-1", resources=HOLDS_ALL),)),
    ({}, (pod("done", "gpu-0", resources=HOLDS_ALL, phase="Succeeded"),)),
]


@pytest.mark.parametrize(("shape", "pods"), FREE)
def test_a_node_whose_gpus_nobody_holds_is_free(shape: Body, pods: tuple[Body, ...]) -> None:
    """Pods without GPUs, pods that ended, and taints that only keep those without GPUs away do not matter."""
    [free] = chosen([node(**shape)], *pods).free
    assert (free.name, free.leaf, free.accelerators) == ("gpu-0", "leaf-a", {"nvidia.com/gpu": 8})


def test_the_taint_of_gpu_nodes_is_tolerated_and_no_other() -> None:
    """A pod of the probe lives with exactly what keeps it out."""
    [free] = chosen([node(spec=taint("nvidia.com/gpu"))]).free
    assert free.tolerations == ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)
    assert chosen([node()]).free[0].tolerations == ()


def test_nodes_of_two_kinds_are_not_one_gang() -> None:
    """All pods of a gang ask for the same: how many of which kind there are is said."""
    choice = chosen([node("a"), node("b"), node("c", allocatable={"nvidia.com/gpu": "4"})])
    with pytest.raises(InputError, match=r"2 with nvidia.com/gpu=8; 1 with nvidia.com/gpu=4: accepted is a selector"):
        accelerators_alike(choice)
    assert accelerators_alike(chosen([node("a"), node("b")])) == {"nvidia.com/gpu": 8}


def test_targets_are_nodes_in_order_with_their_leaf() -> None:
    """Pods to come have no name yet."""
    targets = targets_on(chosen([node("gpu-1"), node("gpu-0")]), "probes")
    assert [(one.pod.member, one.pod.pod, one.accelerators, one.leaf) for one in targets] == [
        ("gpu-0", "", 8, "leaf-a"),
        ("gpu-1", "", 8, ""),
    ]
