"""Where nodes sit in the fabric, by every system that tells it, and by a file."""

from __future__ import annotations

import pytest

from netkit.errors import InputError
from netkit.gangs.cluster import Cluster
from netkit.gangs.fabric_file import parse_fabric
from netkit.gangs.placement import distance, domains_of
from tests.gangs.synthetic_cluster import Body, snapshot, thing

WHOLE = {"namespace": ""}
LABELS = {"rack": "r1", "block": "b1", "kubernetes.io/hostname": "n0", "fabric.topograph.run/tier-0": "leaf7"}


def node(name: str, **labels: str) -> Body:
    return thing("v1", "Node", name, metadata=WHOLE | {"labels": labels})


def hypernode(name: str, tier: int, *members: Body) -> Body:
    return thing(
        "topology.volcano.sh/v1alpha1", "HyperNode", name, spec={"tier": tier, "members": list(members)}, metadata=WHOLE
    )


def exact(kind: str, name: str) -> Body:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def levels(api: str, *labels: str) -> Body:
    return thing(api, "Topology", "t", spec={"levels": [{"nodeLabel": label} for label in labels]}, metadata=WHOLE)


HYPERNODES = (
    node("n0"),
    node("n1"),
    node("gpu-7", zone="a"),
    hypernode("s0", 1, exact("Node", "n0"), {"type": "Node", "selector": {"regexMatch": {"pattern": "^n1$"}}}),
    hypernode("s1", 1, {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"zone": "a"}}}}),
    hypernode("top", 2, exact("HyperNode", "s0"), exact("HyperNode", "s1")),
)
LAYERS = [
    {"topologyLayer": "spine", "labelKey": ["block"]},
    {"topologyLayer": "leaf", "parentTopologyLayer": "spine", "labelKey": ["rack"]},
]
KOORDINATOR = thing(
    "scheduling.koordinator.sh/v1alpha1",
    "ClusterNetworkTopology",
    "default",
    spec={"networkTopologySpec": LAYERS},
    metadata=WHOLE,
)


def told(*bodies: Body) -> tuple[str, dict[str, tuple[str, ...]]]:
    title, found = domains_of(Cluster(snapshot(*bodies)))
    return title, dict(found)


def test_hypernodes_are_followed_upwards() -> None:
    """By name, by pattern, by label, tier over tier."""
    assert told(*HYPERNODES) == (
        "Volcano HyperNodes",
        {"n0": ("s0", "top"), "n1": ("s0", "top"), "gpu-7": ("s1", "top")},
    )


@pytest.mark.parametrize("pattern", ["(a+)+$", "[", "x" * 300])
def test_a_pattern_that_cannot_be_used_selects_nothing(pattern: str) -> None:
    """Neither a broken one nor one that could run for ever."""
    body = hypernode("s0", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}})
    assert told(node("a" * 40 + "b"), body) == ("", {})


def test_circles_of_hypernodes_end() -> None:
    """Each is named once."""
    bodies = (
        node("n0"),
        hypernode("a", 1, exact("Node", "n0"), exact("HyperNode", "b")),
        hypernode("b", 2, exact("HyperNode", "a")),
    )
    assert told(*bodies)[1] == {"n0": ("a", "b")}


@pytest.mark.parametrize(
    ("body", "title", "path"),
    [
        (levels("kueue.x-k8s.io/v1beta1", "block", "rack", "kubernetes.io/hostname"), "Kueue Topology", ("r1", "b1")),
        (levels("kai.scheduler/v1alpha1", "block", "rack"), "KAI Topology", ("r1", "b1")),
        (KOORDINATOR, "Koordinator ClusterNetworkTopology", ("r1", "b1")),
        (node("n9"), "topograph labels", ("leaf7",)),
    ],
)
def test_labels_are_read_in_the_order_each_system_states(body: Body, title: str, path: tuple[str, ...]) -> None:
    """Nearest first, whatever the system's own direction; a host name is no level."""
    assert told(node("n0", **LABELS), body) == (title, {"n0": path})


def test_nobody_tells() -> None:
    """Unknown stays unknown."""
    assert told(node("n0")) == ("", {})


def test_a_file_tells_too() -> None:
    """Comments and blank lines are passed over."""
    assert parse_fabric("# fabric\nn0 leaf1 spine1\n\nn1 leaf2 spine1  # far\n", "f") == {
        "n0": ("leaf1", "spine1"),
        "n1": ("leaf2", "spine1"),
    }


@pytest.mark.parametrize("text", ["", "n0\n", "n0 a\nn0 b\n"])
def test_a_bad_file_is_one_line(text: str) -> None:
    """Which line, and what a line should be."""
    with pytest.raises(InputError, match="accepted is"):
        parse_fabric(text, "fabric")


def test_distance_counts_levels() -> None:
    """0 below one leaf, 1 below one spine; nothing shared is the whole height."""
    assert [distance(("a", "s"), other) for other in (("a", "s"), ("b", "s"), ("b", "t"))] == [0, 1, 2]
