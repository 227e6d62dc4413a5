"""What moves on a node at one moment: counters of every training port, and how busy the GPUs beside them are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PortPulse:
    """One port; `counters` are in base units under the kernel's or driver's names, and hold what could be read."""

    name: str
    interface: str | None
    driver: str | None
    active: bool
    line_rate: float | None
    """Bytes per second."""
    gpus: tuple[str, ...] = ()
    """The GPUs that use this port."""
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """All ports at `taken_at` seconds; `busy` is each GPU's utilisation from 0 to 1, None where nobody says."""

    taken_at: float
    ports: tuple[PortPulse, ...]
    busy: Mapping[str, float | None] = field(default_factory=dict)
