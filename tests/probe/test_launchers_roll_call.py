"""Orders to a gang whose ranks answer, fall silent or die; no process is started here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from netkit.probe.launchers.roll_call import Order, RanksLostError, RollCall
from netkit.probe.launchers.session import Ended, Event, Message


@dataclass
class Script:
    """Sessions that answer each order at once, except the ranks that are to fail."""

    silent: frozenset[int] = frozenset()
    dead: frozenset[int] = frozenset()
    stages: Mapping[int, object] = field(default_factory=dict)
    waiting: list[Event] = field(default_factory=list)

    def send(self, rank: int, command: Mapping[str, Any]) -> None:
        if rank in self.dead:
            self.waiting.append(Ended(rank=rank, how="killed by SIGKILL", said=""))
            return
        if rank in self.stages:
            self.waiting.append(Message(rank=rank, fields={"type": "heartbeat", "stages": self.stages[rank]}))
        if rank not in self.silent:
            self.waiting.append(Message(rank=rank, fields={"type": "result", "task": command["task"], "ok": True}))

    def receive(self, timeout_seconds: float) -> Sequence[Event]:
        if not self.waiting:
            time.sleep(min(timeout_seconds, 0.02))
        events, self.waiting = self.waiting, []
        return events

    def rejected(self) -> Mapping[int, int]:
        return {}

    def stop(self) -> None:
        self.waiting.clear()


def orders(ranks: int) -> list[Order]:
    return [Order(rank=rank, task="pair", command={"command": "pair"}) for rank in range(ranks)]


NAMES = ("n0", "n1", "n2")


def test_every_order_is_answered() -> None:
    """Results come by rank and task, and each is handed on as it arrives."""
    seen = []
    results = RollCall(Script(), NAMES).carry_out(orders(3), 1.0, lambda task, _: seen.append(task))
    assert sorted(results) == sorted(seen) == [(0, "pair"), (1, "pair"), (2, "pair")]


@pytest.mark.fault("H06")
def test_a_rank_that_lives_but_does_not_answer_is_left_out() -> None:
    """At the deadline the others' results stand; nobody makes one up."""
    results = RollCall(Script(silent=frozenset({1})), NAMES).carry_out(orders(3), 0.2)
    assert sorted(results) == [(0, "pair"), (2, "pair")]


@pytest.mark.fault("H04")
def test_a_dead_rank_is_named_with_its_last_stage() -> None:
    """How it ended, and what it last said it was doing."""
    script = Script(dead=frozenset({2}))
    script.waiting = [Message(rank=2, fields={"type": "heartbeat", "stages": {"pair": "warming up"}})]
    with pytest.raises(RanksLostError) as lost:
        RollCall(script, NAMES).carry_out(orders(3), 2.0)
    assert str(lost.value) == "rank 2 (n2) killed by SIGKILL; last stage: pair: warming up"


@pytest.mark.fault("H03")
def test_a_rank_without_a_heartbeat_hangs() -> None:
    """Silence longer than allowed is a loss, whatever the others still send."""
    script = Script(silent=frozenset({1}), stages={1: {"ring.0": "iteration 2"}})
    with pytest.raises(RanksLostError, match=r"rank 1 \(n1\) hangs: no sign of life for .*: ring.0: iteration 2"):
        RollCall(script, NAMES[:2], silence_seconds=0.2).carry_out(orders(2), 5.0)


@pytest.mark.fault("H05")
def test_all_missing_ranks_are_listed() -> None:
    """A muster waits for everybody, so one run names every rank that is missing and why."""
    script = Script(silent=frozenset({0}), dead=frozenset({2}))
    with pytest.raises(RanksLostError) as lost:
        RollCall(script, NAMES).muster({"command": "hello"}, 0.3)
    assert [(loss.name, loss.how) for loss in lost.value.losses] == [
        ("n0", "did not answer within 0.3 s"),
        ("n2", "killed by SIGKILL"),
    ]


def test_a_pause_of_netkit_itself_is_nobodys_silence() -> None:
    """After this process was stopped for a while, ranks get their time to be heard again."""
    roll_call = RollCall(Script(), NAMES, silence_seconds=1.5)
    roll_call.carry_out(orders(3), 1.0)
    roll_call._looked -= 10
    roll_call._heard = {rank: heard - 10 for rank, heard in roll_call._heard.items()}
    assert len(roll_call.carry_out(orders(3), 1.0)) == 3


@pytest.mark.fault("I05")
@pytest.mark.parametrize(
    "fields",
    [{}, {"type": "result"}, {"type": "result", "task": 5}, {"type": "heartbeat", "stages": [1]}, {"type": "other"}],
)
def test_messages_of_another_form_are_ignored(fields: dict[str, Any]) -> None:
    """A rank that talks nonsense in genuine frames is heard and not believed."""
    script = Script()
    script.waiting = [Message(rank=0, fields=fields)]
    assert len(RollCall(script, NAMES).carry_out(orders(1), 1.0)) == 1


def test_stages_are_made_visible() -> None:
    """What a rank says of itself cannot move the terminal's cursor."""
    script = Script(silent=frozenset({0}), stages={0: {"pair": "a\x1b[2Jb"}})
    roll_call = RollCall(script, NAMES)
    roll_call.carry_out(orders(1), 0.1)
    assert roll_call.stages(0) == "pair: a\\x1b[2Jb"
