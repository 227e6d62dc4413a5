"""Recordings without names: who the machine is goes, how it is built stays.

Replaced, each always by the same thing within one recording: host names, MAC addresses, GUIDs and GIDs, IP addresses,
UUIDs, container ids, serial numbers (in text and in PCI configuration space), and values of kernel parameters not about
data paths. Addresses are scrambled bit by bit depending on the bits before (as in Crypto-PAn, Xu et al. 2002), so
neighbours stay neighbours; private addresses stay private. The key is thrown away with the process.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from netkit.sources.netlink.memory import Row
from netkit.sources.netlink.redaction import redacted_row
from netkit.sources.pci_config import SERIAL_NUMBER, find_extended
from netkit.sources.recording import Answers, Errno, Question, Value

_HOST_NAME = "proc/sys/kernel/hostname"
_COMMAND_LINE = "proc/cmdline"
_FREE_TEXT = re.compile(r"proc/sys/kernel/hostname|.*/node_desc|kmsg")
# Firmware and driver versions may look like addresses, and decide what a machine does.
_VERSIONS = re.compile(r".*/(?:fw_ver|version|osrelease)")
_CONFIG = re.compile(r"sys/bus/pci/devices/[^/]+/config")

_H = "[0-9A-Fa-f]"
# One pass with the longest forms first, so that nothing is replaced twice.
_FORMS = re.compile(
    r"(?P<serial>(?<=erial Number: )\S+|(?<=serial=)\S+)"
    rf"|(?P<uuid>(?:(?<![A-Za-z0-9])|(?<=pod)){_H}{{8}}(?:[-_]{_H}{{4}}){{3}}[-_]{_H}{{12}}(?![A-Za-z0-9]))"
    rf"|(?P<container>(?<![A-Za-z0-9]){_H}{{32,64}}(?![A-Za-z0-9]))"
    rf"|(?P<guid>(?<![\w:])(?:{_H}{{4}}:){{3}}{_H}{{4}}(?:(?::{_H}{{4}}){{4}})?(?![\w:]))"
    rf"|(?P<number>(?<=\b0x){_H}{{16}}(?!\w))"
    rf"|(?P<mac>(?<![\w:.-]){_H}{{2}}(?::{_H}{{2}}){{5,31}}(?![\w:-])|(?<=enx){_H}{{12}}(?!\w))"
    r"|(?P<ipv4>(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d))"
    rf"|(?P<ipv6>(?<![\w:.])(?:{_H}{{1,4}})?(?::{{1,2}}{_H}{{1,4}}){{2,7}}(?![\w:]))"
)

# Tools print `Serial Number          : 1653…`, and processes with the folders they were started from.
_LABELLED_SERIAL = re.compile(r"(?im)^(.*\b(?:serial number|vendor sn|sn) *: *)(?!N/A|\[N/A\]|None)(\S+)")
_PROGRAM = re.compile(r"(?m)^( *Name *: )/?(?:[^/\n]*/)+([^/\n]*)$")

_PARAMETERS = re.compile(
    r"(?:pci|pcie_\w+|iommu|iommu\.\w+|intel_iommu|amd_iommu|mitigations|default_hugepagesz|hugepagesz?|transparent_hugepage"
    r"|numa|numa_balancing|isolcpus|nohz|nohz_full|rcu_nocbs|nosmt|mem_encrypt|tsx|idle|intel_idle\.\w+|processor\.\w+"
    r"|intel_pstate|amd_pstate|cpufreq\.\w+|(?:nvidia|mlx5|mlx4|ib|rdma|amdgpu)\w*\.\w+|swiotlb|console|quiet|ro|rw)(?:=|$)"
)
_PRIVATE_NETWORKS = tuple(
    ipaddress.IPv4Network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16")
)
_LOCAL = re.compile(r"(?:0|127|22[4-9]|2[3-5]\d)\.")
_IPV4_IN_GID = "0000:0000:0000:0000:0000:ffff"
_LINK_LOCAL = "fe80:0000:0000:0000"


class Redactor:
    """Replace what identifies, the same way every time this redactor is asked."""

    def __init__(self, host_name: str = "", key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)
        self._host = _host_pattern(host_name)
        self._bit: Callable[[str], bool] = lru_cache(maxsize=1 << 16)(self._uncached_bit)

    def answers(self, answers: Answers) -> Answers:
        """Return a whole recording, redacted; it answers the same questions."""
        changed = ((self._question(asked), self._answer(asked, answer)) for asked, answer in answers.items())
        return MappingProxyType(dict(changed))

    def text(self, shown: str) -> str:
        """Return a text with addresses, GUIDs, UUIDs and serial numbers replaced."""
        return _FORMS.sub(self._replaced, shown)

    def free_text(self, shown: str) -> str:
        """Return a text in which the host's name may stand as well."""
        return self.text(self._host.sub(self._host_alias, shown) if self._host else shown)

    def alias(self, name: str) -> str:
        """Return what stands for the name of a host."""
        return self._token("host", name.partition(".")[0].lower())

    def kernel(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        """Return recorded netlink answers, redacted."""
        return tuple(redacted_row(row, self.text) for row in rows)

    def drivers(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        """Return recorded answers of accelerators' drivers, redacted."""
        return tuple({name: self._driver_value(value) for name, value in row.items()} for row in rows)

    def _driver_value(self, value: Any) -> Any:
        """Change every text inside JSON values; where nothing is set, nothing identifies."""
        if isinstance(value, dict):
            return {name: self._driver_value(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._driver_value(inner) for inner in value]
        if not isinstance(value, str) or not value.strip("0-"):
            return value
        named = _PROGRAM.sub(r"\1\2", _LABELLED_SERIAL.sub(lambda found: found[1] + self._serial(found[2]), value))
        return self.free_text(named)

    def _replaced(self, match: re.Match[str]) -> str:
        replace: dict[str, Callable[[str], str]] = {
            "serial": self._serial,
            "uuid": self._uuid,
            "container": self._container,
            "guid": self._guid,
            "number": self._number,
            "mac": self._mac,
            "ipv4": self._ipv4,
            "ipv6": self._ipv6,
        }
        return replace[match.lastgroup or "serial"](match[0])

    def _question(self, asked: Question) -> Question:
        op, path = asked
        return op, "/".join(self.text(part) for part in path.split("/"))

    def _answer(self, asked: Question, answer: Value) -> Value:
        match answer:
            case bytes():
                return self._bytes(asked[1], answer)
            case tuple():
                return tuple(self.text(name) for name in answer)
            case str():
                return "/".join(self.text(part) for part in answer.split("/"))
            case bool() | Errno():
                return answer

    def _bytes(self, path: str, data: bytes) -> bytes:
        if _CONFIG.fullmatch(path):
            return self._config(data)
        if _VERSIONS.fullmatch(path):
            return data
        if path == _COMMAND_LINE:
            return self._command_line(data)
        change = self.free_text if _FREE_TEXT.fullmatch(path) else self.text
        return change(data.decode("latin-1")).encode("latin-1")

    def _command_line(self, data: bytes) -> bytes:
        words = data.decode("latin-1").split()
        return (" ".join(word if _PARAMETERS.match(word) else _unnamed(word) for word in words) + "\n").encode(
            "latin-1"
        )

    def _config(self, data: bytes) -> bytes:
        at = find_extended(data, SERIAL_NUMBER)
        if at is None or at + 12 > len(data):
            return data
        serial = int.from_bytes(data[at + 4 : at + 12], "little")
        return data[: at + 4] + self._scrambled(serial, 64).to_bytes(8, "little") + data[at + 12 :]

    def _host_alias(self, match: re.Match[str]) -> str:
        return self.alias(match[0])

    def _serial(self, shown: str) -> str:
        return self._token("serial", shown)

    def _container(self, shown: str) -> str:
        return f"{self._scrambled(int(shown, 16), 4 * len(shown)):0{len(shown)}x}"

    def _number(self, shown: str) -> str:
        return f"{self._scrambled(int(shown, 16), 64):016x}"

    def _token(self, kind: str, value: str) -> str:
        return f"{kind}-{hmac.digest(self._key, f'{kind} {value}'.encode(), 'sha256').hex()[:8]}"

    def _guid(self, shown: str) -> str:
        groups = shown.split(":")
        if len(groups) == 4:
            return _grouped(self._interface(int("".join(groups), 16)), 4)
        prefix, tail = ":".join(groups[:4]), int("".join(groups[4:]), 16)
        if ":".join(groups[:6]).lower() == _IPV4_IN_GID:
            address = ipaddress.IPv4Address(tail & 0xFFFFFFFF)
            return f"{_IPV4_IN_GID}:{_grouped(int(ipaddress.IPv4Address(self._ipv4(str(address)))), 2)}"
        if prefix.lower() != _LINK_LOCAL and int(prefix.replace(":", ""), 16):
            prefix = _grouped(self._scrambled(int(prefix.replace(":", ""), 16), 64), 4)
        return f"{prefix}:{_grouped(self._interface(tail), 4)}"

    def _interface(self, value: int) -> int:
        """Scramble an interface id; one made from a MAC address stays the one made from the scrambled address."""
        if value == 0:
            return 0
        if value >> 24 & 0xFFFF != 0xFFFE:
            return self._scrambled(value, 64)
        mac = ((value >> 40) ^ 0x020000) << 24 | value & 0xFFFFFF
        changed = self._scrambled_mac(mac)
        return ((changed >> 24) ^ 0x020000) << 40 | 0xFFFE << 24 | changed & 0xFFFFFF

    def _mac(self, shown: str) -> str:
        digits = shown.replace(":", "")
        value, width = int(digits, 16), 4 * len(digits)
        if value in (0, 2**width - 1):
            return shown
        changed = self._scrambled_mac(value) if width == 48 else self._scrambled(value, width)
        pairs = f"{changed:0{width // 4}x}"
        return pairs if ":" not in shown else ":".join(pairs[at : at + 2] for at in range(0, len(pairs), 2))

    def _scrambled_mac(self, mac: int) -> int:
        # The two lowest bits of the first byte say group and locally administered: they are structure.
        return self._scrambled(mac, 48) & ~(3 << 40) | mac & 3 << 40

    def _ipv4(self, shown: str) -> str:
        try:
            address = ipaddress.IPv4Address(shown)
        except ValueError:
            return shown
        network = _network(address)
        kept = network.prefixlen if network else 0
        changed = address
        while not _LOCAL.match(shown):
            # One to one among addresses of a kind: a public address that lands on a private one moves on.
            changed = ipaddress.IPv4Address(self._scrambled(int(changed), 32, kept))
            if _network(changed) == network and not _LOCAL.match(str(changed)):
                break
        return str(changed)

    def _ipv6(self, shown: str) -> str:
        try:
            address = ipaddress.IPv6Address(shown)
        except ValueError:
            return shown
        return str(ipaddress.IPv6Address(int(self._guid(address.exploded).replace(":", ""), 16)))

    def _uuid(self, shown: str) -> str:
        mark = shown[8]
        digits = f"{self._scrambled(int(shown.replace(mark, ''), 16), 128):032x}"
        return mark.join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def _scrambled(self, value: int, width: int, kept: int = 0) -> int:
        """Flip each bit or not, by the bits before it: one to one, and common prefixes stay common."""
        bits = f"{value:0{width}b}"
        flips = "".join("1" if at >= kept and self._bit(f"{width}:{bits[:at]}") else "0" for at in range(width))
        return value ^ int(flips, 2)

    def _uncached_bit(self, before: str) -> bool:
        return bool(hmac.digest(self._key, before.encode(), "sha256")[0] & 1)


def redact(answers: Answers, key: bytes | None = None) -> Answers:
    """Return recorded files in which nothing says which machine it was."""
    return redactor_of(answers, key).answers(answers)


def redactor_of(answers: Answers, key: bytes | None = None) -> Redactor:
    """Return what redacts everything that was recorded of the machine these files are of."""
    asked = next((answer for (_, path), answer in answers.items() if path == _HOST_NAME), b"")
    name = asked.decode("latin-1").strip() if isinstance(asked, bytes) else ""
    return Redactor(name, key)


def _network(address: ipaddress.IPv4Address) -> ipaddress.IPv4Network | None:
    return next((network for network in _PRIVATE_NETWORKS if address in network), None)


def _host_pattern(name: str) -> re.Pattern[str] | None:
    """Match the host's name, short or with any domain behind it, as a word of its own."""
    short = name.partition(".")[0]
    if len(short) < 2 or short == "localhost":
        return None
    return re.compile(rf"(?i)(?<![A-Za-z0-9_-]){re.escape(short)}(?:\.[A-Za-z][A-Za-z0-9-]*)*(?![A-Za-z0-9_-])")


def _grouped(value: int, groups: int) -> str:
    digits = f"{value:0{4 * groups}x}"
    return ":".join(digits[at : at + 4] for at in range(0, len(digits), 4))


def _unnamed(word: str) -> str:
    name, equals, _ = word.partition("=")
    return f"{name}=redacted" if equals and re.fullmatch(r"[\w.-]+", name) else "redacted"
