"""Processes that use a GPU or an RDMA device of a node, and the pods they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.missing import Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process; `pid` in the reader's PID namespace, `started_seconds` since boot tells it from a later one."""

    pid: int
    name: str
    started_seconds: float | Missing
    control_group: str | Missing
    pod: str | Missing
    """The pod's UID, from the names Kubernetes gives control groups."""
    container: str | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTable:
    """Those asked for that were there; `ended` counts those that ended meanwhile, `denied` those that may not be seen.

    `hidden` says why processes of others cannot be seen from here; None when they can.
    """

    processes: tuple[Process, ...]
    ended: int
    denied: int
    hidden: Missing | None
