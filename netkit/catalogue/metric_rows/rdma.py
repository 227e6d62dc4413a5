"""Series of RDMA devices and ports; those of counters follow from the rows of the drivers' tables."""

from __future__ import annotations

from types import MappingProxyType

from netkit.catalogue.counter import families, tables
from netkit.catalogue.metrics import Kind, Metric

_PORT = ("device", "port")
_LISTED = [row for table in tables() for row in (*table.port, *table.hardware)]
# mlx5 is listed before others of its stems: its words are the ones people know.
_LISTED.sort(key=lambda row: row not in next(table for table in tables() if table.id == "mlx5").hardware)

COUNTERS = MappingProxyType(families(_LISTED, "rdma_", "rdma", _PORT))
"""By stem; `port` is empty where a counter is the whole device's."""


def _gauge(name: str, text: str, labels: tuple[str, ...] = _PORT, unit: str = "") -> Metric:
    return Metric(name=f"netkit_rdma_{name}", kind=Kind.GAUGE, help=text, collector="rdma", labels=labels, unit=unit)


UNKNOWN = Metric(
    name="netkit_rdma_hw_events_total",
    kind=Kind.COUNTER,
    help="Events on this node, whatever the driver counts under a name the catalogue does not know.",
    collector="rdma",
    labels=(*_PORT, "counter"),
)
INFO = _gauge(
    "info",
    "Always 1: firmware, board, driver and place of a device.",
    ("device", "board_id", "firmware_version", "hca_type", "driver", "pci_bus_id", "node_guid"),
)
PORT_INFO = _gauge(
    "port_info",
    "Always 1: the network interface and link layer of a port.",
    (*_PORT, "netdev", "link_layer", "pci_bus_id"),
)
STATE = _gauge("state_id", "State of a port: 0 no change, 1 down, 2 init, 3 armed, 4 active, 5 active defer.")
PHYSICAL_STATE = _gauge(
    "physical_state_id",
    "Physical state of a port: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 error recovery, 7 phy test.",
)
RATE = _gauge("rate_bytes_per_second", "Bytes per second the port can carry each way, as it came up.")
LIFESPAN = _gauge("lifespan_seconds", "Seconds the driver may answer hw_counters from its cache.", unit="seconds")
SATURATED = _gauge(
    "saturated",
    "1 while a counter stands at its largest value and stays there, so that its rate says nothing; absent otherwise.",
    (*_PORT, "counter"),
)
BITS = _gauge(
    "width",
    "Width in bits of counters narrower than 64; a 32-bit one that wraps needs scrapes at most 200 s apart.",
    ("driver", "counter"),
)
DEVICES = _gauge("devices", "RDMA devices that are here now, virtual functions left out unless asked for.", ())
DEVICES_EXPECTED = _gauge("devices_expected", "Collective ports the platform profile gives this machine.", ())
ABSENT = _gauge("device_absent", "1 for a device that was here and is missing three times in a row.", ("device",))
EXPECTED = _gauge("port_expected", "1 for a port the platform profile counts on for collectives.")
EXPECTED_RATE = _gauge(
    "port_expected_rate_bytes_per_second", "Bytes per second each way that the platform profile gives a port."
)

ROWS = (
    *COUNTERS.values(),
    *(UNKNOWN, INFO, PORT_INFO, STATE, PHYSICAL_STATE, RATE, LIFESPAN, SATURATED, BITS),
    *(DEVICES, DEVICES_EXPECTED, ABSENT, EXPECTED, EXPECTED_RATE),
)
