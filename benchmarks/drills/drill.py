"""Which fault is to raise which alert: one row for each alert of the catalogue.

Alerts that one fault raises together share its node. What no file of a node can cause (an exporter that is gone, a
scrape that is slow, a node nobody covers) is done to the session instead, in `benchmarks.drills.session`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Act(StrEnum):
    """What is done to a node's exporter, or to what is said about the node."""

    KILL = "kill"
    SLOW = "slow"
    UNCOVERED = "uncovered"
    FEWER_GPUS = "fewer-gpus"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """One alert, and what raises it on which node."""

    alert: str
    fault: str
    """Of `benchmarks.drills.faults`, or empty where only `act` is done; it names the node too."""
    cause: str
    """What the alert's playbook is to name; empty where series alone cannot tell, and it has to say so."""
    act: Act = Act.NOTHING
    beside: tuple[str, ...] = ()
    """Nodes of other drills that are seen in this one's cluster too, as the origin of a storm is by its victims."""
    blind: bool = False
    """Whether it has a Prometheus of its own: its alert is on the absence of a series anywhere."""
    whole: bool = False
    """Whether the node has all eight devices, and a platform that expects them."""
    infiniband: bool = False
    """Whether the node's ports are InfiniBand's."""
    always: bool = False
    """Whether it fires before and after the fault too."""

    blamed: str | None = None
    """The alert's own label `node`, where it is not the node that was struck; empty for none."""

    @property
    def seen_at(self) -> str:
        """The label `node` of the alert."""
        return self.node if self.blamed is None else self.blamed

    @property
    def node(self) -> str:
        """The node it happens on; its cluster has the same name, so that faults of drills do not explain each other."""
        return self.fault or str(self.act)


def _row(alert: str, fault: str, cause: str, **about: object) -> Drill:
    return Drill(alert=alert, fault=fault, cause=cause, **about)  # type: ignore[arg-type]  # a row of a table


DRILLS: tuple[Drill, ...] = (
    _row("RdmaPortDown", "cable-out", "no-carrier", whole=True),
    _row("RdmaDeviceMissing", "device-gone", "vanished", whole=True),
    _row("RdmaLinkFlapping", "flapping", "bad-optics", infiniband=True),
    _row("RdmaLinkDowned", "flapping", "bad-optics", infiniband=True),
    _row("RdmaPortSpeedDegraded", "half-speed", "lanes-lost", whole=True),
    _row("RdmaSymbolErrorRate", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaSymbolErrorPreFailure", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaFecUncorrectable", "broken-fibre", "bad-cable"),
    _row("RdmaFecMarginOutlier", "weak-light", "margin-shrinks"),
    _row("RdmaLinkErrorRecovery", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaLinkIntegrity", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaReceiveErrors", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaOutOfSequenceOutlier", "lossy-path", "lossy-path"),
    _row("RdmaAckTimeouts", "lost-acknowledgements", "this-path"),
    _row("RoceSlowRestart", "lost-acknowledgements", "this-path"),
    _row("RdmaRnrRetryExceeded", "receiver-not-ready", "receiver-not-ready"),
    _row("RdmaTransportRetryExceeded", "dead-peer", "peer-gone"),
    _row("RdmaTransmitDiscards", "port-congested", "local-discards", infiniband=True),
    _row("RdmaReceiverOutOfBuffer", "starved-receiver", "no-buffers"),
    _row("PfcStormPauseDisabled", "storm", "nic-stuck"),
    _row("PfcStormWarning", "storm", "nic-stuck"),
    _row("PfcPausedByFabric", "paused-by-fabric", "incast"),
    _row("PfcPausedByFabricSevere", "behind-a-storm", "storm-elsewhere", beside=("storm",)),
    _row("PfcSlowReceiver", "pcie-stalls", "pcie"),
    _row("NicPcieStalled", "pcie-stalls", "pcie"),
    _row("PfcWrongPriority", "wrong-priority", "other-priority"),
    _row("LosslessPriorityDrops", "no-headroom", "no-headroom"),
    _row("GlobalPauseInsteadOfPfc", "global-pause", "global-pause"),
    _row("EcnMarkedButNoCnp", "notification-off", "notification-off"),
    _row("CnpIgnored", "reaction-off", "reaction-off"),
    _row("FabricCongestionBurnFast", "incast", "incast", blamed=""),
    _row("FabricCongestionBurnSlow", "incast", "incast", blamed=""),
    _row("PcieLinkDegraded", "few-lanes", "lanes-lost"),
    _row("GpuXidHardware", "gpu-off-the-bus", "fell-off"),
    _row("GpuRowRemapFailure", "spare-rows-used-up", "exchange"),
    _row("NvlinkErrors", "nvlink-errors", "wearing"),
    _row("GpuMissing", "", "never-came", act=Act.FEWER_GPUS),
    _row("GpuThermalThrottle", "hot-gpu", "one-gpu"),
    _row("GpuNicPairingMismatch", "misplaced-nic", "", whole=True),
    _row("NcclBusBandwidthLow", "slow-collective", "slow-link", whole=True),
    _row("NcclBusBandwidthCollapsed", "collapsed-collective", "fabric", whole=True),
    _row("NcclSlowLink", "slow-link", "bad-cable"),
    _row("NcclFellBackToSocket", "socket-transport", "no-device"),
    _row("NcclProbeFailing", "probe-breaks-off", "runs-break-off"),
    _row("NcclProbeStale", "probe-stopped", "never-starts"),
    _row("NetkitExporterDown", "", "exporter-down", act=Act.KILL),
    _row("NetkitExporterSlow", "", "slow-scrape", act=Act.SLOW),
    _row("NetkitCollectorFailing", "driver-hangs", "driver-hangs"),
    _row("NetkitNodeNotCovered", "", "not-discovered", act=Act.UNCOVERED),
    _row("NetkitSourceMetricAbsent", "driver-unloaded", "", blind=True, blamed=""),
    _row("Watchdog", "driver-unloaded", "works", blind=True, blamed="", always=True),
)

REPRESENTATIVE = (
    *("RdmaPortDown", "RdmaFecUncorrectable", "PfcStormPauseDisabled", "PfcPausedByFabricSevere", "PfcSlowReceiver"),
    *("PcieLinkDegraded", "GpuXidHardware", "RdmaTransportRetryExceeded", "NcclBusBandwidthLow"),
    *("NetkitExporterDown", "Watchdog"),
)
"""What is drilled with every run of the real parts; pairings, read once a minute, are left to `make drills`."""
