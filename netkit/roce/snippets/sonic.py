"""SONiC's CONFIG_DB as JSON, to be loaded with `config load`.

SONiC Configuration.md; qos_config.j2 of sonic-buildimage for the names of its tables. The pools of BUFFER_POOL belong
to the ASIC: the profile refers to the one every platform has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.qos import DSCPS, PRIORITIES
from netkit.roce.sizes import DETECTION_MS, MARK_PERCENT, RESTORATION_MS, Sizes
from netkit.roce.snippet import Dialect

_MAP = "NETKIT_ROCE"
_LOSSLESS, _STRICT, _SHARED = "NETKIT_LOSSLESS", "netkit.strict", "netkit.shared"
Row = dict[str, str]


def emit(intent: FabricIntent, sizes: Sizes) -> str:
    """Return every table the intent decides."""
    lossless = intent.lossless_priorities
    profile = f"pg_lossless_{round(intent.speed * 8e-6)}_{intent.cable_metres}m_profile"
    tables = {
        "PORT": _by_port(intent, {"mtu": str(intent.mtu_bytes)}),
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(intent.switch_ports, f"{intent.cable_metres}m")},
        "DSCP_TO_TC_MAP": {_MAP: {str(dscp): str(intent.priority_of(dscp)) for dscp in DSCPS}},
        **{table: {_MAP: _identity()} for table in _IDENTITIES},
        "PORT_QOS_MAP": _by_port(intent, _port_maps(",".join(map(str, lossless)))),
        "BUFFER_PROFILE": {
            profile: {
                "pool": "ingress_lossless_pool",
                "size": "0",
                "dynamic_th": "0",
                "xon": "0",
                "xoff": str(sizes.headroom.bytes),
            }
        },
        "BUFFER_PG": _by_port_and(intent, lossless, lambda _group: {"profile": profile}),
        "WRED_PROFILE": {_LOSSLESS: _wred(sizes)},
        "SCHEDULER": {_STRICT: {"type": "STRICT"}, _SHARED: {"type": "DWRR", "weight": "50"}},
        "QUEUE": _by_port_and(intent, PRIORITIES, lambda queue: _queue(intent, queue)),
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": str(DETECTION_MS)}, **_by_port(intent, _WATCHDOG)},
    }
    return json.dumps(tables, indent=2) + "\n"


_IDENTITIES = (
    "TC_TO_PRIORITY_GROUP_MAP",
    "TC_TO_QUEUE_MAP",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
)
_WATCHDOG = {"action": "drop", "detection_time": str(DETECTION_MS), "restoration_time": str(RESTORATION_MS)}


def _identity() -> Row:
    return {str(number): str(number) for number in PRIORITIES}


def _port_maps(lossless: str) -> Row:
    maps = ("dscp_to_tc_map", "tc_to_pg_map", "tc_to_queue_map", "pfc_to_pg_map", "pfc_to_queue_map")
    return {**dict.fromkeys(maps, _MAP), "pfc_enable": lossless, "pfcwd_sw_enable": lossless}


def _wred(sizes: Sizes) -> Row:
    thresholds = {"min_threshold": sizes.mark_from.bytes, "max_threshold": sizes.mark_all_from.bytes}
    return {
        "ecn": "ecn_all",
        "wred_green_enable": "true",
        "green_drop_probability": str(MARK_PERCENT),
        **{f"green_{name}": str(number) for name, number in thresholds.items()},
    }


def _queue(intent: FabricIntent, queue: int) -> Row:
    if queue == intent.cnp_priority:
        return {"scheduler": _STRICT}
    marked = {"wred_profile": _LOSSLESS} if queue in intent.lossless_priorities else {}
    return {"scheduler": _SHARED, **marked}


def _by_port(intent: FabricIntent, row: Row) -> dict[str, Row]:
    return {port: dict(row) for port in intent.switch_ports}


def _by_port_and(intent: FabricIntent, numbers: Iterable[int], row: Callable[[int], Row]) -> dict[str, Row]:
    chosen = tuple(numbers)
    return {f"{port}|{number}": row(number) for port in intent.switch_ports for number in chosen}


def _unstated(_intent: FabricIntent) -> tuple[str, ...]:
    return (
        "size of ingress_lossless_pool and its own xoff: they belong to the ASIC; see BUFFER_POOL of the platform",
        "xon, size and dynamic_th of the profile: taken as 0; see pg_profile_lookup.ini of the platform",
    )


DIALECT = Dialect(
    id="sonic",
    title="SONiC CONFIG_DB",
    source="SONiC Configuration.md",
    emit=emit,
    unstated=_unstated,
    readable=True,
    comment=None,
)
