"""The ends of a RoCE QoS chain: what a job wants, what a NIC does with it, what a switch port does with it.

IEEE 802.1Q (priorities, PFC), RFC 2474 (DSCP), RFC 3168 (ECN); RoCE congestion control: DCQCN, SIGCOMM 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netkit.model.missing import Missing
from netkit.model.qos import Trust

PRIORITIES = range(8)
DSCPS = range(64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a job asks for: the ToS byte of its data and of its control messages; None where it does not say."""

    traffic_class: int | None = None
    control_class: int | None = None

    @property
    def dscp(self) -> int:
        """The upper six bits of the ToS byte; NCCL sends 0 when nobody sets one."""
        return (self.traffic_class or 0) >> 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HostQos:
    """One port of a NIC. Sets hold priorities; sizes are bytes; `dscp_to_priority` lacks what nobody mapped."""

    interface: str
    trust: Trust | Missing
    dscp_to_priority: Mapping[int, int] | Missing
    default_priority: int = 0
    lossless: frozenset[int] | Missing
    ecn_notification: frozenset[int] | Missing
    ecn_reaction: frozenset[int] | Missing
    buffer_of_priority: tuple[int, ...] | Missing
    buffer_bytes: tuple[int, ...] | Missing
    cnp_dscp: int | Missing
    cnp_priority: int | Missing

    def priority_of(self, dscp: int) -> int | Missing:
        """Return the priority a packet of this DSCP gets when DSCP is trusted."""
        if isinstance(self.dscp_to_priority, Missing):
            return self.dscp_to_priority
        return self.dscp_to_priority.get(dscp, self.default_priority)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityGroup:
    """Buffer of one priority group of a switch port, in bytes; `xoff_bytes` is the headroom behind the threshold."""

    lossless: bool
    xoff_bytes: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """ECN marking of one queue: from `low_bytes` some, from `high_bytes` all packets of the share `probability`."""

    ecn: bool
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Watchdog:
    """PFC watchdog of a port, in seconds; `action` is what happens to a queue that stays paused."""

    detection_seconds: float
    restoration_seconds: float
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchQos:
    """One port of a switch. Maps that a switch does not state are the identity, as its documents say."""

    port: str
    dscp_to_class: Mapping[int, int]
    class_to_group: Mapping[int, int]
    class_to_queue: Mapping[int, int]
    priority_to_group: Mapping[int, int]
    priority_to_queue: Mapping[int, int]
    lossless: frozenset[int]
    groups: Mapping[int, PriorityGroup]
    marking: Mapping[int, Marking]
    strict_queues: frozenset[int]
    watchdog: Watchdog | None
    mtu_bytes: int | Missing
    cable_metres: int | None = None
    """The cable the switch works its headroom out for; None where nobody told it."""

    def class_of(self, dscp: int) -> int:
        """Return the traffic class of a DSCP; what no map names is class 0."""
        return self.dscp_to_class.get(dscp, 0)

    def group_of(self, traffic_class: int) -> int:
        """Return the priority group whose buffer a class fills."""
        return self.class_to_group.get(traffic_class, traffic_class)

    def queue_of(self, traffic_class: int) -> int:
        """Return the queue a class leaves by."""
        return self.class_to_queue.get(traffic_class, traffic_class)
