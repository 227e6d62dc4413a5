"""Quality of service of one Ethernet port: which priorities are lossless, how traffic shares the wire.

IEEE 802.1Qbb (PFC), 802.1Qaz (ETS, application priorities), Linux include/uapi/linux/dcbnl.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.model.missing import Missing


class AppSelector(StrEnum):
    """What an application entry matches on."""

    DEFAULT = "default"
    ETHERTYPE = "ethertype"
    STREAM_PORT = "stream-port"
    DATAGRAM_PORT = "datagram-port"
    ANY_PORT = "port"
    DSCP = "dscp"
    PCP = "pcp"


class Trust(StrEnum):
    """Which mark of a packet decides its priority."""

    PCP = "pcp"
    DSCP = "dscp"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityFlowControl:
    """PFC: `enabled` by priority 0 to 7; frames counted since the driver loaded, where the driver keeps them fresh."""

    classes_supported: int
    enabled: tuple[bool, ...]
    bypasses_macsec: bool
    delay_bits: int
    """What may still arrive after a pause was asked for; the driver derives it from the cable's length."""
    requests: tuple[int, ...]
    """Pause frames sent, by priority; mlx5 fills them from memory that only `ethtool -S` refreshes."""
    indications: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransmissionSelection:
    """ETS: how traffic classes share the wire (`bandwidth_percent` matters for those whose algorithm is `ets`)."""

    willing: bool
    classes_supported: int
    credit_shaper: bool
    bandwidth_percent: tuple[int, ...]
    algorithm: tuple[str, ...]
    class_of_priority: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPriority:
    """Packets with this protocol value (a DSCP, a port, an ethertype) get this priority."""

    selector: AppSelector | Missing
    protocol: int
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiveBuffers:
    """The port's receive buffers; `buffer_of_priority` names the one each priority fills."""

    buffer_of_priority: tuple[int, ...]
    size_bytes: tuple[int, ...]
    total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dcb:
    """Everything data center bridging says about one interface; Missing where the driver does not take part."""

    interface: str
    flow_control: PriorityFlowControl | Missing
    selection: TransmissionSelection | Missing
    app_priorities: tuple[AppPriority, ...] | Missing
    trust: tuple[Trust, ...] | Missing
    """In the order they are tried; kernels before 6.2 cannot say, and mlx5 firmware settings are not shown here."""
    max_rate_bytes_per_second: tuple[float, ...] | Missing
    """By traffic class; 0 is unlimited."""
    buffers: ReceiveBuffers | Missing
    negotiated_by: tuple[str, ...] | Missing
    """Who runs the protocol with the switch: `host`, `firmware`, and its version; neither is a static setting."""
