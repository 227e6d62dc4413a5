"""Which fault is to raise which alert: one row for each alert of the catalogue.

Alerts that one fault raises together share its node. What no file of a node can cause (an exporter that is gone, a
scrape that is slow, a node nobody covers) is done to the session instead, in `benchmarks.drills.session`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cluster(StrEnum):
    """What is compared, averaged or inhibited together."""

    MAIN = "drill"
    CONGESTED = "congested"
    """Whole fabrics that are congested; the alert on that inhibits those on single ports."""
    BLIND = "blind"
    """Watched by a Prometheus of its own: its alert is on the absence of a series anywhere."""


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
    """What the alert's playbook is to name."""
    act: Act = Act.NOTHING
    cluster: Cluster = Cluster.MAIN
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
        """The node it happens on."""
        return self.fault or str(self.act)


def _row(alert: str, fault: str, cause: str, **about: object) -> Drill:
    return Drill(alert=alert, fault=fault, cause=cause, **about)  # type: ignore[arg-type]  # a row of a table


DRILLS: tuple[Drill, ...] = (
    _row("RdmaPortDown", "cable-out", "no-signal", whole=True),
    _row("RdmaDeviceMissing", "device-gone", "device-gone", whole=True),
    _row("RdmaLinkFlapping", "flapping", "flapping-link", infiniband=True),
    _row("RdmaLinkDowned", "flapping", "flapping-link", infiniband=True),
    _row("RdmaPortSpeedDegraded", "half-speed", "lanes-lost", whole=True),
    _row("RdmaSymbolErrorRate", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaSymbolErrorPreFailure", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaFecUncorrectable", "broken-fibre", "bad-cable"),
    _row("RdmaFecMarginOutlier", "weak-light", "weak-signal"),
    _row("RdmaLinkErrorRecovery", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaLinkIntegrity", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaReceiveErrors", "bad-cable", "bad-cable", infiniband=True),
    _row("RdmaOutOfSequenceOutlier", "lossy-path", "loss-on-path"),
    _row("RdmaAckTimeouts", "lost-acknowledgements", "loss-on-path"),
    _row("RoceSlowRestart", "lost-acknowledgements", "loss-on-path"),
    _row("RdmaRnrRetryExceeded", "receiver-not-ready", "receiver-not-ready"),
    _row("RdmaTransportRetryExceeded", "dead-peer", "peer-unreachable"),
    _row("RdmaTransmitDiscards", "port-congested", "congested-port", infiniband=True),
    _row("RdmaReceiverOutOfBuffer", "starved-receiver", "no-receive-buffers"),
    _row("PfcStormPauseDisabled", "storm", "receiver-stopped"),
    _row("PfcStormWarning", "storm", "receiver-stopped"),
    _row("PfcPausedByFabric", "paused-by-fabric", "incast"),
    _row("PfcPausedByFabricSevere", "behind-a-storm", "storm-elsewhere"),
    _row("PfcSlowReceiver", "pcie-stalls", "pcie-stall"),
    _row("NicPcieStalled", "pcie-stalls", "pcie-stall"),
    _row("PfcWrongPriority", "wrong-priority", "priority-mismatch"),
    _row("LosslessPriorityDrops", "no-headroom", "no-headroom"),
    _row("GlobalPauseInsteadOfPfc", "global-pause", "global-pause"),
    _row("EcnMarkedButNoCnp", "notification-off", "notification-point-off"),
    _row("CnpIgnored", "reaction-off", "reaction-point-off"),
    _row("FabricCongestionBurnFast", "incast", "incast", cluster=Cluster.CONGESTED, blamed=""),
    _row("FabricCongestionBurnSlow", "incast", "incast", cluster=Cluster.CONGESTED, blamed=""),
    _row("PcieLinkDegraded", "few-lanes", "lanes-lost"),
    _row("GpuXidHardware", "gpu-off-the-bus", "fell-off-the-bus"),
    _row("GpuRowRemapFailure", "spare-rows-used-up", "memory-worn-out"),
    _row("NvlinkErrors", "nvlink-errors", "nvlink-errors"),
    _row("GpuMissing", "", "gpu-lost", act=Act.FEWER_GPUS),
    _row("GpuThermalThrottle", "hot-gpu", "hot-gpu"),
    _row("GpuNicPairingMismatch", "misplaced-nic", "wrong-slot", whole=True),
    _row("NcclBusBandwidthLow", "slow-collective", "slow-link", whole=True),
    _row("NcclBusBandwidthCollapsed", "collapsed-collective", "slow-link", whole=True),
    _row("NcclSlowLink", "slow-link", "slow-link", blamed="n3"),
    _row("NcclFellBackToSocket", "socket-transport", "no-rdma"),
    _row("NcclProbeFailing", "probe-breaks-off", "probe-breaks-off"),
    _row("NcclProbeStale", "probe-stopped", "probe-stopped"),
    _row("NetkitExporterDown", "", "exporter-down", act=Act.KILL),
    _row("NetkitExporterSlow", "", "slow-scrape", act=Act.SLOW),
    _row("NetkitCollectorFailing", "driver-hangs", "driver-hangs"),
    _row("NetkitNodeNotCovered", "", "not-deployed", act=Act.UNCOVERED),
    _row("NetkitSourceMetricAbsent", "driver-unloaded", "no-rdma-anywhere", cluster=Cluster.BLIND, blamed=""),
    _row("Watchdog", "driver-unloaded", "alerting-works", cluster=Cluster.BLIND, blamed="", always=True),
)
