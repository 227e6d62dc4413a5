"""Run a probe: start the agents, measure round by round until there is a verdict, and stop every agent again.

Each group of a round is measured on all of its rails at once, and all groups of a round run at once. What cannot
be measured becomes a reading that says so; a rank that dies or hangs ends the probe inconclusive.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median

from netkit import __version__
from netkit.model.probe import Answer, Fabric, GangReading, ProbeReport, Reading, Round, Verdict
from netkit.model.units import show_rate
from netkit.probe import program_runs
from netkit.probe.assembly import assemble, declared_fabric
from netkit.probe.doubts import contended, others_traffic, overrides
from netkit.probe.investigation import Investigation
from netkit.probe.launchers.roll_call import RanksLostError, RollCall
from netkit.probe.launchers.session import Launcher, Sessions, Witness
from netkit.probe.program_runs import ProgramRuns
from netkit.probe.request import ProbeRequest, Progress, RoundDone, Started
from netkit.probe.safety.guard import StoppedError
from netkit.probe.socket_runs import SocketRuns

_ONE_RATE = "which direction of a link is slow: the benchmark times both at once"


def run_probe(request: ProbeRequest, launcher: Launcher, progress: Progress = lambda _event: None) -> ProbeReport:
    """Measure until a verdict; whatever happens, no agent is left running on this host when this returns.

    Raises:
        ProbeError: nothing could be started, or the hosts do not have the rails asked for.
    """
    clock = time.monotonic()
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    sessions = launcher.start(request.members, request.lifetime_seconds)
    course = _Course(request=request, progress=progress, fabric=declared_fabric(request))
    try:
        verdict = _verdict(course, RollCall(sessions, [member.name for member in request.members]))
        course.warnings += _damaged(request, sessions.rejected())
    finally:
        sessions.stop()
    return ProbeReport(
        tool_version=__version__,
        name=request.name,
        transport=request.transport,
        backend="socket" if request.benchmark is None else request.benchmark.id,
        started_at=started_at,
        seconds=time.monotonic() - clock,
        seed=request.seed,
        fabric=course.fabric,
        rounds=tuple(course.rounds),
        readings=tuple(course.readings),
        gang_readings=tuple(course.gang_readings),
        verdict=verdict,
        warnings=tuple(course.warnings),
    )


def _verdict(course: _Course, ranks: RollCall) -> Verdict:
    """Return what was found; what ends a probe on the way leaves what was measured before."""
    try:
        return course.undisturbed(ranks.sessions, course.investigate(course.begin(ranks)))
    except RanksLostError as lost:
        count = len(course.request.members)
        what = f"{len(lost.losses)} of {count} ranks lost" if len(lost.losses) > 1 else "a rank was lost"
        return _no_verdict(f"{what}: {lost}")
    except StoppedError as stopped:
        return _no_verdict(str(stopped))


def _no_verdict(why: str) -> Verdict:
    return Verdict(answer=Answer.INCONCLUSIVE, why=why, findings=(), smallest_detectable_slowdown=None)


def _damaged(request: ProbeRequest, rejected: Mapping[int, int]) -> Iterator[str]:
    for rank, count in rejected.items():
        yield f"{request.members[rank].name}: {count} damaged or forged frames were dropped"


@dataclass(slots=True, kw_only=True)
class _Course:
    """A probe on its way: what was planned, measured and noticed so far."""

    request: ProbeRequest
    progress: Progress
    fabric: Fabric
    rounds: list[Round] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    gang_readings: list[GangReading] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    interfaces: Sequence[Sequence[str]] = ()

    def begin(self, ranks: RollCall) -> SocketRuns | ProgramRuns:
        """Have every member ready to measure."""
        begun = time.monotonic()
        if isinstance(ranks.sessions, Witness):
            self.warnings += overrides([member.name for member in self.request.members], ranks.sessions.before())
        runs = self._socket_runs(ranks) if self.request.benchmark is None else self._program_runs(ranks)
        self.fabric, self.interfaces = runs.fabric, runs.interfaces
        seconds = time.monotonic() - begun
        self.progress(Started(members=len(self.request.members), rails=self.fabric.rails, seconds=seconds))
        return runs

    def _socket_runs(self, ranks: RollCall) -> SocketRuns:
        gang = assemble(self.request, ranks)
        self.warnings += gang.warnings
        return SocketRuns(gang=gang, warn=self.warnings.append)

    def _program_runs(self, ranks: RollCall) -> ProgramRuns:
        assert self.request.benchmark is not None
        runs = program_runs.begin(self.request, self.request.benchmark, ranks)
        self.warnings += runs.warnings
        return runs

    def investigate(self, runs: SocketRuns | ProgramRuns) -> Verdict:
        """Measure rounds until the investigation asks for no more."""
        investigation = Investigation(self.fabric, self.request.settings, seed=self.request.seed)
        while (planned := investigation.next_round()) is not None:
            begun = time.monotonic()
            self.rounds.append(planned)
            self.progress(planned)
            before = len(self.readings)
            runs.measure(planned, self._take, self._take_gang)
            investigation.record(self.readings[before:])
            self.progress(RoundDone(round=planned, seconds=time.monotonic() - begun))
        verdict = investigation.verdict()
        if self.request.benchmark is not None and self.request.benchmark.both_ways_at_once:
            verdict = replace(verdict, not_seen=(*verdict.not_seen, _ONE_RATE))
        return self._loopback_verdict(verdict) if self.request.loopback else verdict

    def undisturbed(self, sessions: Sessions, verdict: Verdict) -> Verdict:
        """Hold a verdict against what else the rails carried, where that can be seen; nobody is blamed for it."""
        if verdict.answer is not Answer.SLOW or not self.interfaces or not isinstance(sessions, Witness):
            return verdict
        rates = [reading.rate for reading in self.readings if len(reading.nodes) == 2 and reading.rate]
        typical = median(rates) if rates else None
        names = [member.name for member in self.request.members]
        return contended(verdict, others_traffic(names, self.interfaces, sessions.looks(), typical))

    def _take_gang(self, reading: GangReading) -> None:
        self.gang_readings.append(reading)
        self.progress(reading)

    def _take(self, reading: Reading) -> None:
        self.readings.append(reading)
        self.progress(reading)

    def _loopback_verdict(self, verdict: Verdict) -> Verdict:
        rates = sorted(reading.rate for reading in self.readings if len(reading.nodes) == 2 and reading.rate)
        side_by_side = f"one of {len(self.request.members)} agents side by side moves"
        moved = f"{side_by_side} {show_rate(rates[len(rates) // 2])}" if rates else "nothing was measured"
        why = f"loopback only, no NIC was exercised: {moved}"
        return replace(verdict, answer=Answer.INCONCLUSIVE, why=why, findings=(), smallest_detectable_slowdown=None)
