"""Series of network links: state, speed, flaps, and why one is down."""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_AREA = Area(collector="link", prefix="link_", labels=("device", "netdev"), privilege="host network namespace")

UP = _AREA.gauge("up", "1 when the link has a carrier, 0 when it has none.")
ENABLED = _AREA.gauge("enabled", "1 when the owner of a link that is down has it switched on, 0 when off.")
SPEED = _AREA.gauge("speed_bytes_per_second", "Bytes per second each way that the link came up at.")
UPS = _AREA.counter("up_events_total", "Events on this node: the link came up.")
DOWNS = _AREA.counter("down_events_total", "Events on this node: the link went down.")
INFO = _AREA.gauge("info", "Always 1: driver, place and operational state.", "driver", "pci_bus_id", "operstate")
REASON = _AREA.gauge("down_reason_info", "1 while the link is down: why, in the driver's words.", "reason")

ROWS = (UP, ENABLED, SPEED, UPS, DOWNS, INFO, REASON)
