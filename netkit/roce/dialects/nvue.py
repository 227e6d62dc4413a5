"""Cumulus Linux by NVUE commands: what `nv config show -o commands` prints.

NVIDIA Cumulus Linux user guide, "Quality of Service" and "RDMA over Converged Ethernet". `nv set qos roce` stands for
priority 3 lossless in class 3, priority 6 strict, ECN from 150 kB to 1.5 MB; `mode lossy` leaves PFC out. Commands of
their own change or replace each of these. DSCP map to switch priorities in eights, priorities to classes one to one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.roce.qos import DSCPS, PRIORITIES, Marking, PriorityGroup, SwitchQos, Watchdog

NAME = "nvue"
_LINE = re.compile(r"^nv set (.+)$", re.MULTILINE)
_NUMBERS = r"([\d,-]{1,24})"
_MAPPING = re.compile(rf"qos mapping \S+ dscp {_NUMBERS} switch-priority (\d)")
_PFC = re.compile(rf"qos pfc \S+ switch-priority {_NUMBERS}")
_PFC_SIDE = re.compile(r"qos pfc \S+ (tx|rx) (enable|disable)")
_CABLE = re.compile(r"qos pfc \S+ cable-length (\d{1,6})")
_QUEUE = re.compile(rf"qos egress-queue-mapping \S+ switch-priority {_NUMBERS} traffic-class (\d)")
_ECN = re.compile(rf"qos congestion-control \S+ traffic-class {_NUMBERS} (min-threshold|max-threshold|ecn) (\w+)")
_SCHEDULER = re.compile(rf"qos egress-scheduler \S+ traffic-class {_NUMBERS} mode (strict|dwrr)")
_WATCHDOG = re.compile(r"(?:interface \S+ )?qos pfc-watchdog(?: state (\w+))?")
_POLLING = re.compile(r"qos pfc-watchdog (polling-interval|robustness) (\d{1,6})")
_MTU = re.compile(r"interface \S+ link mtu (\d{1,5})")
_ROCE = re.compile(r"qos roce(?: (?:mode (?P<mode>lossless|lossy)|enable (?P<enable>on|off)|state (?P<state>\w+)))?")
_LOSSLESS, _STRICT = 3, 6
_LOW, _HIGH = 150_000, 1_500_000
_IDENTITY = MappingProxyType({number: number for number in PRIORITIES})
_POLLING_MS, _ROBUSTNESS = 100, 3
_MILLISECOND = 1e-3


def looks_like(text: str) -> bool:
    """Tell whether a text is a list of NVUE commands."""
    return _LINE.search(text) is not None


def parse(text: str) -> dict[str, SwitchQos]:
    """Return the QoS all ports share, under `*`; InputError when no RoCE QoS is set."""
    commands = [command.strip() for command in _LINE.findall(text)]
    roce = list(_matches(_ROCE, commands))
    if not roce and not any(_matches(_PFC, commands)):
        raise InputError("NVUE commands without `nv set qos roce` or `nv set qos pfc`", "nv config show -o commands")
    lossless = _lossless(commands, roce)
    unknown = Missing(reason=Reason.ABSENT, where="nvue", detail="worked out by the switch")
    mtus = [int(match[1]) for match in _matches(_MTU, commands)]
    lengths = [int(match[1]) for match in _matches(_CABLE, commands)]
    queues = dict(_IDENTITY) | _pairs(_QUEUE, commands)
    return {
        "*": SwitchQos(
            port="every port",
            dscp_to_class={dscp: dscp >> 3 for dscp in DSCPS} | _pairs(_MAPPING, commands),
            class_to_group=_IDENTITY,
            class_to_queue=queues,
            priority_to_group=_IDENTITY,
            priority_to_queue=queues,
            lossless=lossless,
            groups={priority: PriorityGroup(lossless=True, xoff_bytes=unknown) for priority in lossless},
            marking=_markings(commands, roce_set=bool(roce)),
            strict_queues=_strict(commands, roce_set=bool(roce)),
            watchdog=_watchdog(commands),
            mtu_bytes=min(mtus) if mtus else unknown,
            cable_metres=lengths[-1] if lengths else None,
        )
    }


def _matches(pattern: re.Pattern[str], commands: Iterable[str]) -> Iterator[re.Match[str]]:
    return (match for command in commands if (match := pattern.fullmatch(command)))


def _numbers(text: str) -> Iterator[int]:
    """Yield the numbers of `3`, `4,5,7` or `0-5,7`; a range of the wrong way round holds none."""
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit() and (high.isdigit() or not high):
            yield from range(int(low), min(int(high or low), DSCPS[-1]) + 1)


def _pairs(pattern: re.Pattern[str], commands: Iterable[str]) -> dict[int, int]:
    """Return number by number of lines that map a list of them to one."""
    return {number: int(match[2]) for match in _matches(pattern, commands) for number in _numbers(match[1])}


def _lossless(commands: list[str], roce: list[re.Match[str]]) -> frozenset[int]:
    """PFC acts where a profile names the priority and both sides are on; `nv set qos roce` turns them on by itself."""
    off = any(match["mode"] == "lossy" or match["enable"] == "off" for match in roce)
    sides = {match[1]: match[2] == "enable" for match in _matches(_PFC_SIDE, commands)}
    usual = bool(roce) and not off
    if not (sides.get("tx", usual) and sides.get("rx", usual)):
        return frozenset()
    named = {number for match in _matches(_PFC, commands) for number in _numbers(match[1])}
    return frozenset(named or ({_LOSSLESS} if usual else ()))


def _markings(commands: list[str], *, roce_set: bool) -> dict[int, Marking]:
    """A class that congestion control names marks from the usual thresholds, unless it says otherwise."""
    stated: dict[int, dict[str, str]] = {_LOSSLESS: {}} if roce_set else {}
    for match in _matches(_ECN, commands):
        for queue in _numbers(match[1]):
            stated.setdefault(queue, {})[match[2]] = match[3]
    return {
        queue: Marking(
            ecn=said.get("ecn", "enable") == "enable",
            low_bytes=_bytes(said.get("min-threshold"), _LOW),
            high_bytes=_bytes(said.get("max-threshold"), _HIGH),
        )
        for queue, said in stated.items()
    }


def _bytes(text: str | None, default: int) -> int:
    if text is None:
        return default
    return int(text) if text.isdecimal() else 0


def _strict(commands: list[str], *, roce_set: bool) -> frozenset[int]:
    strict = {_STRICT} if roce_set else set()
    for match in _matches(_SCHEDULER, commands):
        change = strict.update if match[2] == "strict" else strict.difference_update
        change(_numbers(match[1]))
    return frozenset(strict)


def _watchdog(commands: list[str]) -> Watchdog | None:
    """It acts after so many polls of a stuck queue, and gives the queue back after one poll without a pause."""
    states = [match[1] for match in _matches(_WATCHDOG, commands)]
    if not states or states[-1] in {"disable", "disabled"}:
        return None
    stated = {match[1]: int(match[2]) for match in _matches(_POLLING, commands)}
    poll = stated.get("polling-interval", _POLLING_MS) * _MILLISECOND
    return Watchdog(
        detection_seconds=poll * stated.get("robustness", _ROBUSTNESS), restoration_seconds=poll, action="drop"
    )
