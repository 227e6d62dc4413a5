"""Which counters mean loss, repetition, bad bits or congestion, whatever the driver calls them.

`netkit.catalogue.counters` has each name's meaning and width; drivers that count the same thing spell it their own way.
"""

from __future__ import annotations

RETRIES = (
    *("packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "implied_nak_seq_err"),
    *("req_transport_retries_exceeded", "req_rnr_retries_exceeded", "out_of_sequence", "roce_slow_restart"),
    *("oos_drop_count", "seq_err_naks_rcvd", "to_retransmits", "max_retry_exceeded", "rnr_naks_rcvd"),
    *("rcvd_seq_err", "out_of_seq_request", "retry_exceeded_err", "retry_rnr_exceeded_err", "completer_retry_err"),
    *("resp_rx_outouf_seq", "req_rx_pkt_seq_err", "req_rx_rnr_retry_err", "roce_adp_retrans_to"),
)
DISCARDS = ("out_of_buffer", "rx_discards_phy", "rx_out_of_buffer", "rx_oos_discards")
LINK_ERRORS = (
    *("symbol_error", "port_rcv_errors", "local_link_integrity_errors", "link_error_recovery", "rx_symbol_err_phy"),
)
MARKED = ("np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd", "rx_rdma_ecn_pkts")
NOTIFIED = ("np_cnp_sent", "tx_cnp_pkts", "cnpSent", "tx_rdma_cnp_pkts", "tx_cnp_pkt")
SLOWED = ("rp_cnp_handled", "rx_cnp_pkts", "cnpHandled", "rx_rdma_cnp_pkts", "rx_cnp_pkt")
RECEIVED = ("port_rcv_data", "rx_bytes_phy", "rx_rdma_ucast_bytes", "ip4InOctets", "rdma_rx_bytes")
SENT = ("port_xmit_data", "tx_bytes_phy", "tx_rdma_ucast_bytes", "ip4OutOctets", "rdma_tx_bytes")
"""Bytes over the wire; the first that a port has is taken."""
EVERY = frozenset((*RETRIES, *DISCARDS, *LINK_ERRORS, *MARKED, *NOTIFIED, *SLOWED, *RECEIVED, *SENT))
