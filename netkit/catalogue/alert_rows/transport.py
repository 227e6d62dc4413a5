"""Alerts on the RDMA transport: packets that come out of order, time out, or end a queue pair."""

from __future__ import annotations

from netkit.catalogue.alerts import DEVICE, LINKS_KEEP, MINUTE, PORT, Alert, Severity, Supply
from netkit.catalogue.metric_rows import gpu, rdma
from netkit.catalogue.promql import increase, rate
from netkit.catalogue.rules import OUT_OF_SEQUENCE, RESTARTED

_C = rdma.COUNTERS
_OUT_OF_SEQUENCE = _C["out_of_sequence_packets_received"]
_RECEIVED = _C["port_packets_received"]
_ACK_TIMEOUTS = _C["local_ack_timeout_errors"]
_RNR = _C["rnr_nak_retry_packets_received"]
_RNR_RETRIES = _C["req_rnr_retries_exceeded"]
_RETRIES = _C["req_transport_retries_exceeded"]
_SLOW_RESTART = _C["roce_slow_restart"]
_INTEGRITY = _C["local_link_integrity_errors"]
_OVERRUN = _C["excessive_buffer_overrun_errors"]
_ERRORS = _C["port_errors_received"]
_DISCARDS = _C["port_discards_transmitted"]
_OUT_OF_BUFFER = _C["out_of_buffer_drops"]
_EVENT = 1 / MINUTE
"""One event a minute, as growth a second."""
_NVSENTINEL = "NVIDIA NVSentinel, nic-health-monitor values"
_KILLED = (
    f"unless on (cluster, node) sum by (cluster, node) ({increase(gpu.XIDS, '15m', **{'class': 'application'})}) > 0"
)
"""Whoever kills a job leaves queue pairs without a peer, and Xid 45 on its GPUs."""
_UNTIL_KILLED = 2 * MINUTE
"""The peers of a rank that died notice before the rest of its job is killed."""

