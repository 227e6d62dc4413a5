"""Series of PCIe links on the way between GPUs and NICs, and of Advanced Error Reporting."""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_AREA = Area(collector="pcie", prefix="pcie_", labels=("pci_bus_id", "kind"))

SPEED = _AREA.gauge(
    "current_link_transfers_per_second", "Transfers per second and lane, each way, of the link above this function now."
)
MAX_SPEED = _AREA.gauge(
    "max_link_transfers_per_second", "Transfers per second and lane, each way, that both ends of the link can do."
)
WIDTH = _AREA.gauge("current_link_width", "Lanes of the link above this function now.")
MAX_WIDTH = _AREA.gauge("max_link_width", "Lanes that both ends of the link can do.")
ERRORS = _AREA.counter(
    "aer_errors_total",
    "Errors received or sent here, correctable or not; an endpoint may show 0 while its partner (upstream) counts.",
    "severity",
    "role",
)
ERROR_TYPES = _AREA.counter(
    "aer_error_types_total",
    "Errors received or sent here, by type; types never seen are left out.",
    "severity",
    "role",
    "type",
)

ROWS = (SPEED, MAX_SPEED, WIDTH, MAX_WIDTH, ERRORS, ERROR_TYPES)
