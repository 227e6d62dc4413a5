"""Targets are read apart: what raises, hangs, is slow or comes back costs nobody else anything."""

from __future__ import annotations

import io
import threading
import time

import pytest

from netkit.model.missing import Missing, Reason
from netkit_exporters.collecting import Collector, Sample, State
from netkit_exporters.exposition import Format
from netkit_exporters.journal import Journal
from netkit_exporters.refresher import Refresher, Schedule
from netkit_exporters.runners import PATIENCE_SECONDS
from netkit_exporters.self_report import wall_clock
from netkit_exporters.watching import Watch, Watched
from tests.exporters.serving import (
    COUNT,
    MACHINE,
    UP,
    FakeTarget,
    collector,
    eventually,
    fine,
    read_round,
    refresher,
    served,
)


def body(found: Refresher) -> str:
    return found.page().body(Format.TEXT).decode()


def values(found: Refresher) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in body(found).splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def raising(key: str) -> FakeTarget:
    def act() -> list[Sample]:
        raise RuntimeError("the driver\nsaid no")

    return FakeTarget(key, act)


def hanging(key: str, gate: threading.Event) -> FakeTarget:
    """A target that hangs until its gate opens."""

    def act() -> list[Sample]:
        gate.wait(300)
        return [Sample(UP, (key,), 1.0)]

    return FakeTarget(key, act)


@pytest.mark.fault("B01")
def test_a_collector_that_raises_costs_only_itself() -> None:
    """Its success is 0, the sibling collector's series are there, and the scrape is 200."""
    with served(refresher(collector(raising("bad"), name="bad"), collector(fine("good"), name="good"))) as exporter:
        status, _, text = exporter.get()

        assert status == 200
        assert b'netkit_test_up{target="good"} 1.0\n' in text
        assert b'netkit_collector_success{collector="bad"} 0.0\n' in text
        assert b'netkit_collector_success{collector="good"} 1.0\n' in text
        assert b'netkit_collector_target_state{collector="bad",state="error",target="bad"} 1.0\n' in text


@pytest.mark.fault("B02")
def test_a_target_that_hangs_delays_nobody_and_is_read_once() -> None:
    """Hung is told within two intervals, siblings stay fresh, a scrape takes less than 50 ms, one worker is left."""
    gate, sibling = threading.Event(), fine("good")
    stuck = hanging("stuck", gate)
    with served(refresher(collector(stuck, sibling, deadline=0.1))) as exporter:
        assert eventually(lambda: exporter.value('netkit_collector_hung{collector="fake"}') == 1.0)
        reads, threads = sibling.reads, threading.active_count()
        assert eventually(lambda: sibling.reads >= reads + 5)
        took = []
        for _ in range(5):
            begun = time.perf_counter()
            status, _, text = exporter.get()
            took.append(time.perf_counter() - begun)

        assert (status, stuck.reads, stuck.most_at_once) == (200, 1, 1)
        assert min(took) < 0.05
        assert threading.active_count() <= threads
        assert b'netkit_collector_target_state{collector="fake",state="hung",target="stuck"} 1.0\n' in text
        assert b'netkit_test_up{target="good"} 1.0\n' in text
        gate.set()


@pytest.mark.fault("B04")
def test_a_hang_that_clears_is_forgotten() -> None:
    """The target is read again by itself, hung goes back to 0, and nothing is filled in for the time between."""
    gate = threading.Event()
    stuck = hanging("stuck", gate)
    found = refresher(collector(stuck, deadline=0.05), interval=0.05)
    found.start()
    assert eventually(lambda: values(found).get('netkit_collector_hung{collector="fake"}') == 1.0)
    assert 'netkit_test_up{target="stuck"}' not in values(found)
    gate.set()

    assert eventually(lambda: values(found).get('netkit_collector_hung{collector="fake"}') == 0.0)
    assert eventually(lambda: values(found).get('netkit_test_up{target="stuck"}') == 1.0)
    found.stop()


@pytest.mark.fault("B02")
def test_a_roll_call_that_hangs_is_hung_too() -> None:
    """A collector that cannot even say what there is makes no second attempt beside the first."""
    gate, calls = threading.Event(), []

    def start(_machine: object) -> None:
        calls.append(1)
        gate.wait(300)
        raise RuntimeError("too late")

    stuck = Collector(id="stuck", question="?", open=start, metrics=(), deadline_seconds=0.05)  # type: ignore[arg-type]
    found = refresher(stuck, collector(fine("good")), interval=0.05)
    found.start()

    assert eventually(lambda: values(found).get('netkit_collector_hung{collector="stuck"}') == 1.0)
    assert values(found)['netkit_test_up{target="good"}'] == 1.0
    assert len(calls) == 1
    gate.set()
    found.stop()


