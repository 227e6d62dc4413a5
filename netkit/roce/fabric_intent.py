"""What somebody wants of a RoCE fabric, declared once: which DSCPs are lossless, how notifications travel, which links.

A TOML file of this form, or the same by options:

    [lossless]
    3 = [26]              # priority: the DSCPs that travel on it
    [cnp]
    dscp = 48
    priority = 6
    [link]
    speed = "400gbit"
    cable_metres = 40
    mtu_bytes = 9100
    rtt_microseconds = 20 # of a loaded fabric; decides the ECN thresholds
    [buffer]
    bytes = "64M"         # shared packet buffer of the switch, where it should be checked
    [ports]
    switch = ["Ethernet0", "Ethernet8"]
    host = ["rail0"]

Priorities, groups and queues bear the same number everywhere. A DSCP nobody declares keeps the priority IEEE and RFC
2474 habits give it (its upper three bits), unless that one is lossless: then it gets priority 0.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netkit.errors import InputError
from netkit.model.text import visible
from netkit.model.units import parse_rate_bytes_per_second, parse_size_bytes
from netkit.roce.qos import DSCPS

MOST_LOSSLESS = 2
"""Every lossless priority takes its headroom from the others on every port."""
_METRES = (1, 40_000)
_MTUS = (1500, 9416)
_RTT_MICROSECONDS = (1, 1000)
_SPEEDS = (1e9 / 8, 1.6e12 / 8)
_KNOWN = {
    "lossless": None,
    "cnp": {"dscp", "priority"},
    "link": {"speed", "cable_metres", "mtu_bytes", "rtt_microseconds"},
    "buffer": {"bytes"},
    "ports": {"switch", "host"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricIntent:
    """One declared intent. `speed` is bytes per second; `lossless` the priority of each lossless DSCP."""

    lossless: Mapping[int, int]
    cnp_dscp: int = 48
    cnp_priority: int = 6
    speed: float = 400e9 / 8
    cable_metres: int = 40
    mtu_bytes: int = 9100
    rtt_microseconds: int = 20
    buffer_bytes: int | None = None
    switch_ports: tuple[str, ...] = ("Ethernet0",)
    host_interfaces: tuple[str, ...] = ("rail0",)

    @property
    def lossless_priorities(self) -> tuple[int, ...]:
        """The priorities PFC protects, ascending."""
        return tuple(sorted(set(self.lossless.values())))

    def priority_of(self, dscp: int) -> int:
        """Return the priority a DSCP has on host and switch alike."""
        if dscp == self.cnp_dscp:
            return self.cnp_priority
        if dscp in self.lossless:
            return self.lossless[dscp]
        usual = dscp >> 3
        return 0 if usual in self.lossless_priorities else usual

    @property
    def stated(self) -> dict[int, int]:
        """Return the priority of each DSCP that has to be written where maps start out in eights."""
        declared = {*self.lossless, self.cnp_dscp}
        return {
            dscp: self.priority_of(dscp) for dscp in DSCPS if dscp in declared or self.priority_of(dscp) != dscp >> 3
        }

    @property
    def by_priority(self) -> dict[int, tuple[int, ...]]:
        """Return the DSCPs of each priority that carries any."""
        carried = sorted({self.priority_of(dscp) for dscp in DSCPS})
        return {one: tuple(dscp for dscp in DSCPS if self.priority_of(dscp) == one) for one in carried}


def checked_intent(intent: FabricIntent) -> FabricIntent:
    """Return the intent if a fabric can have it; raise InputError naming the first thing that cannot be."""
    if not intent.lossless:
        raise InputError("an intent without a lossless DSCP", "at least one, such as DSCP 26 on priority 3")
    for dscp, priority in intent.lossless.items():
        _within("lossless DSCP", dscp, (1, 63))
        _within(f"priority of DSCP {dscp}", priority, (1, 7))
    count = len(intent.lossless_priorities)
    if count > MOST_LOSSLESS:
        raise InputError(f"{count} lossless priorities", f"1 or {MOST_LOSSLESS}: each takes headroom from the others")
    _within("CNP DSCP", intent.cnp_dscp, (1, 63))
    _within("CNP priority", intent.cnp_priority, (1, 7))
    if intent.cnp_dscp in intent.lossless:
        raise InputError(f"DSCP {intent.cnp_dscp} for data and notifications", "a CNP DSCP of its own, such as 48")
    if intent.cnp_priority in intent.lossless_priorities:
        raise InputError(
            f"CNP priority {intent.cnp_priority}, which is lossless", "one that PFC cannot pause, such as 6"
        )
    for name, value, bounds in (
        ("link speed in bytes per second", intent.speed, _SPEEDS),
        ("cable length in metres", intent.cable_metres, _METRES),
        ("MTU in bytes", intent.mtu_bytes, _MTUS),
        ("round trip in microseconds", intent.rtt_microseconds, _RTT_MICROSECONDS),
    ):
        _within(name, value, bounds)
    for name in (*intent.switch_ports, *intent.host_interfaces):
        if not _is_port(name):
            raise InputError(f"port {visible(name, 40)!r}", "letters, digits and - _ . / : as in Ethernet1/1")
    if not intent.switch_ports or not intent.host_interfaces:
        raise InputError("an intent without a port", "at least one switch port and one host interface")
    return intent


def parse_intent(text: str) -> FabricIntent:
    """Return what a TOML text declares; InputError for what it cannot mean, unknown keys included."""
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(
            f"an intent that is not TOML ({visible(str(fault), 120)})", "see netkit tune switch --help"
        ) from fault
    _refuse_unknown(found)
    link, cnp, ports = (_table(found, name) for name in ("link", "cnp", "ports"))
    blank = FabricIntent(lossless={})
    size = _table(found, "buffer").get("bytes")
    return checked_intent(
        FabricIntent(
            lossless=_lossless(_table(found, "lossless")),
            cnp_dscp=_whole(cnp, "dscp", blank.cnp_dscp),
            cnp_priority=_whole(cnp, "priority", blank.cnp_priority),
            speed=parse_rate_bytes_per_second(str(link.get("speed", "400gbit"))),
            cable_metres=_whole(link, "cable_metres", blank.cable_metres),
            mtu_bytes=_whole(link, "mtu_bytes", blank.mtu_bytes),
            rtt_microseconds=_whole(link, "rtt_microseconds", blank.rtt_microseconds),
            buffer_bytes=None if size is None else parse_size_bytes(str(size)),
            switch_ports=_names(ports, "switch", blank.switch_ports),
            host_interfaces=_names(ports, "host", blank.host_interfaces),
        )
    )


def _refuse_unknown(found: Mapping[str, Any]) -> None:
    for name, table in found.items():
        if name not in _KNOWN:
            raise InputError(f"[{visible(name)}] in an intent", ", ".join(f"[{known}]" for known in _KNOWN))
        known = _KNOWN[name]
        strange = [key for key in table if known is not None and key not in known] if isinstance(table, dict) else []
        if strange and known is not None:
            raise InputError(f"{visible(strange[0])} in [{name}]", ", ".join(sorted(known)))


def _table(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = found.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{name} = {visible(str(table), 40)}", f"a table [{name}]")
    return table


def _lossless(table: Mapping[str, Any]) -> dict[int, int]:
    found: dict[int, int] = {}
    for key, listed in table.items():
        dscps = listed if isinstance(listed, list) else [listed]
        if not key.isdecimal() or not dscps or not all(type(one) is int for one in dscps):
            raise InputError(
                f"[lossless] {visible(key)} = {visible(str(listed), 60)}", "a priority and its DSCPs: 3 = [26]"
            )
        for dscp in dscps:
            if dscp in found:
                raise InputError(f"DSCP {dscp} twice in [lossless]", "each DSCP on one priority")
            found[dscp] = int(key)
    return found


def _whole(table: Mapping[str, Any], key: str, default: int) -> int:
    value = table.get(key, default)
    if type(value) is not int:
        raise InputError(f"{key} = {visible(str(value), 40)}", "a whole number")
    return value


def _names(table: Mapping[str, Any], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    listed = table.get(key, list(default))
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise InputError(f"[ports] {key} = {visible(str(listed), 60)}", 'a list of names, such as ["Ethernet0"]')
    return tuple(dict.fromkeys(listed))


def _is_port(name: str) -> bool:
    """Names go into commands: letters, digits and what separates them in interface names."""
    return 0 < len(name) <= 40 and name.isascii() and all(one.isalnum() or one in "-_./: " for one in name)


def _within(name: str, value: float, bounds: tuple[float, float]) -> None:
    low, high = bounds
    if not low <= value <= high:
        raise InputError(f"{name} {value:g}", f"{low:g} to {high:g}")
