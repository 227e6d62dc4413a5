"""Series of the network ports inside Ascend devices, which the host's own counters do not show."""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_AREA = Area(collector="ascend", prefix="npu_", labels=("npu",), privilege="npu-smi and hccn_tool, as root")

UP = _AREA.gauge("link_up", "1 when the device's own port is up, 0 when it is down.")
SPEED = _AREA.gauge("link_speed_bytes_per_second", "Bytes per second each way that the port came up at.")
UPS = _AREA.counter("link_up_events_total", "Events on this node: the port came up.")
MODULE = _AREA.gauge("module_temperature_celsius", "Degrees Celsius of the optical module.", unit="celsius")
MODULE_PRESENT = _AREA.gauge("module_present", "1 when an optical module is plugged in.")
COUNTER = _AREA.counter(
    "port_events_total",
    "Packets, bytes or errors received (rx) and sent (tx), as hccn_tool names them: pause, PFC, CNP, retransmissions.",
    "counter",
)

ROWS = (UP, SPEED, UPS, MODULE, MODULE_PRESENT, COUNTER)
