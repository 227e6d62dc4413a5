"""Alerts on RDMA devices and links: ports down, slow, flapping, or with errors on the wire."""

from __future__ import annotations

from netkit.catalogue.alerts import HOUR, LINKS_KEEP, MINUTE, NODE, PORT, Alert, Severity, Supply
from netkit.catalogue.metric_rows import ethtool, link, rdma
from netkit.catalogue.promql import increase, rate
from netkit.catalogue.rules import CORRECTED_BITS, RESTARTED

_C = rdma.COUNTERS
_SYMBOL = _C["symbol_error"]
_DOWNED = _C["link_downed"]
_RECOVERY = _C["link_error_recovery"]
_UNCORRECTED = ethtool.COUNTERS["phy_rx_pcs_symbol_errors"]
_CORRECTED = ethtool.COUNTERS["phy_rx_corrected_bits"]
_BITS = ethtool.COUNTERS["phy_rx_bits"]
_ACTIVE = 4.0
_LINE_RATE = 50e9
_NETDEV = ("cluster", "node", "rail", "device", "netdev")
_ON_PORT = "on (cluster, node, device, port)"
_EVENT = 1 / MINUTE
"""One event a minute, as growth a second."""
_NVSENTINEL = "NVIDIA NVSentinel, nic-health-monitor values"

_RESTARTED = f"unless {_ON_PORT} {RESTARTED.name} == 1"
"""A driver that is loaded takes its link down and lets it train: neither is a fault."""
_FLAPS = increase(link.DOWNS, "6h")
_FORGIVEN = 2
"""Times a link may go down more in six hours with a restart in them."""

