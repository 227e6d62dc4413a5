"""Series of the pairing between GPUs and NICs."""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_AREA = Area(collector="topology", prefix="topology_")

OK = _AREA.gauge(
    "pairing_ok",
    "1 when the NICs of this GPU are as near as they can be, 0 when one is not; absent where it cannot be known.",
    "gpu",
    "pci_bus_id",
)
PATH = _AREA.gauge(
    "gpu_nic_path_info", "Always 1: the way between a GPU and one of its nearest NICs.", "gpu", "device", "path"
)
DISTANCE = _AREA.gauge(
    "gpu_nic_distance",
    "Rank of the way between a GPU and its nearest NIC, in NCCL's order: 4 PIX, 5 PXB, 6 P2C, 7 PXN, 8 PHB, 9 SYS.",
    "gpu",
    "pci_bus_id",
)
FINDINGS = _AREA.gauge("findings", "Findings about pairing that stand now, by id.", "id")
PLATFORM = _AREA.gauge("platform_info", "Always 1: the platform these devices were recognised as.", "platform")

ROWS = (OK, PATH, DISTANCE, FINDINGS, PLATFORM)
