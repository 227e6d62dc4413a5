"""`netkit probe lab` on real kernel links: the slow rail is named, a healthy lab is healthy, lost ranks are told."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from netkit.errors import ProbeError
from netkit.lab import lifecycle
from netkit.lab.faults import Fault, Place, Where
from netkit.lab.shape import checked_shape
from netkit.model.probe import Direction

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

RATE = 200e6 / 8
NODES, RAILS = 8, 2
ATTEMPTS = 3


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    """Eight nodes, two rails, two leaves, at 200 Mbit/s; it ends with this process whatever happens."""
    name = f"e2e-probe-{os.getpid()}"
    shape = checked_shape(nodes=NODES, rails=RAILS, leaves=2, rate=RATE, uplink_rate=None)
    try:
        lifecycle.up(shape, name, owner=os.getpid())
    except ProbeError as refused:
        pytest.skip(f"no lab on this machine: {refused}")
    yield name
    lifecycle.down(name)


@contextmanager
def broken(lab: str, fault: Fault) -> Iterator[None]:
    lifecycle.set_fault(lab, fault)
    try:
        yield
    finally:
        lifecycle.clear_faults(lab, None)


def at(node: str, rail: int | None) -> Where:
    return Where(place=Place.NODE, node=node, rail=rail)


@contextmanager
def probing(lab: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "netkit", "probe", "lab", "--name", lab, "--output", "json", "--seed", "5", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def probe(lab: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Probe; what other programs kept from being measured is measured again, as the answer asks for."""
    for _ in range(ATTEMPTS):
        with probing(lab, *options) as process:
            out, err = process.communicate(timeout=90)
        assert "Traceback" not in err
        report = json.loads(out)
        if report["verdict"] != "inconclusive":
            break
    return process.returncode, report


def test_a_healthy_lab_is_healthy(lab: str) -> None:
    """No finding, status 0, every pair within 3 percent of the rate that the links were given."""
    status, report = probe(lab)
    assert (status, report["verdict"], report["findings"]) == (0, "healthy", [])
    line_rate = report["fabric"]["line_rate_bytes_per_second"]
    pairs: dict[tuple[str, ...], list[float]] = {}
    for row in report["readings"]:
        if len(row["nodes"]) == 2:
            pairs.setdefault((*sorted(row["nodes"]), row["rail"]), []).append(row["forward_bytes_per_second"])
    # A dip is measured again with other partners, so there may be more than the two matchings.
    assert sum(map(len, pairs.values())) >= NODES // 2 * RAILS * 2
    assert statistics.median(map(max, pairs.values())) == pytest.approx(line_rate, rel=0.03)
    assert len([rates for rates in pairs.values() if max(rates) < 0.97 * line_rate]) <= 1


@pytest.mark.parametrize("direction", list(Direction), ids=str)
def test_a_slow_rail_is_named_with_its_side(lab: str, direction: Direction) -> None:
    """Twenty percent off one rail of one node: class, node, rail, side and amount are right; status 1."""
    with broken(lab, Fault(where=at("n3", 1), slowdown=0.2, direction=direction)):
        status, report = probe(lab)
    assert (status, report["verdict"]) == (1, "slow")
    [finding] = report["findings"]
    assert (finding["class"], finding["node"], finding["rail"]) == ("rail", "n3", 1)
    assert finding["direction"] == direction
    assert finding["slowdown"] == pytest.approx(0.2, abs=0.03)


@contextmanager
def busy_processors() -> Iterator[None]:
    """Two loops for every processor, at ordinary priority."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * len(os.sched_getaffinity(0)))
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_other_programs_on_the_machine_are_never_taken_for_a_slow_link(lab: str) -> None:
    """With every processor taken twice over the slow rail is named, or nothing is; no other name, and not healthy."""
    with broken(lab, Fault(where=at("n3", 1), slowdown=0.2)), busy_processors():
        _, report = probe(lab)
    named = [(found["class"], found["node"], found["rail"]) for found in report["findings"]]
    assert (report["verdict"], named) in [("slow", [("rail", "n3", 1)]), ("inconclusive", [])], report["why"]


def test_a_rail_that_is_down_is_named_and_the_rest_is_measured(lab: str) -> None:
    """Pairs that cannot connect are missing readings with a reason; the run goes on to its verdict."""
    with broken(lab, Fault(where=at("n6", 0), down=True)):
        status, report = probe(lab)
    assert (status, report["verdict"]) == (1, "slow")
    assert [(found["node"], found["rail"]) for found in report["findings"]] == [("n6", 0)]
    missing = [row for row in report["readings"] if row["missing"]]
    assert missing
    assert all("n6" in row["nodes"] and row["rail"] == 0 for row in missing)


def test_findings_below_the_severity_asked_for_end_with_status_0(lab: str) -> None:
    """`--fail-on critical` lets a warning pass, and still prints it."""
    with broken(lab, Fault(where=at("n3", 1), slowdown=0.2)):
        status, report = probe(lab, "--fail-on", "critical")
    assert report["findings"][0]["severity"] == "warning"
    assert status == 0


def wait_for_round_1(process: subprocess.Popen[str]) -> list[int]:
    """Return the agents' PIDs, in rank order, once the first round is over."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("round 1"):
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == NODES
    return [int(child) for child in children]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.fault("H03")
