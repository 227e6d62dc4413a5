"""Intel E810 and X722: RDMA of irdma, Ethernet of ice."""

from netkit.catalogue.counter import HERE, RX, TX, CounterTable, Listed, rows


def _by_protocol(version: int) -> tuple[Listed, ...]:
    kernel, ours, said = f"ip{version}", f"ipv{version}", f"IPv{version}"
    return (
        (f"{kernel}InDiscards", f"{ours}_discards_received", "packets", RX, f"{said}, dropped"),
        (f"{kernel}InTruncatedPkts", f"{ours}_truncated_received", "packets", RX, f"{said}, truncated"),
        (f"{kernel}OutNoRoutes", f"{ours}_no_route", "packets", TX, f"{said}, not sent for want of a route"),
        (f"{kernel}InOctets", f"{ours}_received_bytes", "bytes", RX, said),
        (f"{kernel}InPkts", f"{ours}_packets_received", "packets", RX, said),
        (f"{kernel}InReasmRqd", f"{ours}_fragments_received", "packets", RX, f"{said} fragments"),
        (f"{kernel}InMcastPkts", f"{ours}_multicast_packets_received", "packets", RX, f"{said} multicast"),
        (f"{kernel}OutOctets", f"{ours}_transmitted_bytes", "bytes", TX, said),
        (f"{kernel}OutPkts", f"{ours}_packets_sent", "packets", TX, said),
        (f"{kernel}OutSegRqd", f"{ours}_fragments_sent", "packets", TX, f"{said} fragments"),
        (f"{kernel}OutMcastPkts", f"{ours}_multicast_packets_sent", "packets", TX, f"{said} multicast"),
        (f"{kernel}InMcastOctets", f"{ours}_multicast_received_bytes", "bytes", RX, f"{said} multicast"),
        (f"{kernel}OutMcastOctets", f"{ours}_multicast_transmitted_bytes", "bytes", TX, f"{said} multicast"),
    )


TABLE = CounterTable(
    id="irdma",
    source="Linux drivers/infiniband/hw/irdma/verbs.c, drivers/net/ethernet/intel/ice/ice_ethtool.c",
    drivers=("irdma", "ice", "i40e"),
    hardware=rows(
        64,
        *_by_protocol(4),
        *_by_protocol(6),
        ("tcpRetransSegs", "tcp_segments_retransmitted", "segments", TX, "iWARP over TCP, again"),
        ("tcpInOptErrors", "tcp_option_errors", "segments", RX, "TCP with an unknown option"),
        ("tcpInProtoErrors", "tcp_protocol_errors", "segments", RX, "TCP with a protocol error"),
        ("tcpInSegs", "tcp_segments_received", "segments", RX, "iWARP over TCP"),
        ("tcpOutSegs", "tcp_segments_sent", "segments", TX, "iWARP over TCP"),
        ("rxVlanErrors", "vlan_errors_received", "packets", RX, "with a VLAN that is not ours"),
        ("iwInRdmaReads", "rx_read_requests", "requests", RX, "RDMA READ"),
        ("iwInRdmaSends", "receive_requests", "requests", RX, "SEND"),
        ("iwInRdmaWrites", "rx_write_requests", "requests", RX, "RDMA WRITE"),
        ("iwOutRdmaReads", "read_requests_sent", "requests", TX, "RDMA READ"),
        ("iwOutRdmaSends", "send_requests", "requests", TX, "SEND"),
        ("iwOutRdmaWrites", "write_requests_sent", "requests", TX, "RDMA WRITE"),
        ("iwRdmaBnd", "memory_window_binds", "requests", HERE, "memory windows bound"),
        ("iwRdmaInv", "memory_window_invalidates", "requests", HERE, "memory windows invalidated"),
        ("cnpHandled", "rp_cnp_packets_handled", "packets", RX, "congestion notifications that slowed sending"),
        ("cnpIgnored", "rp_cnp_ignored_packets_received", "packets", RX, "congestion notifications ignored"),
        ("cnpSent", "np_cnp_packets_sent", "packets", TX, "congestion notifications for marked packets"),
        ("RxUDP", "udp_packets_received", "packets", RX, "RoCEv2 over UDP"),
        ("TxUDP", "udp_packets_sent", "packets", TX, "RoCEv2 over UDP"),
        ("RxECNMrkd", "np_ecn_marked_roce_packets_received", "packets", RX, "marked by ECN"),
    ),
    statistics=rows(
        64,
        ("rx_dropped.nic", "phy_rx_discards", "packets", RX, "dropped by the port for want of buffer"),
        ("tx_dropped_link_down.nic", "phy_tx_discards", "packets", TX, "dropped because the link was down"),
        ("tx_errors.nic", "phy_tx_errors", "packets", TX, "not sent because of an error"),
        ("rx_crc_errors.nic", "phy_rx_crc_errors", "packets", RX, "with a wrong frame check sequence"),
        ("illegal_bytes.nic", "phy_rx_illegal_bytes", "bytes", RX, "of illegal frames"),
        ("mac_local_faults.nic", "phy_local_faults", "events", HERE, "this end lost the signal"),
        ("mac_remote_faults.nic", "phy_remote_faults", "events", RX, "the peer lost our signal"),
    ),
)
