"""Who is admitted together, where they sit, which rank and devices each one holds: with evidence for every field.

Workload (what the user made), gang (what is admitted together) and placement (where a member sits) are three things:
a JobSet of two jobs may be one gang or two, and a placed pod may belong to none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from netkit.model.missing import Missing


class GangState(StrEnum):
    """Where a gang stands."""

    ADMITTED = "admitted"
    """At least the minimum of members sits on nodes."""
    PARTIAL = "partial"
    """Some members sit on nodes, fewer than the minimum."""
    PENDING = "pending"
    """The scheduler looked and found no place."""
    WAITING = "waiting"
    """Held back on purpose before the scheduler looks: a queue, a quota, a suspension."""
    FINISHED = "finished"
    UNKNOWN = "unknown"


class RankOf(StrEnum):
    """What a rank counts."""

    PROCESS = "process"
    NODE = "node"
    """One per pod: the launcher derives process ranks from it."""


class DeviceKind(StrEnum):
    """What a device is."""

    GPU = "gpu"
    NIC = "nic"
    NPU = "npu"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where a value comes from: an object and a field of it, and the system whose meaning was applied."""

    object: str
    field: str
    value: str
    system: str
    declared: bool = True
    """False: inferred, such as a rank from the end of a pod's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What the user made, as far up the owners as could be seen."""

    kind: str
    namespace: str
    name: str
    uid: str
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """The number of a member in its gang."""

    number: int
    of: RankOf
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device a container holds, as one source tells it; what the source does not tell is empty or None."""

    kind: DeviceKind
    id: str
    source: str
    container: str = ""
    resource: str = ""
    """The resource or request it answers, such as nvidia.com/gpu."""
    pci: str | None = None
    pcie_root: str = ""
    pcie_switch: str = ""
    """Any name that GPU and NIC below one PCIe switch share."""
    numa: int | None = None
    rdma: str = ""
    """RDMA device name, such as mlx5_0."""
    interface: str = ""
    healthy: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a member sits: its node, and the domains of the fabric around it, nearest (leaf) first."""

    node: str
    domains: tuple[str, ...] = ()

    @property
    def leaf(self) -> str:
        """The nearest domain, empty when the cluster does not tell."""
        return self.domains[0] if self.domains else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One pod of a gang. Its key is namespace, name and uid together: names repeat over namespaces and restarts."""

    namespace: str
    pod: str
    uid: str
    phase: str
    group: str = ""
    """The part of the gang it belongs to: a task, a sub-group, a replica type."""
    placement: Placement | None = None
    rank: Rank | Missing
    devices: tuple[Device, ...] = ()
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """Members that are admitted together."""

    namespace: str
    name: str
    workload: Workload | None
    systems: tuple[str, ...]
    """Every system that claims members of it; the one that admits comes first."""
    min_members: int | Missing
    total: int | Missing
    state: GangState
    why: str
    members: tuple[Member, ...]
    evidence: tuple[Evidence, ...] = ()
    problems: tuple[str, ...] = field(default=())
    """What was declared and could not be used."""

    @property
    def key(self) -> str:
        """The gang as a person names it: namespace/name."""
        return f"{self.namespace}/{self.name}"
