"""What an agent learns for benchmarks: find programs, run them within limits, talk to a worker, leave nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from netkit.probe.launchers import local
from netkit.probe.launchers.roll_call import Order, RollCall
from netkit.probe.launchers.session import Member

SOURCE = files("netkit.probe").joinpath("agent_programs.py").read_text()
WORKER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["do"] == "fall":
        sys.exit("cannot go on")
    if asked["do"] == "sleep":
        import time
        time.sleep(60)
    print("a library says hello")
    print(json.dumps({"number": asked["number"], "ok": True, "said": asked["do"]}), flush=True)
"""


class TaughtAgent:
    """One agent on this host that knows the tasks."""

    def __init__(self, ranks: RollCall) -> None:
        self.ranks = ranks
        self.asked = 0

    def order(self, command: str, deadline_s: float = 20.0, **fields: Any) -> dict[str, Any]:
        self.asked += 1
        task = f"{command} {self.asked}"
        wanted = {"command": command, "deadline_s": deadline_s, "token": "", **fields}
        return self.ranks.carry_out([Order(rank=0, task=task, command=wanted)], 30.0)[0, task]

    def run(self, *words: str, **fields: Any) -> dict[str, Any]:
        return self.order("run", words=list(words), **fields)


@pytest.fixture
def agent() -> Iterator[TaughtAgent]:
    with taught() as one:
        yield one


@contextmanager
def taught() -> Iterator[TaughtAgent]:
    sessions = local.LAUNCHER.start([Member(name="n0", python=sys.executable)], 60.0)
    try:
        one = TaughtAgent(RollCall(sessions, ["n0"], silence_seconds=30.0))
        assert one.order("load", name="agent_programs.py", source=SOURCE)["ok"]
        yield one
    finally:
        sessions.stop()


def test_programs_are_found_by_name_or_by_path(agent: TaughtAgent) -> None:
    """A path is looked for there and nowhere else; what is missing is said to be."""
    found = agent.order("programs", names=["sh", "/nowhere/sh", "no-such-program"])["found"]
    assert found["sh"].endswith("/sh")
    assert (found["/nowhere/sh"], found["no-such-program"]) == (None, None)


def test_a_program_gets_its_files_and_environment_and_its_folder_is_gone_afterwards(agent: TaughtAgent) -> None:
    """Output, status and the file that is kept come back."""
    script = "pwd; cat hosts; echo $COLOUR; echo '{}' > result.json; exit 3"
    done = agent.run("sh", "-c", script, env={"COLOUR": "blue"}, files={"hosts": "n0 slots=1\n"}, keep="result.json")
    folder, *rest = done["output"].splitlines()
    assert (rest, done["status"], done["file"]) == (["n0 slots=1", "blue"], 3, "{}\n")
    assert not Path(folder).exists()


def test_a_program_that_fails_at_once_is_run_again_for_a_while(agent: TaughtAgent, tmp_path: Path) -> None:
    """A client whose server does not listen yet: the third attempt finds it."""
    counter = tmp_path / "count"
    script = f"echo x >> {counter}; [ $(wc -l < {counter}) -ge 3 ]"
    assert agent.run("sh", "-c", script, again_s=15.0)["status"] == 0
    assert counter.read_text() == "x\nx\nx\n"


def test_a_program_that_hangs_is_ended_with_all_it_started(agent: TaughtAgent, tmp_path: Path) -> None:
    """At its deadline; the reason carries the last thing it printed."""
    left = tmp_path / "left"
    script = f"trap '' TERM; sleep 300 & echo $! > {left}; echo still here; wait; wait"
    done = agent.run("sh", "-c", script, deadline_s=1.5)
    assert (done["ok"], done["reason"]) == (False, "timeout")
    assert "still here" in done["detail"]
    assert_gone(int(left.read_text()))


def test_a_program_that_prints_without_end_is_ended(agent: TaughtAgent) -> None:
    """More than fits is nothing: a number might be in what was cut off."""
    done = agent.run("sh", "-c", "yes")
    assert (done["ok"], done["reason"]) == (False, "malformed")
    assert "bytes of output" in done["detail"]


def test_a_program_dies_with_its_agent(tmp_path: Path) -> None:
    """Nothing is left on a host whose probe is gone, no folder either."""
    own, place = tmp_path / "own", tmp_path / "place"
    with taught() as agent:
        command = {"command": "run", "words": ["sh", "-c", f"pwd > {place}; echo $$ > {own}; exec sleep 300"]}
        order = Order(rank=0, task="long", command={**command, "deadline_s": 60.0, "token": ""})
        agent.ranks.carry_out([order], 0.1)
        deadline = time.monotonic() + 20
        while not (own.exists() and own.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
        number = int(own.read_text())
    assert_gone(number)
    assert not Path(place.read_text().strip()).exists()


def test_a_worker_answers_what_it_is_asked(agent: TaughtAgent) -> None:
    """It is started by the first question and kept; what its libraries print is no answer."""
    first = agent.order("ask", worker="a", source=WORKER, question={"do": "one"})
    second = agent.order("ask", worker="a", question={"do": "two"})
    assert (first["said"], second["said"]) == ("one", "two")


def test_a_worker_that_ends_or_hangs_is_told_with_its_last_words(agent: TaughtAgent) -> None:
    """One clear reason each; a worker that was never started is another."""
    fallen = agent.order("ask", worker="a", source=WORKER, question={"do": "fall"})
    asleep = agent.order("ask", deadline_s=1.0, worker="b", source=WORKER, question={"do": "sleep"})
    nobody = agent.order("ask", worker="c", question={"do": "one"})
    assert [one["reason"] for one in (fallen, asleep, nobody)] == ["absent", "timeout", "absent"]
    assert "cannot go on" in fallen["detail"]


def assert_gone(number: int) -> None:
    deadline = time.monotonic() + 20
    while is_running(number) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(number)


def is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
