"""Signals of ports, cables and modules."""

from __future__ import annotations

from netkit.catalogue.metric_rows import ethtool, link, optics, rdma
from netkit.catalogue.rules import PORT_DOWN
from netkit_playbooks.signals import Pick, Scope, Signal, grown, rated

_R, _E = rdma.COUNTERS, ethtool.COUNTERS

SIGNALS = (
    Signal(id="port-state", text="state of the port; 4 is active, 1 is down", series=rdma.STATE, pick=Pick.SMALLEST),
    Signal(
        id="port-physical-state",
        text="physical state of the port; 5 is link up, 3 is disabled, 2 is polling for a peer",
        series=rdma.PHYSICAL_STATE,
        pick=Pick.SMALLEST,
    ),
    Signal(
        id="ports-down-elsewhere",
        text="expected ports of other nodes that are down",
        series=PORT_DOWN,
        pick=Pick.SUM,
        scope=Scope.OTHERS,
    ),
    Signal(id="link-up", text="1 with a carrier, 0 without", series=link.UP, pick=Pick.SMALLEST),
    Signal(
        id="link-enabled",
        text="of links that are down: 1 for one its owner switched on, 0 for one switched off",
        series=link.ENABLED,
        pick=Pick.SMALLEST,
    ),
    Signal(
        id="port-rate-ratio",
        text="rate of the port as a share of what the platform says",
        series=rdma.RATE,
        per=rdma.EXPECTED_RATE,
        pick=Pick.SMALLEST,
    ),
    Signal(
        id="ports-slow-elsewhere",
        text="the same of the slowest port of other nodes; 1 where all run at their full rate",
        series=rdma.RATE,
        per=rdma.EXPECTED_RATE,
        pick=Pick.SMALLEST,
        scope=Scope.OTHERS,
    ),
    Signal(id="devices-seen", text="RDMA devices of the node", series=rdma.DEVICES),
    Signal(id="devices-expected", text="RDMA devices it should have", series=rdma.DEVICES_EXPECTED),
    Signal(
        id="devices-vanished",
        text="RDMA devices that were there since the exporter started and are gone",
        series=rdma.ABSENT,
        pick=Pick.SUM,
        otherwise=0.0,
        narrow=False,
    ),
    grown("link-downs", "times in six hours that the link went down", link.DOWNS, "6h"),
    grown(
        "link-downs-elsewhere",
        "most times in six hours that a link of another node did",
        link.DOWNS,
        "6h",
        scope=Scope.OTHERS,
    ),
    grown("ib-link-downs", "times in an hour that link training failed", _R["link_downed"], "1h"),
    grown("local-faults", "local faults in an hour: this side saw no signal", _E["phy_local_faults"], "1h"),
    grown("remote-faults", "remote faults in an hour: the far side saw no signal", _E["phy_remote_faults"], "1h"),
    grown("symbol-errors", "symbol errors in an hour", _R["symbol_error"], "1h"),
    rated("fec-uncorrectable", "symbols a second that FEC could not correct", _E["phy_rx_pcs_symbol_errors"]),
    rated("crc-errors", "frames a second with a wrong checksum", _E["phy_rx_crc_errors"]),
    rated(
        "corrected-ratio",
        "bits that FEC corrected, as a share of all",
        _E["phy_rx_corrected_bits"],
        window="15m",
        per=_E["phy_rx_bits"],
    ),
    rated(
        "corrected-ratio-fleet",
        "the same, median of all ports",
        _E["phy_rx_corrected_bits"],
        window="15m",
        per=_E["phy_rx_bits"],
        pick=Pick.MEDIAN,
        scope=Scope.FLEET,
    ),
    grown("link-recoveries", "recoveries of the link in five minutes", _R["link_error_recovery"], "5m"),
    grown("integrity-errors", "local integrity errors in ten minutes", _R["local_link_integrity_errors"], "10m"),
    grown("buffer-overruns", "buffer overruns in ten minutes", _R["excessive_buffer_overrun_errors"], "10m"),
    rated("receive-errors", "packets a second that arrive with an error", _R["port_errors_received"]),
    rated(
        "remote-physical-errors",
        "packets a second that an earlier hop had marked as broken",
        _R["port_receive_remote_physical_errors"],
    ),
    Signal(
        id="signal-lost",
        text="lanes of the module that lost their signal; 0 where it has all of them",
        series=optics.LOST,
        pick=Pick.SUM,
    ),
    Signal(
        id="module-alarms",
        text="warnings of the module about itself",
        series=optics.ALARM,
        pick=Pick.COUNT,
        otherwise=0.0,
    ),
    Signal(id="module-temperature", text="temperature of the module in Celsius", series=optics.TEMPERATURE),
)
