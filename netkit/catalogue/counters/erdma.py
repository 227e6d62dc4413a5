"""Alibaba Cloud elastic RDMA."""

from netkit.catalogue.counter import RX, TX, CounterTable, rows

TABLE = CounterTable(
    id="erdma",
    source="Linux drivers/infiniband/hw/erdma/erdma_verbs.c",
    drivers=("erdma",),
    hardware=rows(
        64,
        ("tx_reqs_cnt", "requests_sent", "requests", TX, "all"),
        ("tx_packets_cnt", "port_packets_transmitted", "packets", TX, "all"),
        ("tx_bytes_cnt", "port_data_transmitted_bytes", "bytes", TX, "all"),
        ("tx_disable_drop_cnt", "disabled_drops_transmitted", "packets", TX, "dropped because sending is off"),
        ("tx_bps_limit_drop_cnt", "bandwidth_limit_drops_transmitted", "packets", TX, "dropped by the rate limit"),
        ("tx_pps_limit_drop_cnt", "packet_limit_drops_transmitted", "packets", TX, "dropped by the packet limit"),
        ("rx_packets_cnt", "port_packets_received", "packets", RX, "all"),
        ("rx_bytes_cnt", "port_data_received_bytes", "bytes", RX, "all"),
        ("rx_disable_drop_cnt", "disabled_drops_received", "packets", RX, "dropped because receiving is off"),
        ("rx_bps_limit_drop_cnt", "bandwidth_limit_drops_received", "packets", RX, "dropped by the rate limit"),
        ("rx_pps_limit_drop_cnt", "packet_limit_drops_received", "packets", RX, "dropped by the packet limit"),
    ),
)
