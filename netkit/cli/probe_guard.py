"""Options of a probe in a cluster that others use too, and the guard they ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.probe_own_gang import operator
from netkit.cli.probing import require
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.cli.cluster import ClusterPlace
    from netkit.probe.probe_plan import GangPlan
    from netkit.probe.safety.guard import Guard

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_WAIT_SECONDS = 86400.0
# Until the last agent has been started, counted from when the lock was taken.
_STARTING_SECONDS = 180.0

LockNamespaceOption = Annotated[
    str, typer.Option("--lock-namespace", help="Where the locks and the policy of this cluster are; one for all.")
]
WaitOption = Annotated[
    float, typer.Option("--wait", help="Wait this long for nodes that another probe holds.", metavar="SECONDS")
]
AgainOption = Annotated[
    str | None,
    typer.Option(
        "--again",
        help="Probe nodes again that are to be left alone for a while; the reason stays on their leases.",
        metavar="REASON",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardWishes:
    """What the options ask for; checked when made."""

    namespace: str
    wait_seconds: float
    again: str | None

    def __post_init__(self) -> None:
        lock_namespace_checked(self.namespace)
        waits = 0 <= self.wait_seconds <= _LONGEST_WAIT_SECONDS
        require(waits, f"--wait {self.wait_seconds:g}", f"0 to {_LONGEST_WAIT_SECONDS:g} seconds")
        require(self.again is None or self.again.strip(), "--again ''", "a reason in a few words")


def lock_namespace_checked(given: str) -> str:
    """Return the name of a namespace, or raise InputError."""
    require(_LABEL.fullmatch(given), f"--lock-namespace {visible(given, 80)!r}", "the name of a namespace")
    return given


def guard_of(
    plan: GangPlan,
    wishes: GuardWishes,
    place: ClusterPlace,
    *,
    probe: str,
    lifetime_seconds: float,
    cluster_nodes: int,
) -> Guard:
    """Return the guard of a planned probe; nothing is asked of the cluster yet."""
    from functools import partial

    from netkit.probe.safety.guard import Guard, Stake
    from netkit.probe.safety.lease import Claim
    from netkit.probe.safety.leases import Leases
    from netkit.probe.safety.lock import NodeLock
    from netkit.sources.kube.api import Api, Limits
    from netkit.sources.kube.config import open_access

    claim = Claim(
        probe=probe,
        operator=operator(),
        gang=plan.gang,
        seconds=lifetime_seconds + _STARTING_SECONDS,
        again=visible(wishes.again or "", 200),
    )
    nodes = {target.pod.node for target in plan.targets}
    stake = Stake(
        cluster_nodes=max(cluster_nodes, len(nodes)),
        gpu_minutes=plan.accelerator_minutes,
        wait_seconds=wishes.wait_seconds,
    )
    api = Api(partial(open_access, place.kubeconfig, place.context), Limits(total_s=20.0))
    return Guard(NodeLock(Leases(api, wishes.namespace), claim, nodes), stake)
