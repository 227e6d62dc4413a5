"""Brings a sweep and a probe's parts together, who do not know each other: one measurement of one setting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from netkit.cli.probing import require
from netkit.errors import ProbeError
from netkit.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netkit.model.probe import GangReading, Reading
    from netkit.probe.assembly import Assembly
    from netkit.probe.launchers.roll_call import RollCall
    from netkit.probe.launchers.session import Launcher
    from netkit.probe.request import ProbeRequest
    from netkit.sweep.course import Measure
    from netkit.sweep.space import Setting, Space

_MOST_CONNECTIONS = 64


def socket_space(texts: Sequence[str]) -> Space:
    """Return the space of the socket backend: connections per peer, and nothing else."""
    from netkit.sweep.form import CONNECTIONS
    from netkit.sweep.space import parse_space

    space = parse_space(texts or [f"{CONNECTIONS}=1,2,4,8,16"])
    for parameter in space.parameters:
        require(parameter.name == CONNECTIONS, f"parameter {parameter.name} of the socket backend", CONNECTIONS)
        for value in parameter.values:
            sound = value.isdecimal() and 1 <= int(value) <= _MOST_CONNECTIONS
            require(sound, f"connections {visible(value, 40)!r}", f"1 to {_MOST_CONNECTIONS}")
    return space


@contextmanager
def measuring(request: ProbeRequest, launcher: Launcher, space: Space) -> Iterator[Measure]:
    """Start the agents of a gang and give what one setting reaches in bytes per second; stop them at the end.

    Raises:
        ProbeError: the gang could not start, or a measurement gave no number.
    """
    from netkit.probe.launchers.roll_call import RanksLostError, RollCall

    sessions = launcher.start(request.members, request.lifetime_seconds)
    try:
        ranks = RollCall(sessions, [member.name for member in request.members])
        yield _of_sockets(request, ranks) if request.benchmark is None else _of_programs(request, ranks, space)
    except RanksLostError as lost:
        raise ProbeError("sweeping", str(lost), "probe this gang first: netkit probe") from lost
    finally:
        sessions.stop()


def _of_sockets(request: ProbeRequest, ranks: RollCall) -> Measure:
    from netkit.probe.assembly import assemble
    from netkit.probe.streams import measure_streams

    gang = assemble(request, ranks)
    pairs = _halves(gang)
    return lambda setting: measure_streams(gang, pairs, int(setting[0]), request.seconds).average


def _halves(gang: Assembly) -> tuple[tuple[str, str], ...]:
    """Pair the first half of the nodes with the second: across leaves, where nodes fill one leaf after the other."""
    half = len(gang.names) // 2
    return tuple(zip(gang.names[:half], gang.names[half : 2 * half], strict=True))


def _of_programs(request: ProbeRequest, ranks: RollCall, space: Space) -> Measure:
    """Measure the collective over the whole gang with the setting in the benchmark's environment."""
    from netkit.model.probe import Round, RoundKind
    from netkit.probe.program_runs import begin

    assert request.benchmark is not None
    runs = begin(request, request.benchmark, ranks)
    everyone = Round(number=1, kind=RoundKind.INTRA, groups=())

    def measure(setting: Setting) -> float:
        environment = {**request.tuning.environment, **space.named(setting)}
        bench = replace(runs.bench, tuning=replace(request.tuning, environment=environment))
        pairs: list[Reading] = []
        gangs: list[GangReading] = []
        replace(runs, bench=bench).measure(everyone, pairs.append, gangs.append)
        return _mean(gangs)

    return measure


def _mean(readings: Sequence[GangReading]) -> float:
    """Return the bus bandwidth of all rails on average; a rail without a number ends the sweep."""
    silent = next((one for one in readings if not one.busbw), None)
    if silent is not None or not readings:
        cause = "the benchmark knows no collective" if silent is None else f"rail {silent.rail}: {silent.missing}"
        raise ProbeError("measuring the gang", cause, "probe this gang with the same backend first")
    return fmean(one.busbw for one in readings if one.busbw)
