"""NVIDIA ConnectX-3: diagnostic counts of queues, most of the whole device."""

from netkit.catalogue.counter import HERE, RX, TX, CounterTable, rows

TABLE = CounterTable(
    id="mlx4",
    source="Linux drivers/infiniband/hw/mlx4/main.c",
    drivers=("mlx4_core",),
    hardware=rows(
        32,
        ("rq_num_lle", "resp_local_length_errors", "errors", HERE, "responder, local length"),
        ("sq_num_lle", "req_local_length_errors", "errors", HERE, "requester, local length"),
        ("rq_num_lqpoe", "resp_local_qp_operation_errors", "errors", HERE, "responder, local queue pair operation"),
        ("sq_num_lqpoe", "req_local_qp_operation_errors", "errors", HERE, "requester, local queue pair operation"),
        ("rq_num_lpe", "resp_local_protection_errors", "errors", HERE, "responder, local protection"),
        ("sq_num_lpe", "req_local_protection_errors", "errors", HERE, "requester, local protection"),
        ("rq_num_wrfe", "resp_cqes_flush_errors", "errors", HERE, "responder, completions flushed"),
        ("sq_num_wrfe", "req_cqes_flush_errors", "errors", HERE, "requester, completions flushed"),
        ("sq_num_mwbe", "req_memory_window_bind_errors", "errors", HERE, "requester, memory window bind"),
        ("sq_num_bre", "req_bad_response_errors", "errors", HERE, "requester, bad response of the peer"),
        ("sq_num_rire", "req_remote_invalid_request_errors", "errors", HERE, "requester, the peer refused"),
        ("rq_num_rire", "resp_remote_invalid_request_errors", "errors", HERE, "responder, refused the peer"),
        ("sq_num_rae", "req_remote_access_errors", "errors", HERE, "requester, no access at the peer"),
        ("rq_num_rae", "resp_remote_access_errors", "errors", HERE, "responder, the peer had no access"),
        ("sq_num_roe", "req_remote_operation_errors", "errors", HERE, "requester, the peer's operation failed"),
        ("sq_num_tree", "req_transport_retries_exceeded", "errors", HERE, "transport retries used up"),
        ("sq_num_rree", "req_rnr_retries_exceeded", "errors", HERE, "receiver-not-ready retries used up"),
        ("rq_num_rnr", "rnr_nak_packets_sent", "packets", TX, "NAKs because nothing was posted here"),
        ("sq_num_rnr", "rnr_nak_retry_packets_received", "packets", RX, "NAKs of a receiver that was not ready"),
        ("rq_num_oos", "out_of_sequence_packets_received", "packets", RX, "out of sequence"),
        ("sq_num_oos", "packet_sequence_errors", "packets", RX, "NAKs for a sequence error"),
        ("rq_num_dup", "duplicate_requests_packets", "packets", RX, "requests that had been answered before"),
        ("sq_num_to", "local_ack_timeout_errors", "errors", HERE, "acknowledgements that came not in time"),
        ("num_cqovf", "completion_queue_overflows", "errors", HERE, "completion queues that overflowed"),
        ("rq_num_udsdprd", "ud_discards", "packets", RX, "datagrams dropped for want of a receive request"),
    ),
)