@pytest.mark.fault("B02")
def test_what_waits_for_a_thread_is_not_asked_for_again() -> None:
    """Rounds that begin before the last one had its turn add nothing to the queue."""
    target = fine("a")
    watch = refresher(collector(target)).schedules[0].watch
    jobs: list[Watched] = []
    assert [watch.due(jobs.extend) for _ in range(3)] == [True, False, False]
    watch.run()
    assert watch.due(jobs.extend)
    watch.run()

    assert [job.target for job in jobs] == [target]
    jobs[0].run()
    watch.run()
    assert len(jobs) == 2


@pytest.mark.fault("B07")
def test_two_collectors_with_the_same_series() -> None:
    """The second is dropped, counted, and told to the log once."""
    said: list[str] = []
    first, second = collector(fine("same"), name="first"), collector(fine("same"), name="second")
    found = refresher(first, second, interval=0.05, say=lambda subject, _line: said.append(subject))
    found.start()

    assert eventually(lambda: values(found).get('netkit_series_dropped_total{reason="duplicate"}', 0) >= 3)
    assert body(found).count('netkit_test_up{target="same"}') == 1
    journal = Journal(stream=io.StringIO())
    for subject in said:
        journal.say(subject, subject)
    assert isinstance(journal.stream, io.StringIO)
    assert journal.stream.getvalue().count("duplicate netkit_test_up") == 1
    found.stop()


@pytest.mark.fault("B08")
def test_pods_that_come_and_go_leave_nothing_behind() -> None:
    """A hundred thousand label sets over time fill neither the cap nor the memory of who gave what."""
    generation = 0

    def act() -> list[Sample]:
        nonlocal generation
        generation += 1
        return [Sample(COUNT, (f"pod-{generation}-{number}", ""), 1.0) for number in range(1000)]

    found = refresher(collector(FakeTarget("pods", act)), interval=1.0)
    watch = found.schedules[0].watch
    for _ in range(100):
        read_round(watch)

    assert watch.dropped == {}
    assert sum(map(len, found.claims._taken.values())) == 1000


@pytest.mark.fault("B09")
def test_a_slow_collector_skips_ticks_and_queues_none() -> None:
    """A reading of ten intervals is done about once in ten, never twice at once, and its duration is told."""

    def act() -> list[Sample]:
        time.sleep(0.3)
        return [Sample(UP, ("slow",), 1.0)]

    slow = FakeTarget("slow", act)
    found = refresher(collector(slow, fine("quick"), deadline=5.0), interval=0.03)
    found.start()
    begun = time.monotonic()
    assert eventually(lambda: slow.reads >= 3)
    elapsed = time.monotonic() - begun

    assert slow.most_at_once == 1
    assert slow.reads <= elapsed / 0.3 + 2
    assert eventually(lambda: values(found)['netkit_collector_duration_seconds{collector="fake"}'] > 0.05)
    found.stop()


@pytest.mark.fault("B10")
def test_a_line_that_repeats_is_counted_instead_of_written() -> None:
    """The first is written at once; five minutes later the next one says how many there were between."""
    now = 1000.0
    journal = Journal(stream=io.StringIO(), clock=lambda: now)
    for _ in range(100):
        journal.say("mlx5_0", "mlx5_0: EIO\nforged line")
    now += 301
    journal.say("mlx5_0", "mlx5_0: EIO")

    assert isinstance(journal.stream, io.StringIO)
    assert journal.stream.getvalue().splitlines() == [
        "netkit-exporter: mlx5_0: EIO\\x0aforged line",
        "netkit-exporter: mlx5_0: EIO (99 more of these since)",
    ]


def test_a_log_that_cannot_be_written_costs_lines_only() -> None:
    """A full disk or a reader who went away is counted."""

    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(28, "No space left on device")

    journal = Journal(stream=Full())
    journal.tell("anything")

    assert journal.dropped == 1


def test_old_samples_are_not_served() -> None:
    """Three intervals without a reading, and the samples are gone, stale is told, even if no round ends."""
    now = 100.0
    target = fine("a")
    found = refresher(collector(target), interval=5.0, clock=lambda: now)
    watch = found.schedules[0].watch
    read_round(watch)
    found._publish()
    assert 'netkit_test_up{target="a"}' in values(found)

    now += 15.1
    assert 'netkit_test_up{target="a"}' not in values(found)
    assert values(found)['netkit_collector_state{collector="fake",state="stale"}'] == 1.0
    assert values(found)['netkit_collector_success{collector="fake"}'] == 0.0


