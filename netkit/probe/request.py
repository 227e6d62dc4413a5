"""What a probe is asked to do, and what it tells while it does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from netkit.model.probe import GangReading, Reading, Round
from netkit.probe.benchmark import Benchmark, Tuning
from netkit.probe.launchers.session import Member
from netkit.probe.localise import Settings
from netkit.probe.rails import RailChoice

Pacing: TypeAlias = Callable[[str, str, int], float | None]
"""Bytes per second from one node to another on a rail, for links that exist only on paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """What to probe. `seconds` is the measured time a direction; `pacing` is set in emulated labs only.

    `line_rate` is payload bytes per second of one port; `wire_rate`, what the link is sold as, replaces it once the
    hosts have told their MTU.

    `benchmark` measures instead of the agents' own sockets, `tuning` is what the user says about it.

    `loopback` says that no network is between the members; `start_seconds` is how long agents may take to answer,
    `lifetime_seconds` how long they live at most, whatever becomes of netkit.
    """

    name: str
    transport: str
    members: tuple[Member, ...]
    rails: RailChoice
    leaf_of: Mapping[str, str] = field(default_factory=dict)
    line_rate: float | None = None
    wire_rate: float | None = None
    seed: int = 0
    seconds: float = 0.8
    settings: Settings = field(default_factory=Settings)
    pacing: Pacing | None = None
    loopback: bool = False
    start_seconds: float = 20.0
    lifetime_seconds: float = 3600.0
    benchmark: Benchmark | None = None
    tuning: Tuning = field(default_factory=Tuning)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Every agent answers; the gang is known."""

    members: int
    rails: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDone:
    """A round is over after so many seconds."""

    round: Round
    seconds: float


Progress: TypeAlias = Callable[[Started | Round | Reading | GangReading | RoundDone], None]
