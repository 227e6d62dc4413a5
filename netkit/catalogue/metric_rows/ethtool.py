"""Series of a driver's own statistics that netkit exports, and of forward error correction."""

from __future__ import annotations

from types import MappingProxyType

from netkit.catalogue.counter import families, tables
from netkit.catalogue.metrics import Area

_AREA = Area(collector="ethtool", prefix="phy_", labels=("device", "netdev"), privilege="host network namespace")

COUNTERS = MappingProxyType(
    families([row for table in tables() for row in table.statistics], "", "ethtool", _AREA.labels, _AREA.privilege)
)
"""By stem."""
CORRECTED = COUNTERS["phy_rx_fec_corrected_blocks"]
UNCORRECTABLE = COUNTERS["phy_rx_fec_uncorrectable_blocks"]
FEC = _AREA.gauge("fec_info", "Always 1: the forward error correction in use.", "mode")

ROWS = (*COUNTERS.values(), FEC)
