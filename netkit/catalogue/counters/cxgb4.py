"""Chelsio iWARP: TCP counts of the whole device."""

from netkit.catalogue.counter import RX, TX, CounterTable, rows

TABLE = CounterTable(
    id="cxgb4",
    source="Linux drivers/infiniband/hw/cxgb4/provider.c",
    drivers=("cxgb4", "iw_cxgb4"),
    hardware=rows(
        64,
        ("ip4InSegs", "tcp_ipv4_segments_received", "segments", RX, "TCP over IPv4"),
        ("ip4OutSegs", "tcp_ipv4_segments_sent", "segments", TX, "TCP over IPv4"),
        ("ip4RetransSegs", "tcp_ipv4_segments_retransmitted", "segments", TX, "TCP over IPv4, again"),
        ("ip6InSegs", "tcp_ipv6_segments_received", "segments", RX, "TCP over IPv6"),
        ("ip6OutSegs", "tcp_ipv6_segments_sent", "segments", TX, "TCP over IPv6"),
        ("ip6RetransSegs", "tcp_ipv6_segments_retransmitted", "segments", TX, "TCP over IPv6, again"),
    )
    + rows(
        32,
        ("ip4OutRsts", "tcp_ipv4_resets_sent", "segments", TX, "connections reset, IPv4"),
        ("ip6OutRsts", "tcp_ipv6_resets_sent", "segments", TX, "connections reset, IPv6"),
    ),
)
