"""Orders to a gang and their results, with an ear on every rank: who died, who fell silent, and at which stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from netkit.model.text import visible
from netkit.probe.launchers.session import Ended, Fields, Message, Sessions

SILENCE_SECONDS = 5.0
_POLL_SECONDS = 0.25
# A longer gap between two looks is a pause of netkit itself, and no rank's silence.
_OWN_PAUSE_SECONDS = 1.0
# Ranks that go down together are named together.
_LAST_WORDS_SECONDS = 0.3

Task = tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A rank that can no longer take part: how it ended and the last stage it told of."""

    rank: int
    name: str
    how: str
    stage: str

    def __str__(self) -> str:
        """One phrase naming the rank, how it ended and where it was."""
        return f"rank {self.rank} ({self.name}) {self.how}; last stage: {self.stage}"


class RanksLostError(Exception):
    """One rank or more died, fell silent or never answered: nothing further can be measured."""

    def __init__(self, losses: Sequence[Loss]) -> None:
        self.losses = tuple(sorted(losses, key=lambda loss: loss.rank))
        super().__init__("; ".join(map(str, self.losses)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One command to one rank, answered by one result with the same task name."""

    rank: int
    task: str
    command: Fields


@dataclass(slots=True)
class RollCall:
    """The ranks of one gang while it is being measured. Times are seconds."""

    sessions: Sessions
    names: Sequence[str]
    silence_seconds: float = SILENCE_SECONDS
    _heard: dict[int, float] = field(default_factory=dict)
    _stages: dict[int, dict[str, str]] = field(default_factory=dict)
    _stage_before: dict[int, str] = field(default_factory=dict)
    _losses: dict[int, Loss] = field(default_factory=dict)
    _looked: float = field(default_factory=time.monotonic)

    def carry_out(
        self,
        orders: Iterable[Order],
        deadline_seconds: float,
        on_result: Callable[[Task, Fields], None] = lambda _task, _result: None,
    ) -> dict[Task, Fields]:
        """Send all orders, and return each one's result once all are in or the deadline has passed.

        Tasks without a result by then are left out. Raises RanksLostError when a rank dies or falls silent.
        """
        results = self._gather(orders, deadline_seconds, on_result, until_loss=True)
        if self._losses:
            raise RanksLostError(self._all_losses())
        return results

    def _gather(
        self,
        orders: Iterable[Order],
        deadline_seconds: float,
        on_result: Callable[[Task, Fields], None],
        *,
        until_loss: bool,
    ) -> dict[Task, Fields]:
        waiting: set[Task] = set()
        for order in orders:
            waiting.add((order.rank, order.task))
            self.sessions.send(order.rank, {"task": order.task, **order.command})
        results: dict[Task, Fields] = {}
        deadline = time.monotonic() + deadline_seconds
        while waiting and time.monotonic() < deadline and not (until_loss and self._losses):
            for task, result in self._listen(min(_POLL_SECONDS, deadline - time.monotonic())):
                if task in waiting:
                    waiting.remove(task)
                    results[task] = result
                    on_result(task, result)
            waiting = {task for task in waiting if task[0] not in self._losses}
        return results

    def muster(self, command: Fields, deadline_seconds: float) -> list[Fields]:
        """Have every rank carry out `command` and return the results by rank.

        Every rank is waited for, so that RanksLostError names all that are missing.
        """
        task = str(command["command"])
        ranks = range(len(self.names))
        orders = [Order(rank=rank, task=task, command=command) for rank in ranks]
        results = self._gather(orders, deadline_seconds, lambda _task, _result: None, until_loss=False)
        for rank in ranks:
            if (rank, task) not in results and rank not in self._losses:
                self._losses[rank] = self._loss(rank, f"did not answer within {deadline_seconds:g} s")
        if self._losses:
            raise RanksLostError(list(self._losses.values()))
        return [results[rank, task] for rank in ranks]

    def stages(self, rank: int) -> str:
        """Return what a rank said it is doing, or did last."""
        running = self._stages.get(rank) or {}
        if running:
            return "; ".join(f"{task}: {stage}" for task, stage in sorted(running.items())[:4])
        return self._stage_before.get(rank, "starting")

    def _listen(self, seconds: float) -> list[tuple[Task, Fields]]:
        results = []
        pause = time.monotonic() - self._looked
        if pause > _OWN_PAUSE_SECONDS:
            self._heard = {rank: heard + pause for rank, heard in self._heard.items()}
        events = self.sessions.receive(max(0.0, seconds))
        now = self._looked = time.monotonic()
        for event in events:
            if isinstance(event, Ended):
                self._losses[event.rank] = self._loss(event.rank, str(event))
            else:
                self._heard[event.rank] = now
                results += self._result(event)
        self._notice_silence(now)
        return results

    def _result(self, event: Message) -> list[tuple[Task, Fields]]:
        fields = event.fields
        if fields.get("type") == "heartbeat":
            self._stages[event.rank] = _texts(fields.get("stages"))
            return []
        if fields.get("type") != "result" or not isinstance(fields.get("task"), str):
            return []
        task = visible(fields["task"], 100)
        self._stages.get(event.rank, {}).pop(task, None)
        self._stage_before[event.rank] = f"finished {task}"
        return [((event.rank, task), fields)]

    def _notice_silence(self, now: float) -> None:
        for rank, heard in self._heard.items():
            if now - heard > self.silence_seconds and rank not in self._losses:
                how = f"hangs: no sign of life for {now - heard:.1f} s"
                self._losses[rank] = self._loss(rank, how)

    def _all_losses(self) -> list[Loss]:
        deadline = time.monotonic() + _LAST_WORDS_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            self._listen(left)
        return list(self._losses.values())

    def _loss(self, rank: int, how: str) -> Loss:
        return Loss(rank=rank, name=self.names[rank], how=how, stage=self.stages(rank))


def _texts(stages: Any) -> dict[str, str]:
    if not isinstance(stages, dict):
        return {}
    return {visible(str(task), 100): visible(str(stage), 200) for task, stage in stages.items()}
