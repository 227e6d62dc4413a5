"""Amazon Elastic Fabric Adapter."""

from netkit.catalogue.counter import HERE, RX, TX, CounterTable, rows

_DEVICE = rows(
    64,
    ("submitted_cmds", "admin_commands_submitted", "commands", TX, "to the device"),
    ("completed_cmds", "admin_commands_completed", "commands", RX, "answered by the device"),
    ("cmds_err", "admin_command_errors", "errors", RX, "commands that failed"),
    ("no_completion_cmds", "admin_commands_unanswered", "commands", HERE, "without an answer in time"),
    ("keep_alive_rcvd", "keep_alives_received", "messages", RX, "signs of life of the device"),
    ("alloc_pd_err", "alloc_pd_errors", "errors", HERE, "protection domains not allocated"),
    ("create_qp_err", "create_qp_errors", "errors", HERE, "queue pairs not created"),
    ("create_cq_err", "create_cq_errors", "errors", HERE, "completion queues not created"),
    ("reg_mr_err", "register_mr_errors", "errors", HERE, "memory regions not registered"),
    ("alloc_ucontext_err", "alloc_context_errors", "errors", HERE, "user contexts not allocated"),
    ("create_ah_err", "create_ah_errors", "errors", HERE, "address handles not created"),
    ("mmap_err", "mmap_errors", "errors", HERE, "doorbells or queues not mapped"),
)
_PORT = rows(
    64,
    ("tx_bytes", "port_data_transmitted_bytes", "bytes", TX, "all"),
    ("tx_pkts", "port_packets_transmitted", "packets", TX, "all"),
    ("rx_bytes", "port_data_received_bytes", "bytes", RX, "all"),
    ("rx_pkts", "port_packets_received", "packets", RX, "all"),
    ("rx_drops", "out_of_buffer_drops", "packets", RX, "dropped because no receive request was posted"),
    ("send_bytes", "send_bytes", "bytes", TX, "by SEND"),
    ("send_wrs", "send_requests", "requests", TX, "SEND"),
    ("recv_bytes", "receive_bytes", "bytes", RX, "by SEND"),
    ("recv_wrs", "receive_requests", "requests", RX, "SEND"),
    ("rdma_read_wrs", "read_requests_sent", "requests", TX, "RDMA READ"),
    ("rdma_read_bytes", "read_bytes_received", "bytes", RX, "by RDMA READ of this node"),
    ("rdma_read_wr_err", "read_request_errors", "errors", TX, "RDMA READ that failed"),
    ("rdma_read_resp_bytes", "read_bytes_sent", "bytes", TX, "by RDMA READ of a peer"),
    ("rdma_write_wrs", "write_requests_sent", "requests", TX, "RDMA WRITE"),
    ("rdma_write_bytes", "write_bytes_sent", "bytes", TX, "by RDMA WRITE of this node"),
    ("rdma_write_wr_err", "write_request_errors", "errors", TX, "RDMA WRITE that failed"),
    ("rdma_write_recv_bytes", "write_bytes_received", "bytes", RX, "by RDMA WRITE of a peer"),
)
_NEWER = rows(
    64,
    ("retrans_bytes", "retransmitted_bytes", "bytes", TX, "again"),
    ("retrans_pkts", "retransmitted_packets", "packets", TX, "again"),
    ("retrans_timeout_events", "local_ack_timeout_errors", "errors", HERE, "retransmission timeouts"),
    ("impaired_remote_conn_events", "impaired_connection", "events", HERE, "a connection became impaired"),
    ("unresponsive_remote_events", "unresponsive_remote", "events", HERE, "a peer stopped answering"),
)

TABLE = CounterTable(
    id="efa",
    source="Linux drivers/infiniband/hw/efa/efa_verbs.c; the newer names are of Amazon's own driver",
    drivers=("efa",),
    hardware=_DEVICE + _PORT + _NEWER,
)
