"""What a probe plans, measures and concludes.

Vocabulary: a *port* is one rail of one node; a *rail* is the index of a NIC, the same on every node; a *leaf*
is the switch that the ports of one rail and one group of nodes share; an *uplink* joins a leaf to the other
leaves of its rail. Rates are bytes per second of payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from netkit.model.finding import Severity
from netkit.model.gang import Device
from netkit.model.missing import Missing


class Distance(StrEnum):
    """How far apart the members of a group sit; readings are only compared within one distance."""

    INTRA = "intra"
    """Inside one node: what its own processor can move."""
    NEAR = "near"
    """Under one leaf."""
    FAR = "far"
    """Across leaves."""


class RoundKind(StrEnum):
    """Why a round is run."""

    INTRA = "intra"
    MATCHING = "matching"
    CONFIRM = "confirm"


class Direction(StrEnum):
    """Which side of a port is slow, seen from its node."""

    TX = "tx"
    RX = "rx"
    BOTH = "both"


class FaultClass(StrEnum):
    """The component a finding blames."""

    RAIL = "rail"
    """One rail of one node."""
    NODE = "node"
    """Every rail of one node."""
    LEAF = "leaf"
    """Every port under one leaf."""
    UPLINK = "uplink"
    """Traffic that leaves one leaf."""
    PAIR = "pair"
    """One pair of ports, each of them clean with other partners."""
    UNIFORM = "uniform"
    """Everything alike, against the line rate."""


class Answer(StrEnum):
    """The one-word verdict."""

    HEALTHY = "healthy"
    SLOW = "slow"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """The gang to probe: its nodes, its rails, and what is known of the switches between them.

    `leaf_of` maps a node to the name of its leaf group (the same group on every rail), or is empty when
    nobody said; `line_rate` is payload bytes per second of one port, or None when nobody said.
    """

    nodes: tuple[str, ...]
    rails: int
    leaf_of: Mapping[str, str] = field(default_factory=dict)
    line_rate: float | None = None

    @property
    def ports(self) -> int:
        """How many (node, rail) pairs can be blamed."""
        return len(self.nodes) * self.rails


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Nodes measured together, on each of `rails` separately. A pair has two nodes; intra-node has one."""

    nodes: tuple[str, ...]
    rails: tuple[int, ...]
    distance: Distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Groups that run at the same time; no port is in two groups of one round."""

    number: int
    kind: RoundKind
    groups: tuple[Group, ...]
    sitting_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one group measured on one rail.

    `forward` is the rate from the first node of the pair to the second, `reverse` the other way; both None when
    `missing` says why. `spread` is the relative median absolute deviation over the iterations.
    `cpu_bound` marks a rate that the processors, not the network, set: it is never held against a link.
    `tool_failed` marks a reading that is missing for what a benchmark did or did not do: it accuses no link either.
    """

    round: int
    rail: int
    nodes: tuple[str, ...]
    distance: Distance
    forward: float | None = None
    reverse: float | None = None
    spread: float | None = None
    cpu_bound: bool = False
    missing: Missing | None = None
    tool_failed: bool = False

    @property
    def rate(self) -> float | None:
        """The slower direction: one slow side of one port shows in full."""
        if self.forward is None or self.reverse is None:
            return None
        return min(self.forward, self.reverse)


@dataclass(frozen=True, slots=True, kw_only=True)
class GangReading:
    """A collective over all nodes of one rail: the symptom a training job sees. Rates are bytes per second."""

    rail: int
    ranks: int
    bytes: int
    busbw: float | None
    missing: Missing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLevel:
    """The noise of one distance class, estimated from the run itself.

    `sigma` is the relative standard deviation of the core, `dips` the share of readings that fell low once and
    did not repeat, `center` the healthy rate, `readings` how many readings it rests on.
    """

    distance: Distance
    center: float
    sigma: float
    dips: float
    readings: int
    smallest_slowdown: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFinding:
    """One component that is slow, with the evidence and what to do next.

    Fields that do not apply to the class are None: `node` for leaf, uplink, uniform; `peer` except for pair.
    """

    id: str
    fault_class: FaultClass
    node: str | None
    rail: int | None
    direction: Direction
    slowdown: float
    severity: Severity
    summary: str
    evidence: tuple[str, ...]
    next: tuple[str, ...]
    leaf: str | None = None
    peer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the probe concludes, and the smallest slowdown it could have seen (None: nothing could be seen)."""

    answer: Answer
    why: str
    findings: tuple[ProbeFinding, ...]
    smallest_detectable_slowdown: float | None
    noise: tuple[NoiseLevel, ...] = ()
    not_seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementFinding:
    """GPUs of one node that use the wrong NIC, as the node's own device tree shows it; no traffic was needed."""

    node: str
    gpus: tuple[str, ...]
    severity: Severity
    summary: str
    evidence: tuple[str, ...]
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedPod:
    """One pod that a member of the probe ran in; `member` is the name its readings are under."""

    member: str
    namespace: str
    pod: str
    uid: str
    node: str
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    """Everything one probe run did, measured and concluded: the one object behind every output form.

    `transport` labels how traffic ran (`namespaces`, `emulated`, `loopback`, `ssh`, `pods`); `started_at` is UTC,
    ISO 8601.
    """

    tool_version: str
    name: str
    transport: str
    started_at: str
    seconds: float
    seed: int
    fabric: Fabric
    rounds: tuple[Round, ...]
    readings: tuple[Reading, ...]
    gang_readings: tuple[GangReading, ...]
    verdict: Verdict
    warnings: tuple[str, ...] = ()
    placement: tuple[PlacementFinding, ...] = ()
    pods: tuple[ProbedPod, ...] = ()
    """Empty outside Kubernetes."""
    backend: str = "socket"
    """What measured: netkit's own sockets, or a benchmark by its id."""
