"""Durations as Prometheus and Grafana write them: `90s`, `5m`, `1h30m`."""

from __future__ import annotations

UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def shown(seconds: float) -> str:
    """Return whole seconds in the largest units; half a second or less is `0s`."""
    left, text = round(seconds), ""
    for unit, size in UNITS:
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
