"""Which format and encoding a client asks for: RFC 9110 sections 12.5.1 and 12.5.3, and nothing it can say is an error.

OpenMetrics is served to whoever names it with at least the weight of plain text, as Prometheus does.
"""

from __future__ import annotations

from functools import lru_cache

from netkit_exporters.exposition import Format

_OPENMETRICS = "application/openmetrics-text"
_OPENMETRICS_VERSIONS = frozenset(("", "0.0.1", "1.0.0"))
_TEXT = frozenset(("text/plain", "text/*", "*/*"))


@lru_cache(maxsize=64)
def format_for(accept: str) -> Format:
    """Return the format that an Accept header prefers; plain text when in doubt."""
    openmetrics = text = 0.0
    for kind, parameters, weight in map(_weighed, accept[:1000].split(",")):
        if kind == _OPENMETRICS and parameters.get("version", "") in _OPENMETRICS_VERSIONS:
            openmetrics = max(openmetrics, weight)
        elif kind in _TEXT:
            text = max(text, weight)
    return Format.OPENMETRICS if openmetrics > 0 and openmetrics >= text else Format.TEXT


@lru_cache(maxsize=64)
def wants_gzip(accept_encoding: str) -> bool:
    """Tell whether gzip is welcome."""
    for kind, _, weight in map(_weighed, accept_encoding[:1000].split(",")):
        if kind in {"gzip", "x-gzip"}:
            return weight > 0
    return False


def _weighed(part: str) -> tuple[str, dict[str, str], float]:
    kind, *rest = (piece.strip() for piece in part.split(";"))
    parameters = dict(_parameter(piece) for piece in rest)
    return kind.lower(), parameters, _weight(parameters.get("q", "1"))


def _parameter(piece: str) -> tuple[str, str]:
    name, _, value = piece.partition("=")
    return name.strip().lower(), value.strip().strip('"')


def _weight(text: str) -> float:
    digits = text.replace(".", "", 1)
    return min(float(text), 1.0) if digits.isascii() and digits.isdecimal() else 0.0
