"""Series of GPUs and other accelerators, whoever made them; a value a device does not give has no series."""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_AREA = Area(collector="gpu", prefix="gpu_", labels=("gpu", "uuid", "pci_bus_id"))
_LOG = Area(collector="gpu", prefix="gpu_", labels=("pci_bus_id",), privilege="CAP_SYSLOG for the kernel log")

INFO = _AREA.gauge("info", "Always 1: maker, model and driver.", "vendor", "name", "driver")
LOST = _AREA.gauge("lost", "1 for a GPU the driver lost, as last known; 0 for one that only gave no answer this time.")
UTILISATION = _AREA.gauge("utilisation_ratio", "Share of the last period in which any kernel ran, 0 to 1.")
MEMORY_TOTAL = _AREA.gauge("memory_total_bytes", "Bytes of memory of the device.", unit="bytes")
MEMORY_USED = _AREA.gauge("memory_used_bytes", "Bytes of memory in use.", unit="bytes")
CLOCK = _AREA.gauge("clock_hertz", "Hertz of the graphics clock now.", unit="hertz")
POWER = _AREA.gauge("power_watts", "Watts drawn now.", unit="watts")
POWER_LIMIT = _AREA.gauge("power_limit_watts", "Watts allowed.", unit="watts")
TEMPERATURE = _AREA.gauge("temperature_celsius", "Degrees Celsius of chip and memory.", "sensor", unit="celsius")
THROTTLED = _AREA.gauge("throttled", "1 while a clock is held back for this reason; absent otherwise.", "reason")
REPLAYS = _AREA.counter("pcie_replays_total", "Packets sent again on PCIe by this GPU.")
LINKS_UP = _AREA.gauge("nvlinks_up", "NVLinks of this GPU that are up.")
FABRIC = _AREA.gauge("fabric_ready", "1 when the fabric manager let this GPU use NVSwitch, 0 when it did not (yet).")
ECC = _AREA.counter("ecc_errors_total", "Errors in memory on this device since the driver was loaded.", "kind")
REMAP_PENDING = _AREA.gauge("row_remap_pending", "1 when a row waits for a reset to be replaced.")
REMAP_FAILED = _AREA.gauge("row_remap_failed", "1 when a row could not be replaced: the GPU is to be exchanged.")
ENERGY = _AREA.counter("energy_joules_total", "Joules drawn by this GPU since the driver was loaded.", unit="joules")
NVLINK_BYTES = _AREA.counter(
    "nvlink_bytes_total", "Bytes received and sent over all NVLinks, protocol left out.", "direction", unit="bytes"
)
NVLINK_ERRORS = _AREA.counter("nvlink_errors_total", "Errors received and sent over all NVLinks, by type.", "type")
PCIE_BYTES = _AREA.counter("pcie_bytes_total", "Bytes received and sent over PCIe.", "direction", unit="bytes")
THROTTLE_TIME = _AREA.counter(
    "throttle_seconds_total", "Seconds on this GPU with clocks held back for this reason.", "reason", unit="seconds"
)
XIDS = _LOG.counter("xid_total", "Events on this node: XIDs of the NVIDIA driver, by whom they are for.", "class")
XID_CODES = _LOG.counter("xid_codes_total", "Events on this node: XIDs by code; codes never seen are left out.", "xid")
XID_LAST = _LOG.gauge("xid_last_since_boot_seconds", "Seconds between boot and the last XID.", unit="seconds")

ROWS = (
    *(INFO, LOST, UTILISATION, MEMORY_TOTAL, MEMORY_USED, CLOCK, POWER, POWER_LIMIT, TEMPERATURE),
    *(THROTTLED, REPLAYS, LINKS_UP, FABRIC, ECC, REMAP_PENDING, REMAP_FAILED, ENERGY, NVLINK_BYTES),
    *(NVLINK_ERRORS, PCIE_BYTES, THROTTLE_TIME),
)
LOG_ROWS = (XIDS, XID_CODES, XID_LAST)
