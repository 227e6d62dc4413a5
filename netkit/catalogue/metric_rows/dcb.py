"""Series of quality of service as configured: is this port set up like the others?"""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_AREA = Area(collector="dcb", prefix="dcb_", labels=("device", "netdev"), privilege="host network namespace")

TRUST = _AREA.gauge("trust_info", "Always 1: which marks of received packets decide their priority.", "trust")
NEGOTIATED = _AREA.gauge("negotiated_by_info", "Always 1: who agrees with the switch on these settings.", "who")
DSCP = _AREA.gauge(
    "dscp_priority", "Priority of received packets with this DSCP; unlisted ones keep the default.", "dscp"
)
CLASS = _AREA.gauge("priority_traffic_class", "Traffic class that packets sent with this priority use.", "priority")
SHARE = _AREA.gauge(
    "class_bandwidth_ratio",
    "Share of the wire sent by this traffic class, 0 to 1, of those that share.",
    "traffic_class",
)
MAX_RATE = _AREA.gauge(
    "class_max_rate_bytes_per_second", "Bytes per second sent by this class at most.", "traffic_class"
)
BUFFER = _AREA.gauge("receive_buffer_bytes", "Bytes of this receive buffer.", "buffer", unit="bytes")
PRIORITY_BUFFER = _AREA.gauge(
    "priority_receive_buffer", "Receive buffer that packets of this priority fill.", "priority"
)
DELAY = _AREA.gauge("pfc_delay_bytes", "Bytes that may still be received after a pause was asked for.", unit="bytes")
DIGEST = _AREA.gauge(
    "configuration_info",
    "Always 1: a digest of all settings of this port; ports set up alike have the same.",
    "digest",
)

ROWS = (TRUST, NEGOTIATED, DSCP, CLASS, SHARE, MAX_RATE, BUFFER, PRIORITY_BUFFER, DELAY, DIGEST)
