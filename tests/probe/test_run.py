"""Whole probes of real agents on loopback, their rails on paper: verdicts, lost ranks, nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from netkit.errors import ProbeError
from netkit.model.missing import Reason
from netkit.model.probe import Answer, Distance, FaultClass, GangReading, ProbeReport, Reading, Round, RoundKind
from netkit.probe import pairs
from netkit.probe.launchers import local
from netkit.probe.launchers.processes import Processes
from netkit.probe.launchers.session import Member, Sessions
from netkit.probe.rails import RailChoice
from netkit.probe.request import Pacing, ProbeRequest, RoundDone, Started
from netkit.probe.run import run_probe

RATE = 20e6
EVENT = Started | Round | Reading | GangReading | RoundDone


@dataclass
class Watched:
    """The local launcher, remembering the processes it started."""

    id: str = "watched"
    transport: str = "emulated"
    sessions: list[Processes] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)

    def start(self, members: Sequence[Member], lifetime_seconds: float) -> Sessions:
        sessions = local.LAUNCHER.start(members, lifetime_seconds)
        assert isinstance(sessions, Processes)
        self.sessions.append(sessions)
        self.pids += [child.process.pid for child in sessions._children.values()]
        return sessions

    def signal(self, rank: int, number: signal.Signals) -> None:
        os.kill(self.pids[rank], number)

    def gone(self) -> bool:
        return not any(Path(f"/proc/{pid}").exists() for pid in self.pids)


def request(nodes: int, rails: int = 1, pacing: Pacing | None = None, **more: object) -> ProbeRequest:
    names = tuple(f"n{number}" for number in range(nodes))
    addresses = {
        name: tuple(f"127.{rail + 1}.7.{number + 1}" for rail in range(rails)) for number, name in enumerate(names)
    }
    return ProbeRequest(
        **{  # type: ignore[arg-type]
            "name": "test",
            "transport": "emulated",
            "members": tuple(Member(name=name, python=sys.executable) for name in names),
            "rails": RailChoice(addresses=addresses),
            "line_rate": RATE,
            "pacing": pacing or (lambda _sender, _receiver, _rail: RATE),
            "seed": 3,
            "seconds": 0.2,
            **more,
        }
    )


def probed(
    asked: ProbeRequest, react: Callable[[EVENT, Watched], None] = lambda _event, _launcher: None
) -> tuple[ProbeReport, Watched]:
    launcher = Watched()
    report = run_probe(asked, launcher, lambda event: react(event, launcher))
    assert launcher.gone()
    return report, launcher


def test_a_slow_rail_is_found_and_named() -> None:
    """From starting agents to the verdict: the port that sends and receives at 60 percent is blamed, and no other."""

    def pacing(sender: str, receiver: str, rail: int) -> float:
        return RATE * (0.6 if "n3" in (sender, receiver) and rail == 0 else 1.0)

    report, _ = probed(request(8, pacing=pacing))
    found = report.verdict.findings
    assert report.verdict.answer is Answer.SLOW
    assert [(one.fault_class, one.node, one.rail) for one in found] == [(FaultClass.RAIL, "n3", 0)]
    assert found[0].slowdown == pytest.approx(0.4, abs=0.1)
    assert [one.kind for one in report.rounds[:3]] == [RoundKind.INTRA, RoundKind.MATCHING, RoundKind.MATCHING]
    assert {reading.round for reading in report.readings} == {one.number for one in report.rounds}


def test_progress_tells_of_rounds_and_readings_as_they_happen() -> None:
    """Start, then each round with its readings, then its end."""
    events: list[EVENT] = []
    report, _ = probed(request(2, rails=2), lambda event, _: events.append(event))
    assert isinstance(events[0], Started)
    assert [event for event in events if isinstance(event, Reading)] == list(report.readings)
    assert [event.round for event in events if isinstance(event, RoundDone)] == list(report.rounds)
    assert [reading.rail for reading in report.gang_readings] == [0, 1]
    assert all(reading.busbw for reading in report.gang_readings)


@pytest.mark.fault("H17")
def test_the_same_shortfall_everywhere_blames_no_node() -> None:
    """Every rail at half its line rate is one finding about the whole gang."""
    report, _ = probed(request(4, rails=2, pacing=lambda *_: RATE / 2))
    assert report.verdict.answer is Answer.SLOW
    assert [(one.fault_class, one.node) for one in report.verdict.findings] == [(FaultClass.UNIFORM, None)]


def test_a_pair_without_a_path_is_a_missing_reading_and_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """One rail is dead between two nodes: its reading says so, the other rail is measured."""
    monkeypatch.setattr(pairs, "CONNECT_SECONDS", 0.4)
    report, _ = probed(request(2, rails=2, pacing=lambda _sender, _receiver, rail: 0 if rail else RATE))
    between = [reading for reading in report.readings if reading.distance is not Distance.INTRA]
    dead = [reading for reading in between if reading.rail == 1]
    assert all(reading.rate is None and reading.missing for reading in dead)
    assert {reading.missing.reason for reading in dead if reading.missing} == {Reason.TIMEOUT}
    assert all(reading.rate == pytest.approx(RATE, rel=0.1) for reading in between if reading.rail == 0)
    assert report.gang_readings[1].busbw is None


def at_round(number: int, act: Callable[[Watched], None]) -> Callable[[EVENT, Watched], None]:
    def react(event: EVENT, launcher: Watched) -> None:
        if isinstance(event, Round) and event.number == number:
            act(launcher)

    return react


@pytest.mark.fault("H04")
def test_a_rank_that_is_killed_ends_the_probe_inconclusive() -> None:
    """The others are stopped within ten seconds; the verdict names the rank, its end and its stage."""
    begun = time.monotonic()
    report, _ = probed(request(4), at_round(2, lambda launcher: launcher.signal(2, signal.SIGKILL)))
    assert time.monotonic() - begun < 15
    assert report.verdict.answer is Answer.INCONCLUSIVE
    assert report.verdict.findings == ()
    assert "rank 2 (n2) killed by SIGKILL; last stage: " in report.verdict.why
    assert [reading.round for reading in report.readings if reading.distance is Distance.INTRA] == [1] * 4


@pytest.mark.fault("H03")
def test_a_rank_that_hangs_ends_the_probe_inconclusive() -> None:
    """A stopped process sends no heartbeat: within ten seconds it is named and everything is stopped."""
    stopped: list[float] = []

    def stop(launcher: Watched) -> None:
        launcher.signal(1, signal.SIGSTOP)
        stopped.append(time.monotonic())

    report, _ = probed(request(4), at_round(2, stop))
    assert time.monotonic() - stopped[0] < 10
    assert report.verdict.answer is Answer.INCONCLUSIVE
    assert "rank 1 (n1) hangs: no sign of life" in report.verdict.why


@pytest.mark.fault("H05")
def test_every_rank_that_never_answers_is_listed() -> None:
    """Ranks that end before they say hello are all named, with their last words."""
    asked = request(3)
    broken = tuple(member if member.name == "n1" else replace(member, python="/bin/false") for member in asked.members)
    report, _ = probed(replace(asked, members=broken))
    assert report.verdict.answer is Answer.INCONCLUSIVE
    assert "2 of 3 ranks lost: rank 0 (n0) exited with status 1" in report.verdict.why
    assert "rank 2 (n2) exited with status 1" in report.verdict.why


def test_an_address_the_host_does_not_have_is_one_line() -> None:
    """A rail that cannot be opened ends the probe with the host, the address and the cause."""
    rails = RailChoice(addresses={"n0": ("127.0.0.1",), "n1": ("192.0.2.77",)})
    launcher = Watched()
    with pytest.raises(ProbeError, match=r"n1 cannot listen on 192.0.2.77: Cannot assign requested address"):
        run_probe(replace(request(2), rails=rails), launcher)
    assert launcher.gone()


def test_an_interrupt_leaves_no_agent() -> None:
    """Ctrl-C in the middle of a round ends every agent before it goes on."""

    def interrupt(_launcher: Watched) -> None:
        raise KeyboardInterrupt

    launcher = Watched()
    react = at_round(2, interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_probe(request(2), launcher, lambda event: react(event, launcher))
    assert launcher.gone()


def test_loopback_says_nothing_of_links() -> None:
    """Without a network between the ranks every rate is the processors', and the verdict says so."""
    report, _ = probed(request(2, pacing=None, loopback=True, line_rate=None, transport="loopback"))
    assert report.verdict.answer is Answer.INCONCLUSIVE
    assert "no NIC was exercised" in report.verdict.why
    assert all(reading.cpu_bound for reading in report.readings)


def test_what_the_processors_alone_reach_is_not_held_against_a_link() -> None:
    """Two ranks without any limit run into the processors: the reading is marked."""
    unlimited = replace(request(2, line_rate=None, seconds=0.2), pacing=None)
    report, _ = probed(unlimited)
    pairs = [reading for reading in report.readings if len(reading.nodes) == 2]
    assert any(reading.cpu_bound for reading in pairs)