ALERTS = (
    Alert(
        name="RdmaPortDown",
        component="link",
        severity=Severity.CRITICAL,
        condition=f"{rdma.STATE.name} != {_ACTIVE:g} and {_ON_PORT} {rdma.EXPECTED.name} == 1",
        identity=PORT,
        hold=2 * MINUTE,
        keep=LINKS_KEEP,
        summary="Port {{ $labels.port }} of {{ $labels.node }} {{ $labels.device }} is not active",
        description="State {{ $value }} where 4 (active) is expected: collectives over this rail fail or fall back.",
        action="Read the link's down reason, then the cable and the switch port.",
        playbook="rdma-port-down",
        dashboard="netkit-node",
        panel="Port state",
        source="Oracle oci-hpc-oke, alert RdmaLink; the expected set leaves ports without a cable out",
        requires="--platform, which names the expected ports",
        trial=(
            Supply(series=rdma.STATE, quiet=_ACTIVE, firing=1.0),
            Supply(series=rdma.EXPECTED, quiet=1.0, firing=1.0),
        ),
    ),
    Alert(
        name="RdmaDeviceMissing",
        component="link",
        severity=Severity.CRITICAL,
        condition=(
            f"{rdma.DEVICES_EXPECTED.name} - {rdma.DEVICES.name} > 0 or sum by (cluster, node) ({rdma.ABSENT.name}) > 0"
        ),
        identity=NODE,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="{{ $labels.node }} lacks {{ $value }} RDMA device(s)",
        description="Fewer RDMA devices than the platform has, or one that was here has gone.",
        action="Look for the device on PCIe and in the kernel log; drain the node if it is gone.",
        playbook="rdma-device-missing",
        dashboard="netkit-node",
        panel="RDMA devices",
        source="sichek, IBLost",
        trial=(
            Supply(series=rdma.DEVICES_EXPECTED, quiet=8.0, firing=8.0),
            Supply(series=rdma.DEVICES, quiet=8.0, firing=7.0),
        ),
    ),
    Alert(
        name="RdmaLinkFlapping",
        component="link",
        severity=Severity.CRITICAL,
        condition=(
            f"{_FLAPS} > $limit + {_FORGIVEN} or ({_FLAPS} > $limit"
            f" unless on (cluster, node, device) max_over_time({RESTARTED.name}[6h]) == 1)"
        ),
        identity=_NETDEV,
        limit=1.5,
        keep=LINKS_KEEP,
        summary="The link of {{ $labels.node }} {{ $labels.device }} flaps",
        description=(
            "It went down {{ $value | humanize }} times in six hours; every time stops a whole job. Two times more are "
            "forgiven where its driver or machine started again."
        ),
        action="Reseat or replace the cable, then watch six hours.",
        playbook="rdma-link-flapping",
        dashboard="netkit-links",
        panel="Links that went down",
        source="Azure azurehpc-health-checks: 6 h; NVIDIA NVSentinel: 2",
        trial=(Supply(series=link.DOWNS, quiet=1.4 / (6 * HOUR), firing=4 / (6 * HOUR)),),
    ),
    Alert(
        name="RdmaLinkDowned",
        component="link",
        severity=Severity.CRITICAL,
        condition=f"{increase(_DOWNED, '10m')} > 0 {_RESTARTED}",
        identity=PORT,
        keep=LINKS_KEEP,
        summary="The link of {{ $labels.node }} {{ $labels.device }} could not recover and went down",
        description="{{ $value | humanize }} times in ten minutes.",
        action="Check that it is up again; reseat or replace the cable when it repeats.",
        playbook="rdma-link-flapping",
        dashboard="netkit-links",
        panel="Port errors",
        source=_NVSENTINEL,
        trial=(Supply(series=_DOWNED, quiet=0.0, firing=_EVENT),),
    ),
    Alert(
        name="RdmaPortSpeedDegraded",
        component="link",
        severity=Severity.CRITICAL,
        condition=f"{rdma.RATE.name} < {_ON_PORT} group_left () {rdma.EXPECTED_RATE.name}",
        identity=PORT,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="{{ $labels.node }} {{ $labels.device }} came up slower than it should",
        description="The port runs at {{ $value | humanize }}B/s, less than the platform's rate.",
        action="Compare speed and lanes at both ends; a dirty or wrong cable trains down.",
        playbook="rdma-port-speed",
        dashboard="netkit-links",
        panel="Ports below their rate",
        source="Azure check_hw_ib; sichek port speed",
        requires="--platform, which gives the expected rate",
        trial=(
            Supply(series=rdma.RATE, quiet=_LINE_RATE, firing=_LINE_RATE / 2),
            Supply(series=rdma.EXPECTED_RATE, quiet=_LINE_RATE, firing=_LINE_RATE),
        ),
    ),
    Alert(
        name="RdmaSymbolErrorRate",
        component="link",
        severity=Severity.WARNING,
        condition=f"{rate(_SYMBOL, '5m')} > $limit",
        identity=PORT,
        limit=10,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="Symbol errors on {{ $labels.node }} {{ $labels.device }}",
        description="{{ $value | humanize }} minor link errors a second.",
        action="Clean the connector at both ends.",
        playbook="rdma-bad-cable",
        dashboard="netkit-links",
        panel="Port errors",
        source=_NVSENTINEL,
        trial=(Supply(series=_SYMBOL, quiet=9.5, firing=30.0),),
    ),
    Alert(
        name="RdmaSymbolErrorPreFailure",
        component="link",
        severity=Severity.CRITICAL,
        condition=f"{increase(_SYMBOL, '1h')} > $limit unless {_ON_PORT} max_over_time({RESTARTED.name}[1h]) == 1",
        identity=PORT,
        limit=120,
        keep=LINKS_KEEP,
        summary="Symbol errors add up on {{ $labels.node }} {{ $labels.device }}",
        description="{{ $value | humanize }} minor link errors in an hour: links with so many fail soon.",
        action="Plan the exchange of cable or transceiver.",
        playbook="rdma-bad-cable",
        dashboard="netkit-links",
        panel="Port errors",
        source=_NVSENTINEL,
        trial=(Supply(series=_SYMBOL, quiet=115 / HOUR, firing=200 / HOUR),),
    ),
    Alert(
        name="RdmaFecUncorrectable",
        component="link",
        severity=Severity.CRITICAL,
        condition=f"{rate(_UNCORRECTED, '5m')} > $limit",
        identity=_NETDEV,
        limit=0.01,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="FEC cannot correct what {{ $labels.node }} {{ $labels.device }} receives",
        description="{{ $value | humanize }} uncorrected symbols a second: traffic is lost on this link.",
        action="Replace the cable or transceiver; look at the module's temperature and light first.",
        playbook="rdma-bad-cable",
        dashboard="netkit-links",
        panel="Uncorrectable symbols",
        source=(
            "Linux mlx5 counters.rst: symbols not corrected are lost traffic; the number is netkit's own: 1e-15 of the "
            "bits, which 400G Ethernet allows, is one in forty minutes"
        ),
        trial=(Supply(series=_UNCORRECTED, quiet=0.009, firing=0.5),),
    ),
    Alert(
        name="RdmaFecMarginOutlier",
        component="link",
        severity=Severity.WARNING,
        condition=(
            f"{CORRECTED_BITS.name} > $limit"
            f" and {CORRECTED_BITS.name} > 10 * scalar(quantile(0.5, {CORRECTED_BITS.name}))"
        ),
        identity=_NETDEV,
        limit=1e-9,
        hold=30 * MINUTE,
        keep=LINKS_KEEP,
        summary="{{ $labels.node }} {{ $labels.device }} has ten times the bit errors of the fleet",
        description="{{ $value | humanize }} of bits need correction. FEC still holds, with less room than elsewhere.",
        action="Clean both ends at the next occasion, and watch the uncorrectable symbols.",
        playbook="rdma-bad-cable",
        dashboard="netkit-links",
        panel="Corrected bit error ratio",
        trial=(
            Supply(series=_CORRECTED, quiet=190.0, firing=5_000.0, peers=4),
            Supply(series=_BITS, quiet=2e11, firing=2e11, peers=4),
        ),
    ),
    Alert(
        name="RdmaLinkErrorRecovery",
        component="link",
        severity=Severity.WARNING,
        condition=f"{rate(_RECOVERY, '5m')} * {MINUTE} > $limit",
        identity=PORT,
        limit=5,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="The link of {{ $labels.node }} {{ $labels.device }} keeps recovering from errors",
        description="{{ $value | humanize }} recoveries a minute; traffic waits during each.",
        action="Clean or replace the cable.",
        playbook="rdma-bad-cable",
        dashboard="netkit-links",
        panel="Port errors",
        source=_NVSENTINEL,
        trial=(Supply(series=_RECOVERY, quiet=4.5 / MINUTE, firing=15 / MINUTE),),
    ),
)
