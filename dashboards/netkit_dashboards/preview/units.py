"""Values as Grafana writes them, by the id of their unit.

Grafana's `@grafana/data` value formats: decimal prefixes for `Bps`, `bps`, `pps` and `watt`, K/Mil/Bil for `short`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SHORT = ((1e12, " Tri"), (1e9, " Bil"), (1e6, " Mil"), (1e3, " K"))
_BINARY = ((2.0**40, " TiB"), (2.0**30, " GiB"), (2.0**20, " MiB"), (2.0**10, " KiB"))
_TIME = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "mins"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_DIGITS = 3


def shown(value: float, unit: str) -> str:
    """Return a value with its unit; words for what is no number."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "NaN")
    if unit.startswith("suffix:"):
        return f"{_si(value)}{unit.removeprefix('suffix:').strip()}"
    return _FORMATS.get(unit, _plain)(value)


def _plain(value: float) -> str:
    """Return three digits that count, without trailing zeros."""
    if value == 0:
        return "0"
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _si(value: float) -> str:
    for size, prefix in _SI:
        if abs(value) >= size * 0.9995:
            return f"{_plain(value / size)} {prefix}"
    return f"{_plain(value)} "


def _scaled(value: float, sizes: tuple[tuple[float, str], ...]) -> str:
    for size, suffix in sizes:
        if abs(value) >= size:
            return f"{_plain(value / size)}{suffix}"
    return _plain(value)


def _ratio(value: float) -> str:
    return f"{_plain(value * 100)}%"


def _seconds(value: float) -> str:
    for size, name in _TIME:
        if abs(value) >= size:
            return f"{_plain(value / size)} {name}"
    return f"{_plain(value)} s"


def _bytes(value: float) -> str:
    return _scaled(value, _BINARY) if abs(value) >= 1024 else f"{_plain(value)} B"


def _scientific(value: float) -> str:
    return f"{value:.2e}"


_FORMATS: Mapping[str, Callable[[float], str]] = MappingProxyType(
    {
        "none": _plain,
        "short": lambda value: _scaled(value, _SHORT),
        "percentunit": _ratio,
        "Bps": lambda value: f"{_si(value)}B/s",
        "bps": lambda value: f"{_si(value)}b/s",
        "pps": lambda value: f"{_si(value)}p/s",
        "ops": lambda value: f"{_scaled(value, _SHORT)} ops/s",
        "s": _seconds,
        "bytes": _bytes,
        "sci": _scientific,
        "celsius": lambda value: f"{_plain(value)} °C",
        "watt": lambda value: f"{_si(value)}W",
    }
)