@pytest.mark.parametrize(
    ("why", "state", "faults"),
    [
        (Reason.ABSENT, State.NO_DATA, {}),
        (Reason.DENIED, State.NO_DATA, {Reason.DENIED: 1}),
        (Reason.TIMEOUT, State.ERROR, {Reason.TIMEOUT: 1}),
    ],
)
def test_nothing_to_read_is_quiet_unless_something_is_broken(
    why: Reason, state: State, faults: dict[Reason, int]
) -> None:
    """A machine without the thing is no_data; one that could not be asked is an error."""
    found = refresher(collector(found=Missing(reason=why, where="sys/class/infiniband")))
    watch = found.schedules[0].watch
    watch.run()

    assert watch.state(found.clock(), 1.0) is state
    assert watch.faults == faults


@pytest.mark.parametrize("kept", [True, False], ids=["some samples", "none"])
def test_a_reading_may_say_itself_that_it_failed(kept: bool) -> None:
    """What it could read is served all the same, and the collector is no success."""
    samples = [Sample(UP, ("a",), 1.0)] if kept else []
    found = refresher(collector(FakeTarget("a", lambda: samples, state=State.HUNG)))
    watch = found.schedules[0].watch
    read_round(watch)
    found._publish()

    assert ('netkit_test_up{target="a"}' in values(found)) is kept
    assert values(found)['netkit_collector_hung{collector="fake"}'] == 1.0
    assert values(found)['netkit_collector_success{collector="fake"}'] == 0.0


def test_a_target_that_leaves_takes_its_series_along() -> None:
    """Its series can then be given by another."""
    here = [fine("a"), fine("b")]
    watch = Watch(collector(*here), MACHINE, refresher().claims, time.monotonic, lambda _subject, _line: None)
    read_round(watch)
    assert watch._source is not None
    watch._source.found = here[:1]  # type: ignore[attr-defined]
    watch.run()

    assert [one.target.key for one in watch.targets()] == ["a"]
    assert {key for taken in watch._claims._taken.values() for key in taken} == {b'netkit_test_up{target="a"} '}


@pytest.mark.fault("M06")
def test_a_wall_clock_that_jumps_moves_no_interval_and_dates_nothing_in_the_future(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ages are monotonic; a timestamp is dated back from whatever the wall clock says now."""
    for jump in (-86_400.0, 86_400.0):
        monkeypatch.setattr(time, "time", lambda jump=jump: 1.8e9 + jump)
        assert wall_clock(100.0, 90.0) == 1.8e9 + jump - 10
        assert wall_clock(100.0, 101.0) <= time.time()


@pytest.mark.fault("M07")
def test_a_process_that_was_stopped_reads_once_and_not_once_a_tick() -> None:
    """After ten minutes of SIGSTOP the next tick is the first one ahead, and the passed ones are counted."""
    schedule = Schedule(watch=refresher(collector()).schedules[0].watch, interval_seconds=5.0, due_at=100.0)

    assert schedule.next_after(702.0, 0.0) == 120
    assert schedule.due_at == 705.0


@pytest.mark.fault("M12")
def test_nodes_that_start_together_do_not_read_together() -> None:
    """The first reading is at once; the phase of all later ones is drawn at random over the interval."""
    draws = iter(number / 100 for number in range(100))
    phases = set()
    for _ in range(100):
        found = refresher(collector(), interval=10.0, clock=lambda: 0.0, draw=lambda: next(draws))
        found._tick()
        phases.add(round(found.schedules[0].due_at, 3))

    assert len(phases) == 100
    assert min(phases) > 0
    assert max(phases) == 10.0


@pytest.mark.fault("M05")
def test_without_a_thread_to_be_had_the_next_tick_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread limit is told and passed over; when it lifts, readings go on."""
    said: list[str] = []
    target = fine("a")
    found = refresher(collector(target), interval=0.02, say=lambda subject, _line: said.append(subject))

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", refuse)
    found._tick()
    assert said == ["threads"]
    assert target.reads == 0
    monkeypatch.setattr(threading.Thread, "start", start)
    found.start()

    assert eventually(lambda: target.reads > 0)
    found.stop()


def test_patience_is_far_below_a_deadline() -> None:
    """Siblings go on long before a target counts as hung."""
    assert PATIENCE_SECONDS <= 0.05
