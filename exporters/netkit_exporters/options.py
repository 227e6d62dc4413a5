"""What the exporter is told on the command line: parsed once, checked once, plain afterwards."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.text import visible

DEFAULT_LISTEN = "127.0.0.1:9879"
SHORTEST_REFRESH_SECONDS = 0.001
LONGEST_REFRESH_SECONDS = 3600.0

_UNITS = MappingProxyType({"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0})
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
# Kubernetes gives a node's IPv6 address without brackets; the port is never left out, so the last colon is its own.
_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.%a-z]+)\]|([A-Za-z0-9._-]+|[0-9a-fA-F]*:[0-9a-fA-F:.]+)):([0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it is written on the command line."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All of it."""

    listen: tuple[Address, ...] = (Address(host="127.0.0.1", port=9879),)
    sysfs: Path | None = None
    procfs: Path | None = None
    snapshot: Path | None = None
    collectors: tuple[str, ...] | None = None
    refresh_seconds: float = 5.0
    web_config: Path | None = None
    landlock: bool = True
    compat: tuple[str, ...] = ()
    for_collectors: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What single collectors are told; see `Machine.options`."""


def address(text: str) -> Address:
    """Return the address of `HOST:PORT` or `[IPv6]:PORT`; InputError for anything else."""
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found[3]) > 65535 or not _is_host(found[1] or found[2]):
        raise InputError(
            f"--listen {visible(text, 200)!r}", f"HOST:PORT or [IPv6]:PORT, such as {DEFAULT_LISTEN} or [::]:9879"
        )
    return Address(host=found[1] or found[2], port=int(found[3]))


def _is_host(text: str) -> bool:
    """Tell whether what has colons is an IPv6 address; a name is asked for when it is bound."""
    try:
        return ":" not in text or ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def refresh(text: str) -> float:
    """Return the seconds of a duration such as `5s` or `500ms`; InputError for anything else."""
    found = _DURATION.fullmatch(text)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not SHORTEST_REFRESH_SECONDS <= seconds <= LONGEST_REFRESH_SECONDS:
        raise InputError(f"--refresh {visible(text, 50)!r}", "a duration from 1ms to 1h, such as 500ms, 5s or 1m")
    return seconds
