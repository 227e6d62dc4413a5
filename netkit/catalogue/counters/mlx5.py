"""NVIDIA ConnectX-4 to -8 and BlueField."""

from netkit.catalogue.counter import HERE, RX, TX, CounterTable, labelled, rows

# The queue counters are 32 bits in firmware (be32): at 10 M requests a second one wraps every 429 s.
_QUEUE = rows(
    32,
    ("rx_write_requests", "rx_write_requests", "requests", RX, "RDMA WRITE"),
    ("rx_read_requests", "rx_read_requests", "requests", RX, "RDMA READ"),
    ("rx_atomic_requests", "rx_atomic_requests", "requests", RX, "atomic operations"),
    ("rx_dct_connect", "rx_dct_connect_requests", "requests", RX, "connections to dynamically connected targets"),
    ("out_of_buffer", "out_of_buffer_drops", "packets", RX, "dropped because no receive request was posted"),
    ("out_of_sequence", "out_of_sequence_packets_received", "packets", RX, "out of sequence, the responder's view"),
    ("duplicate_request", "duplicate_requests_packets", "packets", RX, "requests that had been answered before"),
    ("rnr_nak_retry_err", "rnr_nak_retry_packets_received", "packets", RX, "NAKs of a receiver that was not ready"),
    ("packet_seq_err", "packet_sequence_errors", "packets", RX, "NAKs for a sequence error: the peer missed a packet"),
    ("implied_nak_seq_err", "implied_nak_seq_errors", "errors", RX, "answers that skip an expected one"),
    ("local_ack_timeout_err", "local_ack_timeout_errors", "errors", HERE, "acknowledgements that came not in time"),
    ("resp_local_length_error", "resp_local_length_errors", "errors", HERE, "responder, local length"),
    ("resp_cqe_error", "resp_cqes_errors", "errors", HERE, "responder, completions with an error"),
    ("req_cqe_error", "req_cqes_errors", "errors", HERE, "requester, completions with an error"),
    (
        "req_remote_invalid_request",
        "req_remote_invalid_request_errors",
        "errors",
        HERE,
        "requester, the peer refused",
    ),
    ("req_remote_access_errors", "req_remote_access_errors", "errors", HERE, "requester, no access at the peer"),
    ("resp_remote_access_errors", "resp_remote_access_errors", "errors", HERE, "responder, the peer had no access"),
    ("resp_cqe_flush_error", "resp_cqes_flush_errors", "errors", HERE, "responder, completions flushed"),
    ("req_cqe_flush_error", "req_cqes_flush_errors", "errors", HERE, "requester, completions flushed"),
    ("req_transport_retries_exceeded", "req_transport_retries_exceeded", "errors", HERE, "transport retries used up"),
    ("req_rnr_retries_exceeded", "req_rnr_retries_exceeded", "errors", HERE, "receiver-not-ready retries used up"),
    ("roce_adp_retrans", "roce_adp_retransmits", "packets", TX, "adaptive retransmissions"),
    ("roce_adp_retrans_to", "roce_adp_retransmits_timeout", "events", HERE, "timeouts of adaptive retransmission"),
    ("roce_slow_restart", "roce_slow_restart_used", "events", HERE, "slow restarts used"),
    ("roce_slow_restart_cnps", "roce_slow_restart_cnps", "packets", TX, "congestion notifications of slow restart"),
    ("roce_slow_restart_trans", "roce_slow_restart", "events", HERE, "changes of state to slow restart"),
)
_CONGESTION = rows(
    64,
    ("rp_cnp_ignored", "rp_cnp_ignored_packets_received", "packets", RX, "congestion notifications ignored"),
    ("rp_cnp_handled", "rp_cnp_packets_handled", "packets", RX, "congestion notifications that slowed sending"),
    ("np_ecn_marked_roce_packets", "np_ecn_marked_roce_packets_received", "packets", RX, "marked by ECN"),
    ("np_cnp_sent", "np_cnp_packets_sent", "packets", TX, "congestion notifications for marked packets"),
    ("rx_icrc_encapsulated", "rx_icrc_encapsulated_errors", "packets", RX, "with a wrong invariant CRC"),
    ("cc_rx_ce_pkts", "cc_ecn_marked_packets_received", "packets", RX, "marked by ECN (optional counter)"),
    ("cc_rx_cnp_pkts", "cc_cnp_packets_received", "packets", RX, "congestion notifications (optional counter)"),
    ("cc_tx_cnp_pkts", "cc_cnp_packets_sent", "packets", TX, "congestion notifications (optional counter)"),
)
_STATISTICS = rows(
    64,
    ("rx_discards_phy", "phy_rx_discards", "packets", RX, "dropped by the port for want of buffer"),
    ("tx_discards_phy", "phy_tx_discards", "packets", TX, "dropped by the port before the wire"),
    ("rx_crc_errors_phy", "phy_rx_crc_errors", "packets", RX, "with a wrong frame check sequence"),
    ("rx_symbol_err_phy", "phy_rx_symbol_errors", "errors", RX, "symbols the physical layer could not read"),
    ("rx_pcs_symbol_err_phy", "phy_rx_pcs_symbol_errors", "errors", RX, "symbols FEC could not correct: traffic lost"),
    ("rx_corrected_bits_phy", "phy_rx_corrected_bits", "bits", RX, "corrected by FEC"),
    ("rx_bits_phy", "phy_rx_bits", "bits", RX, "in all, the base of an error ratio"),
    ("rx_buffer_passed_thres_phy", "phy_rx_buffer_passed_threshold", "events", RX, "buffer more than 85 % full"),
    ("rx_out_of_buffer", "nic_rx_out_of_buffer", "packets", RX, "dropped because the host posted no buffer"),
    ("rx_steer_missed_packets", "nic_rx_steering_missed", "packets", RX, "dropped because no steering rule matched"),
    ("dev_internal_queue_oob", "nic_rx_internal_queue_drops", "packets", RX, "dropped in an internal queue"),
    (
        "outbound_pci_buffer_overflow",
        "pcie_outbound_buffer_overflow",
        "packets",
        RX,
        "dropped: PCIe was too slow",
    ),
    ("rx_pci_signal_integrity", "pcie_rx_signal_errors", "errors", RX, "PCIe symbols in error"),
    ("tx_pci_signal_integrity", "pcie_tx_signal_errors", "errors", TX, "PCIe symbols in error"),
    ("rx_prio%d_discards", "priority_discards", "packets", RX, "of this priority, dropped"),
    (
        "rx_prio%d_buf_discard",
        "priority_buffer_discards",
        "packets",
        RX,
        "of this priority, dropped: no buffer",
    ),
    (
        "rx_prio%d_cong_discard",
        "priority_congestion_discards",
        "packets",
        RX,
        "of this priority, dropped: congestion",
    ),
    ("rx_prio%d_marked", "priority_ecn_marked", "packets", RX, "of this priority, marked by the NIC"),
    ("rx_prio%d_bytes", "priority_rx_bytes", "bytes", RX, "of this priority"),
    ("tx_prio%d_bytes", "priority_tx_bytes", "bytes", TX, "of this priority"),
)
# `_events` counts seconds with more than 30 % of stalls; without it, the gauge of the last second.
_PCIE = labelled(
    ("operation", "read"),
    rows(
        64,
        ("outbound_pci_stalled_rd_events", "pcie_outbound_stalled_seconds", "seconds", TX, "PCIe stalled above 30 %"),
    ),
) + labelled(
    ("operation", "write"),
    rows(
        64,
        ("outbound_pci_stalled_wr_events", "pcie_outbound_stalled_seconds", "seconds", TX, "PCIe stalled above 30 %"),
    ),
)
_LINK = rows(32, ("link_down_events_phy", "phy_link_down_events", "events", HERE, "the link went down"))

TABLE = CounterTable(
    id="mlx5",
    source="Linux drivers/infiniband/hw/mlx5/counters.c, Documentation/networking/.../mellanox/mlx5/counters.rst",
    drivers=("mlx5_core",),
    hardware=_QUEUE + _CONGESTION,
    statistics=_STATISTICS + _PCIE + _LINK,
)
