"""Sizes, rates and durations: base units inside, friendly units at the edge.

Inside netkit sizes are bytes, rates bytes per second, durations seconds. On the command line sizes follow
nccl-tests, where `8G` means 8 GiB; `8GB` is 8,000,000,000 bytes. Rates follow tc and the field's links:
`200mbit` is 200,000,000 bits per second, `25GB/s` is bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.text import visible

Parser = Callable[[str], float]

SIZE_FORMS = "a number with B, K, M, G, T (powers of 1024, as nccl-tests), KiB…TiB, or KB…TB (powers of 1000)"
RATE_FORMS = "a number with bit, kbit, mbit, gbit (bits per second) or B/s, KB/s, MB/s, GB/s, GiB/s (bytes per second)"
DURATION_FORMS = "a number with ms, s, m or h"
FRACTION_FORMS = "a number above 0 and below 1, such as 0.2, or a percentage such as 20%"

_SIZE_UNITS = MappingProxyType(
    {"": 1, "b": 1}
    | {f"{letter}{suffix}": 1024**power for power, letter in enumerate("kmgt", 1) for suffix in ("", "ib")}
    | {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
)
_RATE_UNITS = MappingProxyType(
    {f"{letter}bit{end}": 1000**power / 8 for power, letter in enumerate(["", *"kmgt"]) for end in ("", "/s")}
    | {f"{letter}b/s": 1000**power for power, letter in enumerate(["", *"kmgt"])}
    | {f"{letter}ib/s": 1024**power for power, letter in enumerate("kmgt", 1)}
)
_DURATION_UNITS = MappingProxyType({"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0})
# Twelve digits keep every accepted number exact in a float and refuse 1e400 without raising OverflowError.
_QUANTITY = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{1,9})?)\s?(?P<unit>[A-Za-z/]{0,6})")


def parse_size_bytes(text: str) -> int:
    """`8G` → 8589934592. Raise InputError for anything that is not a positive size."""
    return round(_quantity(text, _SIZE_UNITS, f"size {visible(text)!r}", SIZE_FORMS))


def parse_rate_bytes_per_second(text: str) -> float:
    """`200mbit` → 25e6. Raise InputError for anything that is not a positive rate."""
    return _quantity(text, _RATE_UNITS, f"rate {visible(text)!r}", RATE_FORMS)


def parse_duration_seconds(text: str) -> float:
    """`1.5s` → 1.5. Raise InputError for anything that is not a positive duration."""
    return _quantity(text, _DURATION_UNITS, f"duration {visible(text)!r}", DURATION_FORMS)


def parse_fraction(text: str) -> float:
    """`0.2` or `20%` → 0.2. Raise InputError outside the open interval (0, 1)."""
    match = re.fullmatch(r"([0-9]{0,3}(?:\.[0-9]{1,9})?)(%?)", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match and match[1] else 0.0
    if not 0 < value < 1:
        raise InputError(f"fraction {visible(text)!r}", FRACTION_FORMS)
    return value


def _quantity(text: str, units: Mapping[str, float], given: str, accepted: str) -> float:
    match = _QUANTITY.fullmatch(text.strip())
    scale = units.get(match["unit"].lower()) if match else None
    if match is None or scale is None or float(match["number"]) <= 0:
        raise InputError(given, accepted)
    return float(match["number"]) * scale


def show_size(size_bytes: float) -> str:
    """8589934592 → `8 GiB`; not exact for sizes between units."""
    return _scaled(size_bytes, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def show_rate(bytes_per_second: float) -> str:
    """48.7e9 → `48.7 GB/s`, the unit of nccl-tests."""
    return _scaled(bytes_per_second, 1000, ("B/s", "KB/s", "MB/s", "GB/s", "TB/s"))


def show_line_rate(bytes_per_second: float) -> str:
    """25e6 → `200 Mbit/s`, the unit links are sold in."""
    return _scaled(bytes_per_second * 8, 1000, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"))


def show_percent(fraction: float) -> str:
    """0.204 → `20%`; one decimal below ten percent."""
    return f"{fraction * 100:.0f}%" if abs(fraction) >= 0.0995 else f"{fraction * 100:.1f}%"


def show_duration(seconds: float) -> str:
    """75 → `1m15s`; below a minute `12.3s`."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s"


def _scaled(value: float, step: int, names: tuple[str, ...]) -> str:
    index = 0
    while index < len(names) - 1 and abs(value) >= step * 0.99995:
        value /= step
        index += 1
    digits = 0 if abs(value) >= 999.5 else 3
    return f"{value:.{digits}g} {names[index]}" if digits else f"{value:.0f} {names[index]}"