@pytest.mark.fault("H04")
@pytest.mark.parametrize(
    ("number", "how"),
    [(signal.SIGSTOP, "rank 3 (n3) hangs"), (signal.SIGKILL, "rank 3 (n3) killed by SIGKILL")],
    ids=["hangs", "dies"],
)
def test_a_lost_rank_is_told_and_the_others_are_stopped(lab: str, number: signal.Signals, how: str) -> None:
    """Within ten seconds the probe ends inconclusive, names rank and stage, and no agent is left."""
    with probing(lab) as process:
        agents = wait_for_round_1(process)
        os.kill(agents[3], number)
        begun = time.monotonic()
        out, _ = process.communicate(timeout=30)
        assert time.monotonic() - begun < 10
    report = json.loads(out)
    assert (process.returncode, report["verdict"], report["findings"]) == (3, "inconclusive", [])
    assert how in report["why"]
    assert "last stage" in report["why"]
    assert not any(map(is_running, agents))


def test_agents_do_not_outlive_a_killed_probe(lab: str) -> None:
    """SIGKILL gives netkit no chance to clean up; the agents, one of them stopped, go all the same."""
    with probing(lab) as process:
        agents = wait_for_round_1(process)
        os.kill(agents[2], signal.SIGSTOP)
        process.kill()
        process.wait()
        deadline = time.monotonic() + 5
        while any(map(is_running, agents)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(is_running, agents))


def test_sixteen_nodes_and_four_rails_take_half_a_minute() -> None:
    """The larger lab, slow rail included, on two cores."""
    name = f"e2e-large-{os.getpid()}"
    shape = checked_shape(nodes=16, rails=4, leaves=2, rate=50e6 / 8, uplink_rate=None)
    try:
        lifecycle.up(shape, name, owner=os.getpid())
    except ProbeError as refused:
        pytest.skip(f"no lab on this machine: {refused}")
    try:
        lifecycle.set_fault(name, Fault(where=at("n9", 2), slowdown=0.2))
        begun = time.monotonic()
        status, report = probe(name)
        assert time.monotonic() - begun < 30
    finally:
        lifecycle.down(name)
    assert status == 1
    assert [(found["class"], found["node"], found["rail"]) for found in report["findings"]] == [("rail", "n9", 2)]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Where(place=Place.LEAF, leaf="r1l0"), ("leaf", None, 1)),
        (Where(place=Place.UPLINK, leaf="r0l1"), ("uplink", None, 0)),
        (Where(place=Place.NODE, node="n2"), ("node", "n2", None)),
    ],
    ids=["leaf", "uplink", "node"],
)
def test_wider_faults_are_named_as_what_they_are(lab: str, where: Where, expected: tuple[str, str | None, int]) -> None:
    """A slow leaf, uplink or node is one finding of its own class, not many slow rails."""
    with broken(lab, Fault(where=where, slowdown=0.25)):
        status, report = probe(lab)
    assert status == 1, report["why"]
    assert [(found["class"], found["node"], found["rail"]) for found in report["findings"]] == [expected], report["why"]
    assert report["findings"][0]["slowdown"] == pytest.approx(0.25, abs=0.06)


def test_a_slow_pair_blames_neither_of_its_ends(lab: str) -> None:
    """A pair that the plan measures, slow only between the two: class pair, or said not to be visible."""
    _, healthy = probe(lab)
    first, second = next(row["nodes"] for row in healthy["readings"] if row["round"] == 2 and row["rail"] == 1)
    where = Where(place=Place.PAIR, node=first, peer=second, rail=1)
    with broken(lab, Fault(where=where, slowdown=0.3)):
        _, report = probe(lab)
    named = [(found["class"], {found["node"], found["peer"]}, found["rail"]) for found in report["findings"]]
    assert named == [("pair", {first, second}, 1)], report["why"]
