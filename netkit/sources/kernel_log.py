"""Events in the kernel log that matter to the data path.

`/dev/kmsg`: Linux Documentation/ABI/testing/dev-kmsg; read without waiting, nothing is consumed. The same lines from
`dmesg`, `dmesg --decode` or a syslog are taken too. Wordings: Linux drivers/net/ethernet/mellanox/mlx5/core/events.c
and cmd.c, drivers/pci/pcie/aer.c; NVIDIA "Xid Errors". Only matching lines leave the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from netkit.errors import InputError
from netkit.model.host import KernelEvent, KernelEventKind
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.model.text import visible
from netkit.sources.tree import Tree

LOG = "kmsg"
MOST_LINES = 4000
_SHOWN = 400
_LONGEST = 1000
KEEP = re.compile(
    rb"SXid|Xid|NVRM: The NVIDIA GPU|installed in this|fallen off the bus|syndrome|timeout\. Will cause|mlx5_.*health"
    rb"|Port module event\[error\]|[Hh]igh temperature|insufficient power|[Ll]ink (?:is )?(?:[Dd]own|DOWN|[Uu]p|UP)\b"
    rb"|link status definitely down|(?:[Ll]ost|Gained) carrier|AER: |PCIe Bus Error|peermem|NETDEV WATCHDOG"
)
"""What a line must hold to be worth looking at."""


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: KernelEventKind
    pattern: re.Pattern[str]


def _rule(kind: KernelEventKind, pattern: str) -> _Rule:
    return _Rule(kind, re.compile(pattern))


_PCI = r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
_NIC = r"(?P<nic>[A-Za-z][\w.@-]{0,31})"
# The first rule that matches a line wins. Every gap is bounded: lines come from strangers' recordings too.
_RULES = (
    _rule(KernelEventKind.SXID, rf"SXid \(PCI:{_PCI}\): (?P<code>[0-9]{{1,6}})"),
    _rule(KernelEventKind.XID, rf"Xid \(PCI:{_PCI}\): (?P<code>[0-9]{{1,6}})"),
    _rule(KernelEventKind.GPU_LOST, rf"GPU (?:at PCI:)?{_PCI}\b.{{0,160}}?fallen off the bus"),
    _rule(KernelEventKind.GPU_LOST, r"fallen off the bus"),
    _rule(KernelEventKind.MLX5_SYNDROME, r"\bsyndrome \((?P<hex>0x[0-9a-fA-F]{1,8})\)"),
    _rule(KernelEventKind.MLX5_TIMEOUT, r"timeout\. Will cause a leak"),
    _rule(KernelEventKind.MODULE_TEMPERATURE, r"Port module event.{0,80}?High Temperature|High temperature on sensors"),
    _rule(KernelEventKind.MODULE_ERROR, r"Port module event\[error\]"),
    _rule(KernelEventKind.SLOT_POWER, r"insufficient power on the PCIe slot \((?P<code>[0-9]{1,4})W"),
    _rule(KernelEventKind.MLX5_HEALTH, r"mlx5_core .{0,80}?(?:health compromised|poll_health|health_care)"),
    _rule(KernelEventKind.AER, rf"AER: [\w() -]{{0,60}}?received(?: from)?:? {_PCI}"),
    _rule(KernelEventKind.AER, rf"{_PCI}: (?:AER: )?PCIe Bus Error: severity="),
    _rule(KernelEventKind.PEERMEM, r"peermem.{0,80}?(?:invalid context|ERROR|error|symbol)"),
    _rule(KernelEventKind.TRANSMIT_TIMEOUT, rf"NETDEV WATCHDOG: (?:CPU: [0-9]{{1,4}}: )?{_NIC} \("),
    _rule(KernelEventKind.LINK_DOWN, rf"mlx5_core {_PCI} {_NIC}: (?:Port: [0-9]{{1,3}} )?Link (?:down|DOWN)"),
    _rule(KernelEventKind.LINK_UP, rf"mlx5_core {_PCI} {_NIC}: (?:Port: [0-9]{{1,3}} )?Link (?:up|UP)"),
    _rule(KernelEventKind.LINK_DOWN, rf"slave {_NIC}\): link status definitely down"),
    _rule(KernelEventKind.LINK_DOWN, rf"\b{_NIC}: (?:NIC )?(?:Link is Down|[Ll]ost carrier|Link down)"),
    _rule(KernelEventKind.LINK_UP, rf"\b{_NIC}: (?:NIC )?(?:Link is Up|Gained carrier|Link up)"),
)
_DRIVER_AT = re.compile(rf"\b[a-z]\w{{1,30}} {_PCI}[: ]")
_RECORD = re.compile(r"\d+,\d+,(?P<micro>\d{1,18}),[^;]*;(?P<text>.*)")
_DMESG = re.compile(r"(?:<\d+>)?\[ *(?P<seconds>\d{1,10}\.\d{1,9})\] ?(?P<text>.*)")
_GPU_NAMED = re.compile(rf"NVRM: The NVIDIA GPU {_PCI}")


def read_kernel_events(tree: Tree) -> tuple[KernelEvent, ...] | Missing:
    """Return the events of this boot's kernel log, oldest first; Missing (denied) without CAP_SYSLOG."""
    data = tree.lines(LOG, KEEP, MOST_LINES)
    return data if isinstance(data, Missing) else parse_log(data)


