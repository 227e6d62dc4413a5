"""Run a probe: start the agents, measure round by round until there is a verdict, and stop every agent again.

Each group of a round is measured on all of its rails at once, and all groups of a round run at once. What cannot
be measured becomes a reading that says so; a rank that dies or hangs ends the probe inconclusive.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from netkit import __version__
from netkit.model.probe import Answer, Fabric, GangReading, ProbeReport, Reading, Round, RoundKind, Verdict
from netkit.model.units import show_rate
from netkit.probe.all_reduce import all_reduce
from netkit.probe.assembly import Assembly, assemble, declared_fabric
from netkit.probe.inside import ceilings, look_inside
from netkit.probe.investigation import Investigation
from netkit.probe.launchers.roll_call import RanksLostError, RollCall
from netkit.probe.launchers.session import Launcher
from netkit.probe.pairs import PairMeasurement
from netkit.probe.request import ProbeRequest, Progress, RoundDone, Started


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
    """Return what was found; ranks that are lost on the way leave what was measured before."""
    try:
        return course.investigate(course.begin(ranks))
    except RanksLostError as lost:
        count = len(course.request.members)
        what = f"{len(lost.losses)} of {count} ranks lost" if len(lost.losses) > 1 else "a rank was lost"
        return Verdict(
            answer=Answer.INCONCLUSIVE,
            why=f"{what}: {lost}",
            findings=(),
            smallest_detectable_slowdown=None,
        )


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

    def begin(self, ranks: RollCall) -> Assembly:
        """Have every member ready to measure."""
        begun = time.monotonic()
        gang = assemble(self.request, ranks)
        self.fabric = gang.fabric
        self.warnings += gang.warnings
        seconds = time.monotonic() - begun
        self.progress(Started(members=len(gang.names), rails=gang.fabric.rails, seconds=seconds))
        return gang

    def investigate(self, gang: Assembly) -> Verdict:
        """Measure rounds until the investigation asks for no more."""
        investigation = Investigation(gang.fabric, self.request.settings, seed=self.request.seed)
        while (planned := investigation.next_round()) is not None:
            begun = time.monotonic()
            self.rounds.append(planned)
            self.progress(planned)
            before = len(self.readings)
            self._measure(gang, planned)
            investigation.record(self.readings[before:])
            self.progress(RoundDone(round=planned, seconds=time.monotonic() - begun))
        verdict = investigation.verdict()
        return self._loopback_verdict(verdict) if self.request.loopback else verdict

    def _measure(self, gang: Assembly, planned: Round) -> None:
        if planned.kind is RoundKind.INTRA:
            for reading in look_inside(gang, planned):
                self._take(reading)
            self._all_reduce(gang)
        else:
            PairMeasurement(gang=gang, ceilings=ceilings(self.readings), take=self._take).measure(planned)

    def _all_reduce(self, gang: Assembly) -> None:
        result = all_reduce(gang)
        for reading in result.readings:
            self.gang_readings.append(reading)
            self.progress(reading)
        if result.warning is not None:
            self.warnings.append(result.warning)

    def _take(self, reading: Reading) -> None:
        self.readings.append(reading)
        self.progress(reading)

    def _loopback_verdict(self, verdict: Verdict) -> Verdict:
        rates = sorted(reading.rate for reading in self.readings if len(reading.nodes) == 2 and reading.rate)
        side_by_side = f"one of {len(self.request.members)} agents side by side moves"
        moved = f"{side_by_side} {show_rate(rates[len(rates) // 2])}" if rates else "nothing was measured"
        why = f"loopback only, no NIC was exercised: {moved}"
        return replace(verdict, answer=Answer.INCONCLUSIVE, why=why, findings=(), smallest_detectable_slowdown=None)