ALERTS = (
    Alert(
        name="RdmaOutOfSequenceOutlier",
        component="transport",
        severity=Severity.WARNING,
        condition=(
            f"{OUT_OF_SEQUENCE.name} > $limit"
            f" and {OUT_OF_SEQUENCE.name} > 10 * scalar(quantile(0.5, {OUT_OF_SEQUENCE.name}))"
        ),
        identity=PORT,
        limit=1e-5,
        hold=10 * MINUTE,
        keep=LINKS_KEEP,
        summary="Packets arrive out of order on {{ $labels.node }} {{ $labels.device }}, ten times the fleet's median",
        description=(
            "{{ $value | humanizePercentage }} of packets came out of sequence. Adaptive routing makes some of it "
            "normal; ten times the median of all ports is not: packets are lost or take a bad path."
        ),
        action="Probe the node's rail, then look at FEC errors of the port and its switch port.",
        playbook="rdma-out-of-sequence",
        dashboard="netkit-node",
        panel="Loss and retransmission",
        trial=(
            Supply(series=_OUT_OF_SEQUENCE, quiet=0.9, firing=50.0, peers=4),
            Supply(series=_RECEIVED, quiet=100_000.0, firing=100_000.0, peers=4),
        ),
    ),
    Alert(
        name="RdmaAckTimeouts",
        component="transport",
        severity=Severity.WARNING,
        condition=f"{rate(_ACK_TIMEOUTS, '5m')} > $limit",
        identity=PORT,
        limit=1,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="Acknowledgements time out on {{ $labels.node }} {{ $labels.device }}",
        description="{{ $value | humanize }} timeouts a second: requests or their answers are lost on the way.",
        action="Find which peers are affected with a probe; look for discards on the path.",
        playbook="rdma-retransmits",
        dashboard="netkit-node",
        panel="Loss and retransmission",
        source=_NVSENTINEL,
        trial=(Supply(series=_ACK_TIMEOUTS, quiet=0.95, firing=3.0),),
    ),
    Alert(
        name="RdmaRnrRetryExceeded",
        component="transport",
        severity=Severity.CRITICAL,
        condition=f"({increase(_RNR_RETRIES, '10m')} > 0 or {rate(_RNR, '5m')} > $limit) {_KILLED}",
        identity=PORT,
        limit=0.2,
        hold=_UNTIL_KILLED,
        summary="A receiver is not ready for {{ $labels.node }} {{ $labels.device }}",
        description=(
            "Its retries ran out, and the queue pair is dead, or it refuses {{ $value | humanize }} times a second. A "
            "job that was killed on this node does not count."
        ),
        action="Find the rank that stopped posting receive buffers: its host is overloaded or its process hangs.",
        playbook="rdma-qp-error",
        dashboard="netkit-node",
        panel="Queue pair errors",
        source=_NVSENTINEL,
        trial=(Supply(series=_RNR_RETRIES, quiet=0.0, firing=_EVENT), Supply(series=_RNR, quiet=0.19, firing=0.19)),
    ),
    Alert(
        name="RdmaTransportRetryExceeded",
        component="transport",
        severity=Severity.CRITICAL,
        condition=f"{increase(_RETRIES, '10m')} > 0 {_KILLED}",
        identity=PORT,
        hold=_UNTIL_KILLED,
        summary="Transport retries ran out on {{ $labels.node }} {{ $labels.device }}",
        description="{{ $value | humanize }} queue pairs died in ten minutes, and no job was killed.",
        action="Probe the rail of this node; a dead path names itself.",
        playbook="rdma-qp-error",
        dashboard="netkit-node",
        panel="Queue pair errors",
        source=_NVSENTINEL,
        trial=(Supply(series=_RETRIES, quiet=0.0, firing=_EVENT),),
    ),
    Alert(
        name="RoceSlowRestart",
        component="transport",
        severity=Severity.WARNING,
        condition=f"{rate(_SLOW_RESTART, '5m')} > $limit",
        identity=PORT,
        limit=10,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="Adaptive retransmission restarts slowly on {{ $labels.node }} {{ $labels.device }}",
        description="{{ $value | humanize }} slow restarts a second: losses keep sending at its floor.",
        action="Treat as loss: look for discards and FEC errors on the path.",
        playbook="rdma-retransmits",
        dashboard="netkit-node",
        panel="Loss and retransmission",
        source=_NVSENTINEL,
        trial=(Supply(series=_SLOW_RESTART, quiet=9.5, firing=30.0),),
    ),
    Alert(
        name="RdmaLinkIntegrity",
        component="transport",
        severity=Severity.CRITICAL,
        condition=(
            f"({increase(_INTEGRITY, '10m')} > 0 or {increase(_OVERRUN, '10m')} > 0)"
            f" unless on (cluster, node, device, port) {RESTARTED.name} == 1"
        ),
        identity=PORT,
        keep=LINKS_KEEP,
        summary="Link integrity errors on {{ $labels.node }} {{ $labels.device }}",
        description="{{ $value | humanize }} local integrity errors or buffer overruns in ten minutes.",
        action="Clean and reseat the cable of this port; replace it if the count goes on.",
        playbook="rdma-bad-cable",
        dashboard="netkit-links",
        panel="Port errors",
        source=_NVSENTINEL,
        trial=(
            Supply(series=_INTEGRITY, quiet=0.0, firing=_EVENT),
            Supply(series=_OVERRUN, quiet=0.0, firing=0.0),
        ),
    ),
    Alert(
        name="RdmaReceiveErrors",
        component="transport",
        severity=Severity.WARNING,
        condition=f"{rate(_ERRORS, '5m')} > $limit",
        identity=PORT,
        limit=10,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="Packets with errors arrive at {{ $labels.node }} {{ $labels.device }}",
        description="{{ $value | humanize }} packets a second arrive with an error.",
        action="Look at the cable and at the switch port it leads to.",
        playbook="rdma-bad-cable",
        dashboard="netkit-links",
        panel="Port errors",
        source=_NVSENTINEL,
        trial=(Supply(series=_ERRORS, quiet=9.5, firing=30.0),),
    ),
    Alert(
        name="RdmaTransmitDiscards",
        component="transport",
        severity=Severity.WARNING,
        condition=f"{rate(_DISCARDS, '5m')} > $limit",
        identity=PORT,
        limit=100,
        hold=5 * MINUTE,
        keep=LINKS_KEEP,
        summary="{{ $labels.node }} {{ $labels.device }} drops packets before the wire",
        description="{{ $value | humanize }} packets a second are dropped: the port is down or congested.",
        action="See whether the fabric pauses this port or the port is down.",
        playbook="fabric-congestion",
        dashboard="netkit-node",
        panel="Discards",
        source=_NVSENTINEL,
        trial=(Supply(series=_DISCARDS, quiet=95.0, firing=300.0),),
    ),
    Alert(
        name="RdmaReceiverOutOfBuffer",
        component="transport",
        severity=Severity.WARNING,
        condition=f"{rate(_OUT_OF_BUFFER, '5m')} > 0",
        identity=DEVICE,
        hold=10 * MINUTE,
        keep=LINKS_KEEP,
        summary="{{ $labels.node }} {{ $labels.device }} has no receive buffers",
        description="{{ $value | humanize }} packets a second find no posted receive request.",
        action="Look for a process on this node that is starved of processor time.",
        playbook="slow-receiver",
        dashboard="netkit-node",
        panel="Discards",
        source="Linux mlx5 counters.rst lists the device's variant as an error",
        trial=(Supply(series=_OUT_OF_BUFFER, quiet=0.0, firing=1.0),),
    ),
)
