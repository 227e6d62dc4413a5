"""Port counters of the InfiniBand performance management agent: files under `counters/` of a port."""

from netkit.catalogue.counter import HERE, RX, TX, CounterTable, rows, scaled
from netkit.model.counter import Overflow

WORD_BYTES = 4
"""`port_*_data` counts 32-bit words, whatever the number of lanes."""

_DATA = scaled(
    WORD_BYTES,
    rows(
        64,
        ("port_rcv_data", "port_data_received_bytes", "bytes", RX, "data, without link-level headers"),
        ("port_xmit_data", "port_data_transmitted_bytes", "bytes", TX, "data, without link-level headers"),
    ),
)
_PACKETS = rows(
    64,
    ("port_rcv_packets", "port_packets_received", "packets", RX, "all, errors included"),
    ("port_xmit_packets", "port_packets_transmitted", "packets", TX, "all, errors included"),
    ("unicast_rcv_packets", "unicast_packets_received", "packets", RX, "unicast"),
    ("unicast_xmit_packets", "unicast_packets_transmitted", "packets", TX, "unicast"),
    ("multicast_rcv_packets", "multicast_packets_received", "packets", RX, "multicast"),
    ("multicast_xmit_packets", "multicast_packets_transmitted", "packets", TX, "multicast"),
)
# These stick at their largest value until someone resets them: a rate of 0 then says nothing.
_STICK_32 = rows(
    32,
    ("port_xmit_wait", "port_transmit_wait", "ticks", TX, "data waiting without a credit from the peer"),
    overflow=Overflow.STICKS,
)
_STICK_16 = rows(
    16,
    ("symbol_error", "symbol_error", "errors", RX, "minor link errors on a lane"),
    ("port_rcv_errors", "port_errors_received", "packets", RX, "with an error"),
    ("port_rcv_remote_physical_errors", "port_receive_remote_physical_errors", "packets", RX, "marked bad upstream"),
    ("port_rcv_switch_relay_errors", "port_receive_switch_relay_errors", "packets", RX, "a switch could not forward"),
    ("port_xmit_discards", "port_discards_transmitted", "packets", TX, "dropped: port down or congested"),
    ("VL15_dropped", "vl15_dropped", "packets", RX, "management packets dropped for want of buffer"),
    overflow=Overflow.STICKS,
)
_STICK_8 = rows(
    8,
    ("link_error_recovery", "link_error_recovery", "events", HERE, "the link recovered from an error by itself"),
    ("link_downed", "link_downed", "events", HERE, "the link could not recover and went down"),
    ("port_xmit_constraint_errors", "port_constraint_errors_transmitted", "packets", TX, "refused by a partition"),
    ("port_rcv_constraint_errors", "port_constraint_errors_received", "packets", RX, "refused by a partition"),
    overflow=Overflow.STICKS,
)
_STICK_4 = rows(
    4,
    ("local_link_integrity_errors", "local_link_integrity_errors", "errors", RX, "local errors above the threshold"),
    ("excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors", "errors", RX, "buffer overruns in a row"),
    overflow=Overflow.STICKS,
)

TABLE = CounterTable(
    id="pma",
    source="InfiniBand Architecture 1.4, 16.1.3.5 and 16.1.4.11; Linux drivers/infiniband/core/sysfs.c",
    port=_DATA + _PACKETS + _STICK_32 + _STICK_16 + _STICK_8 + _STICK_4,
)
