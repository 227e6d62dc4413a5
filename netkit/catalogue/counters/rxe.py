"""Soft-RoCE: RDMA in software over any Ethernet interface."""

from netkit.catalogue.counter import HERE, RX, TX, CounterTable, rows

TABLE = CounterTable(
    id="rxe",
    source="Linux drivers/infiniband/sw/rxe/rxe_hw_counters.c",
    drivers=("rdma_rxe",),
    hardware=rows(
        64,
        ("sent_pkts", "port_packets_transmitted", "packets", TX, "all"),
        ("rcvd_pkts", "port_packets_received", "packets", RX, "all"),
        ("duplicate_request", "duplicate_requests_packets", "packets", RX, "requests that had been answered before"),
        ("out_of_seq_request", "out_of_sequence_packets_received", "packets", RX, "out of sequence"),
        ("rcvd_rnr_err", "rnr_nak_retry_packets_received", "packets", RX, "NAKs of a receiver that was not ready"),
        ("send_rnr_err", "rnr_nak_packets_sent", "packets", TX, "NAKs because nothing was posted here"),
        ("rcvd_seq_err", "packet_sequence_errors", "packets", RX, "NAKs for a sequence error"),
        ("ack_deferred", "acks_deferred", "packets", TX, "acknowledgements put off"),
        ("retry_exceeded_err", "req_transport_retries_exceeded", "errors", HERE, "transport retries used up"),
        ("retry_rnr_exceeded_err", "req_rnr_retries_exceeded", "errors", HERE, "receiver-not-ready retries used up"),
        ("completer_retry_err", "local_ack_timeout_errors", "errors", HERE, "retries by the completer"),
        ("send_err", "send_errors", "errors", TX, "packets that could not be sent"),
        ("link_downed", "link_downed", "events", HERE, "the interface went down"),
        ("rdma_sends", "send_requests", "requests", TX, "SEND"),
        ("rdma_recvs", "receive_requests", "requests", RX, "SEND"),
    ),
)
