"""HiSilicon Hip08 and later: RDMA of hns_roce, Ethernet of hns3."""

from netkit.catalogue.counter import HERE, RX, TX, CounterTable, rows

TABLE = CounterTable(
    id="hns",
    source="Linux drivers/infiniband/hw/hns/hns_roce_main.c, drivers/net/ethernet/hisilicon/hns3",
    drivers=("hns3", "hns_roce", "hns_roce_hw_v2"),
    hardware=rows(
        64,
        ("rx_rc_pkt", "rc_packets_received", "packets", RX, "reliable connections"),
        ("rx_uc_pkt", "uc_packets_received", "packets", RX, "unreliable connections"),
        ("rx_ud_pkt", "ud_packets_received", "packets", RX, "datagrams"),
        ("rx_xrc_pkt", "xrc_packets_received", "packets", RX, "extended reliable connections"),
        ("rx_pkt", "port_packets_received", "packets", RX, "all"),
        ("rx_err_pkt", "port_errors_received", "packets", RX, "with an error"),
        ("rx_cnp_pkt", "rp_cnp_packets_handled", "packets", RX, "congestion notifications"),
        ("tx_rc_pkt", "rc_packets_sent", "packets", TX, "reliable connections"),
        ("tx_uc_pkt", "uc_packets_sent", "packets", TX, "unreliable connections"),
        ("tx_ud_pkt", "ud_packets_sent", "packets", TX, "datagrams"),
        ("tx_xrc_pkt", "xrc_packets_sent", "packets", TX, "extended reliable connections"),
        ("tx_pkt", "port_packets_transmitted", "packets", TX, "all"),
        ("tx_err_pkt", "send_errors", "errors", TX, "packets with an error"),
        ("tx_cnp_pkt", "np_cnp_packets_sent", "packets", TX, "congestion notifications"),
        ("trp_get_mpt_err_pkt", "memory_protection_errors", "packets", RX, "without a valid memory key"),
        ("trp_get_irrl_err_pkt", "inbound_read_list_errors", "packets", RX, "without an entry in the read list"),
        ("ecn_doorbell", "ecn_doorbells", "events", HERE, "doorbells for marked packets"),
        ("rx_buffer", "receive_buffer_packets", "packets", RX, "that went through the receive buffer"),
        ("trp_rx_sof", "frames_started", "packets", RX, "starts of a frame in the transport"),
        ("cq_cqe", "completions", "completions", HERE, "entries written to completion queues"),
        ("cq_poe", "completions_by_mailbox", "completions", HERE, "completions by packet-over-Ethernet queues"),
        ("cq_notify", "completion_notifications", "events", HERE, "interrupts for completions"),
    ),
    statistics=rows(
        64,
        ("mac_rx_fcs_err_pkt_num", "phy_rx_crc_errors", "packets", RX, "with a wrong frame check sequence"),
        ("mac_rx_bad_pkt_num", "phy_rx_discards", "packets", RX, "bad, not handed on"),
        ("mac_tx_bad_pkt_num", "phy_tx_discards", "packets", TX, "bad"),
        ("mac_tx_err_all_pkt_num", "phy_tx_errors", "packets", TX, "not sent because of an error"),
    ),
)
