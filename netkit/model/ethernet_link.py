"""One Ethernet port as its driver shows it: speed, why it is down, pause frames, corrected errors.

Linux Documentation/networking/ethtool-netlink.rst; counters of IEEE 802.3 clause 30 under the names of that clause.
"""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.counter import Counter
from netkit.model.missing import Missing
from netkit.model.optics import OpticalModule
from netkit.model.qos import Dcb


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMode:
    """What both ends agreed on."""

    speed_bytes_per_second: float | Missing
    full_duplex: bool | Missing
    lanes: int | Missing
    negotiated: bool | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState:
    """Whether the link is up; if not, why, in the driver's words."""

    up: bool | Missing
    why_down: str | Missing
    downs: int | Missing
    """How often the link went down since the driver loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Global pause (802.3x): `receives` lets the peer stop us, `sends` lets us stop the peer."""

    negotiated: bool | Missing
    receives: bool | Missing
    sends: bool | Missing
    sent_frames: int | Missing
    received_frames: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCorrection:
    """Forward error correction; counts are of the whole port, and by lane where the driver tells them apart."""

    active: str | Missing
    corrected_blocks: int | Missing
    uncorrectable_blocks: int | Missing
    corrected_bits: int | Missing
    corrected_blocks_by_lane: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsGroup:
    """Standard counters of one group: `eth-phy`, `eth-mac`, `eth-ctrl` or `rmon`."""

    name: str
    counters: tuple[Counter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EthernetLink:
    """Everything the driver of one interface says by netlink and by `ethtool -S`, and what is in its cage."""

    interface: str
    index: int
    connector: str | Missing
    mode: LinkMode | Missing
    state: LinkState | Missing
    pause: Pause | Missing
    error_correction: ErrorCorrection | Missing
    statistics: tuple[StatisticsGroup, ...] | Missing
    driver_statistics: tuple[Counter, ...] | Missing
    bridging: Dcb | Missing
    module: OpticalModule | Missing
