"""Fake nodes that kwok keeps ready, in pools of eight machines of eight GPUs: four under each of two leaves.

Every scheduler of the tests has a pool of its own: none sees a node full that another one filled.
"""

from __future__ import annotations

from tests.e2e.kube.api import Api, Object
from tests.e2e.kube.processes import wait_until

POOLS = ("volcano", "kueue", "jobset", "native", "probe")
NODES_PER_POOL, NODES_PER_LEAF = 8, 4
GPUS_PER_NODE = 8
READY_SECONDS = 30
# The labels that topograph writes: https://github.com/NVIDIA/topograph.
LEAF = "fabric.topograph.run/tier-0"
CAPACITY = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(GPUS_PER_NODE), "rdma/hca": "8"}


def add_nodes(api: Api) -> None:
    """Create the nodes and wait until kwok says that all are ready."""
    nodes = [_node(pool, index) for pool in POOLS for index in range(NODES_PER_POOL)]
    for node in nodes:
        api.create("/api/v1/nodes", node)
    wait_until(lambda: _ready(api) == len(nodes), READY_SECONDS, lambda: f"{_ready(api)} of {len(nodes)} nodes ready")


def _node(pool: str, index: int) -> Object:
    name = f"{pool}-{index}"
    labels = {"pool": pool, LEAF: f"{pool}-leaf-{index // NODES_PER_LEAF}", "kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": CAPACITY, "allocatable": CAPACITY},
    }


def _ready(api: Api) -> int:
    return sum(
        condition["type"] == "Ready" and condition["status"] == "True"
        for node in api.items("/api/v1/nodes")
        for condition in node.get("status", {}).get("conditions", ())
    )
