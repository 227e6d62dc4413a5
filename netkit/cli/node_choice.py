"""Which nodes of a cluster a command is about: those of a label selector, with the pods on them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netkit.cli.cluster import ClusterPlace, boots, talk_of
from netkit.errors import InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.probe.free_nodes import NodeChoice

_BAD_REQUEST = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenNodes:
    """The nodes of a selection, which boot each node of the cluster is in, and the namespace of the context."""

    choice: NodeChoice
    boots: Mapping[str, str]
    namespace: str


def chosen_nodes(selector: str, place: ClusterPlace) -> ChosenNodes:
    """Return the free nodes of a selection, and the others with their reasons.

    Raises:
        InputError: the selector cannot be understood, or chooses fewer than two free nodes.
    """
    from functools import partial

    from netkit.catalogue.kube_resources import RESOURCES, Use, resources_for
    from netkit.gangs.cluster import Cluster
    from netkit.gangs.placement import domains_of
    from netkit.probe.free_nodes import choose
    from netkit.sources.kube.api import Api, Limits, RefusedError
    from netkit.sources.kube.config import open_access
    from netkit.sources.kube.snapshot import read_snapshot

    pods, nodes = (next(row for row in RESOURCES if row.name == name) for name in ("pods", "nodes"))
    api = Api(partial(open_access, place.kubeconfig, place.context), Limits(total_s=place.deadline_s))
    try:
        talk_of(api.access.warnings)
        namespace = api.access.namespace
        selected = {node.name for node in api.objects(nodes, "v1", "", selector)}
        snapshot = read_snapshot(api, (pods, *resources_for(Use.FABRIC)), namespace="", taken_at=time.time())
    except RefusedError as refused:
        if refused.status != _BAD_REQUEST:
            raise
        raise InputError(
            f"selector {visible(selector, 80)!r}", "a label selector of nodes such as pool=h100"
        ) from refused
    finally:
        api.close()
    cluster = Cluster(snapshot)
    known = cluster.objects("nodes")
    choice = choose((node for node in known if node.name in selected), cluster.pods, domains_of(cluster)[1])
    _require_two(choice, selector)
    return ChosenNodes(choice=choice, boots=boots(known), namespace=namespace)


def _require_two(choice: NodeChoice, selector: str) -> None:
    """Raise InputError unless there are two free nodes, with the reason why there are not."""
    if len(choice.free) >= 2:
        return
    found = len(choice.free) + len(choice.left_out)
    reasons = "; ".join(f"{node}: {why}" for node, why in list(choice.left_out.items())[:5])
    why = f" ({reasons})" if reasons else ""
    given = f"selector {visible(selector, 80)!r} with {found} nodes, of which {len(choice.free)} are free{why}"
    raise InputError(given, "a label selector of nodes of which two or more are free, such as pool=h100")
