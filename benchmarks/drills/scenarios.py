"""Seeded incidents: an alert, what really happened on the node and elsewhere, and how hard.

The truth of a scenario is the fault that was injected. How hard it strikes, how busy the nodes are and which series an
older exporter would not have is drawn from the seed; nothing here reads a playbook's conditions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.drills.drill import DRILLS, Act
from benchmarks.drills.fault import Fault
from benchmarks.drills.faults import FAULTS

PAIRS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    # alert, fault, cause, faults of other nodes of the cluster
    ("PfcPausedByFabricSevere", "behind-a-storm", "storm-elsewhere", ("storm",)),
    ("PfcPausedByFabricSevere", "behind-a-storm", "incast", ()),
    ("PfcPausedByFabric", "paused-by-fabric", "slow-receiver", ("pcie-stalls",)),
    ("PfcPausedByFabric", "paused-by-fabric", "incast", ()),
    ("PfcStormPauseDisabled", "storm-by-pcie", "pcie-stall", ()),
    ("PfcSlowReceiver", "pcie-stalls", "pcie", ()),
    ("PfcSlowReceiver", "pausing-without-buffers", "no-buffers", ()),
    ("RdmaOutOfSequenceOutlier", "lossy-wire", "bad-cable", ()),
    ("RdmaOutOfSequenceOutlier", "congested-path", "congested-path", ()),
    ("RdmaOutOfSequenceOutlier", "spraying", "spraying", ()),
    ("EcnMarkedButNoCnp", "notification-off", "notification-off", ()),
    ("CnpIgnored", "reaction-off", "reaction-off", ()),
    ("RdmaPortDown", "switched-off", "admin-down", ()),
    ("RdmaPortDown", "cable-out", "no-carrier", ()),
    ("GpuXidHardware", "gpu-off-the-bus", "fell-off", ()),
    ("GpuXidHardware", "program-crashed", "application", ()),
    ("LosslessPriorityDrops", "no-headroom", "no-headroom", ()),
    ("LosslessPriorityDrops", "storm-with-drops", "pausing-given-up", ()),
    ("RdmaLinkFlapping", "flapping", "switch-side", ("flapping",)),
    ("RdmaAckTimeouts", "lost-acknowledgements", "fabric-loss", ("lost-acknowledgements",)),
    ("GpuThermalThrottle", "hot-gpu", "one-gpu", ()),
    ("GpuThermalThrottle", "hot-node", "whole-node", ()),
    ("PcieLinkDegraded", "slow-pcie", "trained-slow", ()),
    ("NvlinkErrors", "nvlink-down", "link-down", ()),
)
"""Pairs that are easily confused, each side of them, with other causes the drills do not have."""
_SILENT = 0.3
"""Share of scenarios in which one family of series is not there."""
_HARDNESS = 0.5
"""Standard deviation of the logarithm of how hard a fault strikes."""
_SHARES = {
    "_pause_duration": 1e6,
    "_stalled_rd_events": 1.0,
    "_stalled_wr_events": 1.0,
    "_thermal_nanoseconds": 1e9,
}
"""What counts time, by the end of its path: how much of it a second has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One thing that happens, behind one alert."""

    alert: str
    fault: str
    cause: str
    beside: tuple[str, ...] = ()
    whole: bool = False
    infiniband: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One incident."""

    number: int
    kind: Kind
    fault: Fault
    beside: tuple[Fault, ...]
    is_silent: bool
    """Whether one family of the node's series is missing."""
    seed: int


def kinds() -> tuple[Kind, ...]:
    """Return every fault of the drills that happens on a node, and both sides of the confusable pairs."""
    drilled = (
        Kind(
            alert=one.alert,
            fault=one.fault,
            cause=one.cause,
            beside=one.beside,
            whole=one.whole,
            infiniband=one.infiniband,
        )
        for one in DRILLS
        if one.act is Act.NOTHING and not one.blind and one.fault not in _NEEDS_A_SESSION
    )
    infiniband = {one.fault for one in DRILLS if one.infiniband}
    whole = {one.fault for one in DRILLS if one.whole} | {"switched-off"}
    paired = (
        Kind(alert=alert, fault=fault, cause=cause, beside=beside, whole=fault in whole, infiniband=fault in infiniband)
        for alert, fault, cause, beside in PAIRS
    )
    return tuple(dict.fromkeys((*drilled, *paired)))


_NEEDS_A_SESSION = ("driver-hangs", "misplaced-nic")
"""One is told by what collectors say of themselves while they run, the other by rules that read the node itself."""


def scenarios(seed: int, count: int) -> Iterator[Scenario]:
    """Yield that many, every kind as often as the others."""
    draw = random.Random(seed)
    listed = list(kinds())
    for number in range(count):
        if number % len(listed) == 0:
            draw.shuffle(listed)
        kind = listed[number % len(listed)]
        yield Scenario(
            number=number,
            kind=kind,
            fault=harder(FAULTS[kind.fault], draw),
            beside=tuple(harder(FAULTS[name], draw) for name in kind.beside),
            is_silent=draw.random() < _SILENT,
            seed=draw.randrange(1 << 32),
        )


def harder(fault: Fault, draw: random.Random) -> Fault:
    """Return the fault stronger or weaker: all that it makes grow by one factor, a share of time within its bounds."""
    factor = draw.lognormvariate(0.0, _HARDNESS)
    return replace(fault, grows={path: _grown(path, rate, factor) for path, rate in fault.grows.items()})


def _grown(path: str, rate: float, factor: float) -> float:
    most = next((most for end, most in _SHARES.items() if path.endswith(end)), None)
    if most is None:
        return rate * factor
    odds = rate / (most - rate) * factor
    return most * odds / (1 + odds)
