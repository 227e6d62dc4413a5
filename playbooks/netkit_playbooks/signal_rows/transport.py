"""Signals of the RDMA transport: order, loss, timeouts, queue pairs that end."""

from __future__ import annotations

from netkit.catalogue.metric_rows import rdma
from netkit_playbooks.signals import Pick, Scope, grown, rated

_R = rdma.COUNTERS
_OOS, _PACKETS = _R["out_of_sequence_packets_received"], _R["port_packets_received"]

SIGNALS = (
    rated("oos-ratio", "packets received out of sequence, as a share of all", _OOS, per=_PACKETS),
    rated(
        "oos-ratio-fleet",
        "the same, median of all ports",
        _OOS,
        per=_PACKETS,
        pick=Pick.MEDIAN,
        scope=Scope.FLEET,
    ),
    rated(
        "sequence-errors", "NAKs a second for a sequence error: what was sent got lost", _R["packet_sequence_errors"]
    ),
    rated("ack-timeouts", "acknowledgements a second that timed out", _R["local_ack_timeout_errors"]),
    rated("ack-timeouts-elsewhere", "the most of another node", _R["local_ack_timeout_errors"], scope=Scope.OTHERS),
    rated("slow-restarts", "slow restarts of adaptive retransmission a second", _R["roce_slow_restart"]),
    rated("adaptive-retransmits", "adaptive retransmissions a second", _R["roce_adp_retransmits"]),
    rated("duplicate-requests", "requests a second that arrive twice", _R["duplicate_requests_packets"]),
    rated("icrc-errors", "packets a second with a wrong invariant CRC", _R["rx_icrc_encapsulated_errors"]),
    rated("tx-discards", "packets a second dropped before the wire", _R["port_discards_transmitted"]),
    rated("out-of-buffer", "packets a second for which no receive buffer was posted", _R["out_of_buffer_drops"]),
    grown("rnr-exceeded", "not-ready retries that ran out in ten minutes", _R["rnr_nak_retry_packets_received"], "10m"),
    grown(
        "retries-exceeded", "transport retries that ran out in ten minutes", _R["req_transport_retries_exceeded"], "10m"
    ),
    grown(
        "retries-exceeded-elsewhere",
        "the most of another node",
        _R["req_transport_retries_exceeded"],
        "10m",
        scope=Scope.OTHERS,
    ),
    grown("access-errors", "remote access errors in ten minutes", _R["req_remote_access_errors"], "10m"),
)
