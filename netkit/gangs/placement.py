"""Which domains of the fabric (leaf, spine, …) lie around each node, as the cluster itself tells it.

Told by, in this order: Volcano's HyperNodes, Koordinator's ClusterNetworkTopology, Topology objects of Kueue and KAI,
topograph's labels. The first that places a node is believed. A level that holds every node alone (its host name) is no
level of the fabric.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from netkit.gangs.cluster import Cluster
from netkit.model.kube_object import KubeObject, text_of

Domains = Mapping[str, tuple[str, ...]]
"""By node: its domains, nearest first."""

_HOSTNAME = "kubernetes.io/hostname"
_TOPOGRAPH = "fabric.topograph.run/tier-"
_MOST_TIERS = 8
_LONGEST_PATTERN = 200


def domains_of(cluster: Cluster) -> tuple[str, Domains]:
    """Return who tells, and the domains of each node it tells of; nothing when nobody does."""
    for title, tell in _TELLERS:
        found = {node: path for node, path in tell(cluster).items() if path}
        if found:
            return title, found
    return "", {}


def _hypernodes(cluster: Cluster) -> Domains:
    """Follow HyperNodes from nodes upwards, tier by tier."""
    objects = cluster.objects("hypernodes.topology.volcano.sh")
    above: dict[tuple[str, str], str] = {}
    for one in sorted(objects, key=_tier):
        for kind, name in _members(one, cluster, objects):
            above.setdefault((kind, name), one.name)
    return {node.name: _upwards(node.name, above) for node in cluster.objects("nodes")}


def _tier(one: KubeObject) -> int:
    tier = one.number("spec", "tier")
    return tier if isinstance(tier, int) else 1 << 20


def _upwards(node: str, above: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    path: list[str] = []
    current = above.get(("Node", node))
    while current is not None and current not in path and len(path) < _MOST_TIERS:
        path.append(current)
        current = above.get(("HyperNode", current))
    return tuple(path)


def _members(one: KubeObject, cluster: Cluster, all_of_them: Iterable[KubeObject]) -> Iterable[tuple[str, str]]:
    for row in one.rows("spec", "members"):
        kind = text_of(row.get("type"))
        candidates = cluster.objects("nodes") if kind == "Node" else all_of_them
        selector = row.get("selector")
        yield from (
            (kind, other.name) for other in candidates if isinstance(selector, dict) and _selected(selector, other)
        )


def _selected(selector: Mapping[str, object], other: KubeObject) -> bool:
    exact, pattern, labels = (selector.get(key) for key in ("exactMatch", "regexMatch", "labelMatch"))
    if isinstance(exact, dict):
        return exact.get("name") == other.name
    if isinstance(pattern, dict):
        return _matches(text_of(pattern.get("pattern")), other.name)
    wanted = labels.get("matchLabels") if isinstance(labels, dict) else None
    return isinstance(wanted, dict) and bool(wanted) and all(other.label(key) == value for key, value in wanted.items())


def _matches(pattern: str, name: str) -> bool:
    # A pattern from outside must not cost more than a look: names are short, nested repeats are refused.
    if len(pattern) > _LONGEST_PATTERN or re.search(r"[+*}]\)?[+*{]", pattern):
        return False
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _by_labels(cluster: Cluster, nearest_first: Sequence[str]) -> Domains:
    keys = [key for key in nearest_first if key != _HOSTNAME]
    return {node.name: tuple(value for key in keys if (value := node.label(key))) for node in cluster.objects("nodes")}


def _levels_of(resource: str) -> Callable[[Cluster], Domains]:
    def tell(cluster: Cluster) -> Domains:
        found: dict[str, tuple[str, ...]] = {}
        for topology in cluster.objects(resource):
            levels = [text_of(row.get("nodeLabel")) for row in topology.rows("spec", "levels")]
            told = _by_labels(cluster, levels[::-1])
            found |= {node: path for node, path in told.items() if len(path) > len(found.get(node, ()))}
        return found

    return tell


def _cluster_network_topology(cluster: Cluster) -> Domains:
    keys: list[str] = []
    for topology in cluster.objects("clusternetworktopologies.scheduling.koordinator.sh"):
        rows = {text_of(row.get("topologyLayer")): row for row in topology.rows("spec", "networkTopologySpec")}
        parents = {text_of(row.get("parentTopologyLayer")) for row in rows.values()}
        layer = next((name for name in rows if name not in parents), "")
        while layer in rows and len(keys) < _MOST_TIERS:
            row = rows.pop(layer)
            labels = row.get("labelKey")
            keys += [text_of(label) for label in labels[:1]] if isinstance(labels, list) else []
            layer = text_of(row.get("parentTopologyLayer"))
    return _by_labels(cluster, keys)


def _topograph(cluster: Cluster) -> Domains:
    return _by_labels(cluster, [f"{_TOPOGRAPH}{tier}" for tier in range(_MOST_TIERS)])


_TELLERS: tuple[tuple[str, Callable[[Cluster], Domains]], ...] = (
    ("Volcano HyperNodes", _hypernodes),
    ("Koordinator ClusterNetworkTopology", _cluster_network_topology),
    ("Kueue Topology", _levels_of("topologies.kueue.x-k8s.io")),
    ("KAI Topology", _levels_of("topologies.kai.scheduler")),
    ("topograph labels", _topograph),
)


def distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many levels two paths (nearest first) lie apart: 0 below one leaf, 1 below one spine, and so on."""
    shared = 0
    for first, second in zip(reversed(one), reversed(other), strict=False):
        if first != second:
            break
        shared += 1
    return max(len(one), len(other)) - shared
