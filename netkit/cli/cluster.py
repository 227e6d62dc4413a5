"""Where commands about gangs get a cluster from: an API server, or a bundle recorded from one."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.output import talk
from netkit.errors import InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.catalogue.kube_resources import Use
    from netkit.model.gang_snapshot import GangSnapshot
    from netkit.model.kube_object import KubeObject
    from netkit.model.missing import Missing

_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SELECTOR = re.compile(r"[\w./!=,() -]{1,500}")

NamespaceOption = Annotated[
    str | None, typer.Option("-n", "--namespace", help="Namespace; default: that of the context.", show_default=False)
]
AllOption = Annotated[bool, typer.Option("-A", "--all-namespaces", help="Look in all namespaces.")]
BundleOption = Annotated[
    Path | None,
    typer.Option(
        "--bundle", help="Read a recorded cluster instead (netkit gang bundle).", show_default=False, metavar="FILE"
    ),
]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option("--kubeconfig", help="Default: KUBECONFIG, ~/.kube/config.", show_default=False, metavar="FILE"),
]
ContextOption = Annotated[
    str | None, typer.Option("--context", help="Context of the kubeconfig.", show_default=False, metavar="NAME")
]
SelectorOption = Annotated[
    str | None,
    typer.Option("-l", "--selector", help="Take pods with these labels as one gang.", show_default=False),
]
DeadlineOption = Annotated[
    float, typer.Option("--deadline", help="Give up reading after this many seconds.", metavar="SECONDS")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlace:
    """What the options say about where to look; checked when made."""

    namespace: str | None = None
    everywhere: bool = False
    bundle: Path | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    selector: str | None = None
    deadline_s: float = 120.0

    def __post_init__(self) -> None:
        if self.namespace is not None and not _NAMESPACE.fullmatch(self.namespace):
            raise InputError(f"namespace {visible(self.namespace)!r}", "small letters, digits and dashes, at most 63")
        if self.namespace is not None and self.everywhere:
            raise InputError("--namespace with --all-namespaces", "one or the other")
        if self.bundle is not None and (self.kubeconfig is not None or self.context is not None):
            raise InputError("--bundle with --kubeconfig or --context", "one or the other")
        if self.selector is not None and not _SELECTOR.fullmatch(self.selector):
            raise InputError(f"selector {visible(self.selector, 80)!r}", "a label selector such as app=train")
        if not 0 < self.deadline_s <= 3600:
            raise InputError(f"--deadline {self.deadline_s:g}", "seconds above 0, at most 3600")


def snapshot_of(place: ClusterPlace, *uses: Use) -> GangSnapshot:
    """Return what the options name: a bundle as it was recorded, or a cluster as it is now."""
    if place.bundle is not None:
        from netkit.sources.kube.bundle import load

        return _within(load(place.bundle), place)
    from functools import partial

    from netkit.catalogue.kube_resources import resources_for
    from netkit.sources.kube.api import Api, Limits
    from netkit.sources.kube.config import open_access
    from netkit.sources.kube.snapshot import read_snapshot

    api = Api(partial(open_access, place.kubeconfig, place.context), Limits(total_s=place.deadline_s))
    try:
        talk_of(api.access.warnings)
        namespace = "" if place.everywhere else place.namespace or api.access.namespace
        return read_snapshot(
            api, resources_for(*uses), namespace=namespace, taken_at=time.time(), selector=place.selector or ""
        )
    finally:
        api.close()


def talk_of(warnings: Iterable[str]) -> None:
    """Say what is odd about the way into a cluster."""
    for warning in warnings:
        talk(f"netkit: warning: {warning}")


def boots(nodes: Iterable[KubeObject]) -> dict[str, str]:
    """Return which boot of itself each node is in, as its kubelet tells."""
    return {node.name: node.text("status", "nodeInfo", "bootID") for node in nodes}


def boots_now(place: ClusterPlace) -> dict[str, str]:
    """Return the same, read from the cluster now; nothing where it cannot be."""
    from netkit.catalogue.kube_resources import Use
    from netkit.errors import SourceError

    try:
        return boots(snapshot_of(place, Use.FABRIC).objects("nodes"))
    except SourceError:
        return {}


def _within(snapshot: GangSnapshot, place: ClusterPlace) -> GangSnapshot:
    """Return the part of a bundle that the options ask for; without them, all of it."""
    from netkit.model.gang_snapshot import GangSnapshot
    from netkit.model.missing import Missing

    if place.namespace is None:
        return snapshot
    wanted = {"", place.namespace}
    listings = {
        name: found if isinstance(found, Missing) else tuple(one for one in found if one.namespace in wanted)
        for name, found in snapshot.listings.items()
    }
    return GangSnapshot(
        server=snapshot.server, namespace=place.namespace, taken_at=snapshot.taken_at, listings=listings
    )


def incomplete(snapshot: GangSnapshot) -> tuple[Missing, ...]:
    """Return what could not be read and which gangs that may hide, without what the cluster simply does not have."""
    from dataclasses import replace

    from netkit.gangs.systems import systems
    from netkit.model.missing import Reason

    found = []
    for name, missing in snapshot.missing().items():
        titles = [system.title for system in systems() if name in system.resources]
        hidden = f"gangs of {', '.join(titles)} may be incomplete" if titles else ""
        if missing.reason is not Reason.ABSENT:
            found.append(replace(missing, detail="; ".join(filter(None, (missing.detail, hidden)))))
    return tuple(found)


def where_of(snapshot: GangSnapshot) -> str:
    """Return where was looked, as a phrase."""
    return f"namespace {snapshot.namespace}" if snapshot.namespace else "all namespaces"


def names(found: Iterable[str], most: int = 20) -> str:
    """Return names as a list for an error message."""
    listed = list(found)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
