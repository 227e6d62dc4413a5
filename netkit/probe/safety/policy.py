"""What the owners of a cluster allow probes: a ConfigMap `netkit-probes` beside the leases; defaults without one. Pure.

`kubectl create configmap netkit-probes -n netkit --from-literal=stop='switches are upgraded'` stops every probe within
seconds and refuses new ones, until the key is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from netkit.catalogue.kube_roles import CONFIG_MAP
from netkit.errors import InputError
from netkit.model.kube_object import KubeObject
from netkit.model.text import visible
from netkit.model.units import show_duration

STOP = "stop"
# In a small cluster a share of the nodes is less than any gang.
_ALWAYS_NODES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Budgets of a cluster; each field is the key of the same name, with dashes."""

    stop: str = ""
    """Why no probe may run; empty when they may."""
    probes_at_once: int = 1
    nodes_at_once: int = 500
    percent_of_nodes: int = 25
    """Of the cluster's nodes, but never fewer than 16."""
    gpu_minutes: int = 2000
    """For one probe."""
    cool_down_minutes: int = 10
    """From the start of one probe of a node to the next."""

    def most_nodes(self, cluster_nodes: int) -> int:
        """Return how many nodes may be under probes at once."""
        return min(self.nodes_at_once, max(_ALWAYS_NODES, cluster_nodes * self.percent_of_nodes // 100))


_NUMBERS = {
    "probes-at-once": (1, 100),
    "nodes-at-once": (2, 100_000),
    "percent-of-nodes": (1, 100),
    "gpu-minutes": (0, 10_000_000),
    "cool-down-minutes": (0, 100_000),
}


def policy_of(config_map: KubeObject | None) -> Policy:
    """Return what a ConfigMap says.

    Raises:
        InputError: a key or a value in it is none that is known: a limit that is misread is no limit.
    """
    data = dict(config_map.fields("data")) if config_map else {}
    if STOP in data:
        return Policy(stop=visible(str(data[STOP]).strip(), 300) or "no reason is given")
    unknown = sorted(set(data) - set(_NUMBERS))
    if unknown:
        given = f"ConfigMap {CONFIG_MAP} with the key {visible(unknown[0], 80)!r}"
        raise InputError(given, ", ".join((STOP, *_NUMBERS)))
    limits: dict[str, Any] = {key.replace("-", "_"): _number(key, str(value)) for key, value in data.items()}
    return replace(Policy(), **limits)


def _number(key: str, text: str) -> int:
    low, high = _NUMBERS[key]
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and len(digits) < 10 and low <= int(digits) <= high:
        return int(digits)
    raise InputError(f"ConfigMap {CONFIG_MAP}: {key}={visible(text, 80)!r}", f"a whole number, {low} to {high}")


def over_budget(policy: Policy, *, nodes: int, cluster_nodes: int, gpu_minutes: float) -> Iterator[str]:
    """Yield what a plan would take beyond what is allowed, each with both figures."""
    most = policy.most_nodes(cluster_nodes)
    if nodes > most:
        yield f"{nodes} of {cluster_nodes} nodes, {most} may be under probes at once"
    if gpu_minutes > policy.gpu_minutes:
        yield f"{gpu_minutes:.0f} GPU-minutes, a probe may take {policy.gpu_minutes}"


def cooling(policy: Policy, probed: datetime | None, now: datetime | None) -> str:
    """Return how long a node must still be left alone; both times are the API server's own. Empty when it need not."""
    if probed is None or now is None:
        return ""
    left = timedelta(minutes=policy.cool_down_minutes) - (now - probed)
    return show_duration(left.total_seconds()) if left > timedelta(0) else ""