def parse_log(data: bytes) -> tuple[KernelEvent, ...]:
    """Match the lines of a log in any of the four forms; lines that mean nothing here are passed over."""
    lines = [_split(visible(line, _LONGEST)) for line in data.decode(errors="surrogateescape").split("\n") if line]
    return tuple(event for when, line in _joined(lines) if (event := _event(when, line)))


def _split(line: str) -> tuple[float | None, str]:
    if match := _RECORD.match(line):
        return int(match["micro"]) / 1e6, match["text"]
    if match := _DMESG.match(line):
        return float(match["seconds"]), match["text"]
    return None, line


def _joined(lines: list[tuple[float | None, str]]) -> Iterator[tuple[float | None, str]]:
    """Put "The NVIDIA GPU … / installed in this system has / fallen off the bus" back on one line."""
    opening: tuple[float | None, str] | None = None
    parts = 0
    for when, line in lines:
        if opening is not None and parts < 3 and ("installed in this" in line or "fallen off the bus" in line):
            opening = (opening[0], f"{opening[1]} {line}")
            parts += 1
        else:
            yield from [opening] if opening else []
            opening, parts = None, 0
            if not _GPU_NAMED.search(line) or "fallen off" in line:
                yield when, line
                continue
            opening = (when, line)
        if "fallen off the bus" in opening[1]:
            yield opening
            opening, parts = None, 0
    yield from [opening] if opening else []


def _event(when: float | None, line: str) -> KernelEvent | None:
    for rule in _RULES:
        if match := rule.pattern.search(line):
            return _matched(rule.kind, when, line, match.groupdict())
    return None


def _matched(kind: KernelEventKind, when: float | None, line: str, found: dict[str, str | None]) -> KernelEvent:
    nothing = Missing(reason=Reason.ABSENT, where=LOG, detail="not in the line")
    driver = _DRIVER_AT.search(line)
    pci = found.get("pci") or (driver["pci"] if driver else None)
    code = found.get("code")
    syndrome = found.get("hex")
    return KernelEvent(
        kind=kind,
        seconds_since_boot=nothing if when is None else when,
        address=_address(pci) or nothing,
        interface=found.get("nic") or nothing,
        code=int(code) if code else int(syndrome, 16) if syndrome else nothing,
        text=line[:_SHOWN],
    )


def _address(shown: str | None) -> PciAddress | None:
    if shown is None:
        return None
    try:
        return PciAddress.parse(shown)
    except InputError:
        return None
