"""SONiC's CONFIG_DB as JSON (`sonic-cfggen -d --print-data`, or /etc/sonic/config_db.json).

SONiC Configuration.md (DSCP_TO_TC_MAP, PORT_QOS_MAP, BUFFER_PG, CABLE_LENGTH, WRED_PROFILE, PFC_WD); references are
`NAME` or, in older releases, `[TABLE|NAME]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.roce.qos import Marking, PriorityGroup, SwitchQos, Watchdog

NAME = "sonic"
_REFERENCE = re.compile(r"\[[A-Z_]+\|([^\]]+)\]")
_RANGE = re.compile(r"(\d{1,2})(?:-(\d{1,2}))?")
_MILLISECOND = 1e-3
Tables = Mapping[str, Mapping[str, Mapping[str, Any]]]


def looks_like(text: str) -> bool:
    """Tell whether a text is a CONFIG_DB."""
    return text.lstrip().startswith("{") and '"PORT_QOS_MAP"' in text


def parse(text: str) -> dict[str, SwitchQos]:
    """Return the QoS of every port, by the port's name; InputError when the text is no CONFIG_DB."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError("a switch configuration that is not JSON", "SONiC's CONFIG_DB as JSON") from fault
    if not isinstance(found, dict) or not isinstance(found.get("PORT_QOS_MAP"), dict):
        raise InputError("a CONFIG_DB without PORT_QOS_MAP", "SONiC's CONFIG_DB with its QoS tables")
    tables = {str(name): _rows(table) for name, table in found.items()}
    ports = {port: row for key, row in tables["PORT_QOS_MAP"].items() for port in key.split(",")}
    return {visible(port): _port(tables, port, row) for port, row in ports.items() if port != "global"}


def _rows(table: object) -> dict[str, dict[str, Any]]:
    rows = table.items() if isinstance(table, dict) else ()
    return {str(key): row for key, row in rows if isinstance(row, dict)}


def _port(tables: Tables, port: str, row: Mapping[str, Any]) -> SwitchQos:
    everywhere = tables["PORT_QOS_MAP"].get("global", {})

    def numbers(field: str, table: str) -> dict[int, int]:
        name = _name(row.get(field, everywhere.get(field, "")))
        pairs = tables.get(table, {}).get(name, {}).items()
        return {int(key): int(value) for key, value in pairs if str(key).isdigit() and str(value).isdigit()}

    return SwitchQos(
        port=visible(port),
        dscp_to_class=numbers("dscp_to_tc_map", "DSCP_TO_TC_MAP"),
        class_to_group=numbers("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
        class_to_queue=numbers("tc_to_queue_map", "TC_TO_QUEUE_MAP"),
        priority_to_group=numbers("pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
        priority_to_queue=numbers("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"),
        lossless=frozenset(int(number) for number in re.findall(r"\d", str(row.get("pfc_enable", "")))),
        groups={group: _group(tables, entry) for group, entry in _numbered(tables, "BUFFER_PG", port)},
        marking={queue: one for queue, entry in _numbered(tables, "QUEUE", port) if (one := _marking(tables, entry))},
        strict_queues=frozenset(queue for queue, entry in _numbered(tables, "QUEUE", port) if _strict(tables, entry)),
        watchdog=_watchdog(tables, port),
        mtu_bytes=_mtu(tables, port),
        cable_metres=_cable(tables, port),
    )


def _name(reference: object) -> str:
    match = _REFERENCE.fullmatch(str(reference))
    return match[1] if match else str(reference)


def _numbered(tables: Tables, table: str, port: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (number, row) of keys such as `Ethernet0,Ethernet4|3-4` that name this port."""
    for key, row in tables.get(table, {}).items():
        ports, _, numbers = key.partition("|")
        match = _RANGE.fullmatch(numbers)
        if match and port in ports.split(","):
            yield from ((number, row) for number in range(int(match[1]), int(match[2] or match[1]) + 1))


def _group(tables: Tables, row: Mapping[str, Any]) -> PriorityGroup:
    name = _name(row.get("profile", ""))
    profile = tables.get("BUFFER_PROFILE", {}).get(name, {})
    xoff = str(profile.get("xoff", ""))
    # `NULL` lets buffermgrd work the profile out from cable length and speed: lossless, of a size not written here.
    worked_out = name == "NULL" or name.startswith("pg_lossless")
    unknown = Missing(reason=Reason.ABSENT, where=f"BUFFER_PROFILE {visible(name)}", detail="worked out by the switch")
    return PriorityGroup(lossless=xoff.isdigit() or worked_out, xoff_bytes=int(xoff) if xoff.isdigit() else unknown)


def _marking(tables: Tables, row: Mapping[str, Any]) -> Marking | None:
    profile = tables.get("WRED_PROFILE", {}).get(_name(row.get("wred_profile", "")))
    if profile is None:
        return None
    low, high = (str(profile.get(f"green_{end}_threshold", "0")) for end in ("min", "max"))
    return Marking(
        ecn=str(profile.get("ecn", "ecn_none")) in {"ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"},
        low_bytes=int(low) if low.isdigit() else 0,
        high_bytes=int(high) if high.isdigit() else 0,
    )


def _strict(tables: Tables, row: Mapping[str, Any]) -> bool:
    return str(tables.get("SCHEDULER", {}).get(_name(row.get("scheduler", "")), {}).get("type", "")).upper() == "STRICT"


def _watchdog(tables: Tables, port: str) -> Watchdog | None:
    row = next((row for key, row in tables.get("PFC_WD", {}).items() if port in key.split(",")), None)
    if row is None:
        return None
    times = [str(row.get(field, "0")) for field in ("detection_time", "restoration_time")]
    detection, restoration = (int(text) * _MILLISECOND if text.isdigit() else 0.0 for text in times)
    return Watchdog(
        detection_seconds=detection,
        restoration_seconds=restoration,
        action=visible(str(row.get("action", "drop"))),
    )


def _mtu(tables: Tables, port: str) -> int | Missing:
    text = str(tables.get("PORT", {}).get(port, {}).get("mtu", ""))
    return (
        int(text) if text.isdigit() else Missing(reason=Reason.ABSENT, where=f"PORT {visible(port)}", detail="no mtu")
    )


def _cable(tables: Tables, port: str) -> int | None:
    """CABLE_LENGTH has one row, `AZURE`, of lengths such as `40m` by port."""
    lengths = [str(row[port]) for row in tables.get("CABLE_LENGTH", {}).values() if port in row]
    match = re.fullmatch(r"(\d{1,6})m", lengths[0]) if lengths else None
    return int(match[1]) if match else None
