"""Series that tell which pod holds which device."""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_AREA = Area(
    collector="pods", prefix="pod_", privilege="kubelet pod-resources socket; hostPID and /var/log/pods for queue pairs"
)
_POD = ("namespace", "pod")

DEVICE = _AREA.gauge(
    "device_info",
    "Always 1: a pod's container holds this device; join on `uuid`, `device` or `pci_bus_id`, empty where not known.",
    *(*_POD, "container", "resource", "uuid", "device", "pci_bus_id"),
)
QUEUE_PAIRS = _AREA.gauge(
    "rdma_queue_pairs",
    "Objects on this node: RDMA queue pairs that a pod's processes have on a device.",
    *(*_POD, "pod_uid", "device"),
)
READABLE = _AREA.gauge(
    "resources_readable",
    "1 when the kubelet answered which pod holds what, 0 when not: labels are then missing.",
    "reason",
)

ROWS = (DEVICE, QUEUE_PAIRS, READABLE)
