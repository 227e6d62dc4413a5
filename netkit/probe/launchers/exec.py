"""Agents inside running pods, over exec: one WebSocket a pod, nothing written anywhere, nothing created.

Opt-in, because the pods belong to somebody: a pod whose GPUs are in use, or may be, is never touched. The agent's
source travels over standard input; it ends at the end of that input, on `quit`, and at its own deadline.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from typing import Any

from netkit.errors import ProbeError
from netkit.model.missing import Missing
from netkit.model.text import visible
from netkit.probe.doubts import Seen
from netkit.probe.framing import FrameReader
from netkit.probe.gpu_use import objections
from netkit.probe.launchers.pod_answer import framed_answer
from netkit.probe.launchers.processes import INTERPRETER_OPTIONS, opening
from netkit.probe.launchers.session import Ended, Event, Launcher, Member, Message
from netkit.sources.kube.config import Open, open_access
from netkit.sources.kube.endpoint import Endpoint, endpoint_of
from netkit.sources.kube.exec import Exec, PodCommand, Watch, run_all
from netkit.sources.kube.pod import pod_fate

FAN_OUT = 32
LOOK_SECONDS = 45.0
_SECOND_LOOK_SECONDS = 1.0
_STDERR_KEPT_BYTES = 4096
_GRACE_SECONDS = 2.0
_MOST_NAMED = 5


def destination(namespace: str, pod: str, container: str) -> str:
    """Return a container as `Member.destination` names it; none of the three can hold a slash."""
    return f"{namespace}/{pod}/{container}"


def command_in(member: Member, stdin: bytes) -> PodCommand:
    """Return the interpreter that waits for a source, in the container of a member."""
    namespace, pod, container = member.destination.split("/")
    words = (member.python, *INTERPRETER_OPTIONS)
    return PodCommand(namespace=namespace, pod=pod, container=container, words=words, stdin=stdin)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecLauncher:
    """A launcher for one cluster; `open_access` is the way into it."""

    open_access: Open = field(default_factory=lambda: partial(open_access, None, None))
    id: str = "exec"
    transport: str = "pods"

    def start(self, members: Sequence[Member], lifetime_seconds: float) -> PodSessions:
        """Look into every pod, then start one agent in each.

        Raises:
            ProbeError: a pod has no such interpreter, or uses its GPUs, or may use them; none was started.
        """
        endpoint = endpoint_of(self.open_access())
        seen = look_inside_pods(endpoint, members)
        refuse_busy(members, seen)
        return PodSessions(endpoint, members, lifetime_seconds, self._fate, seen)

    def _fate(self, member: Member) -> str:
        namespace, pod, _ = member.destination.split("/")
        return pod_fate(self.open_access, namespace, pod)


def look_inside_pods(endpoint: Endpoint, members: Sequence[Member]) -> list[Seen]:
    """Return by member what `netkit.probe.pod_check` sees in its container; who does not answer is asked once more."""
    seen = _look(endpoint, members)
    unclear = [rank for rank, inside in enumerate(seen) if isinstance(inside, Missing)]
    if unclear:
        time.sleep(_SECOND_LOOK_SECONDS)
        for rank, inside in zip(unclear, _look(endpoint, [members[rank] for rank in unclear]), strict=True):
            seen[rank] = inside
    return seen


def _look(endpoint: Endpoint, members: Sequence[Member]) -> list[Seen]:
    source = files("netkit.probe").joinpath("pod_check.py").read_bytes()
    nonces = [secrets.token_hex(16) for _ in members]
    commands = [
        command_in(member, opening(source, {"nonce": nonce, "deadline_s": LOOK_SECONDS}))
        for member, nonce in zip(members, nonces, strict=True)
    ]
    answers = run_all(endpoint, commands, LOOK_SECONDS)
    return [framed_answer(answer, nonce) for answer, nonce in zip(answers, nonces, strict=True)]


def refuse_busy(members: Sequence[Member], seen: Sequence[Seen]) -> None:
    """Raise ProbeError naming every pod that a probe would disturb, or that cannot run one."""
    against = {}
    for member, inside in zip(members, seen, strict=True):
        if reasons := objections(inside, member.gpus):
            against[member.name] = reasons[0] + (f" and {len(reasons) - 1} more" if len(reasons) > 1 else "")
    if not against:
        return
    named = [f"{name}: {why}" for name, why in list(against.items())[:_MOST_NAMED]]
    more = [f"and {len(against) - _MOST_NAMED} more"] if len(against) > _MOST_NAMED else []
    cause = f"{len(against)} of {len(members)} pods cannot be probed now: {'; '.join(named + more)}"
    raise ProbeError("looking into pods", cause, "nothing was started; probe when they are idle")


@dataclass(slots=True)
class _Pod:
    rank: int
    exec: Exec
    reader: FrameReader
    stderr: bytearray = field(default_factory=bytearray)
    answered: bool = False

    @property
    def last_words(self) -> str:
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        return visible(lines[-1], 300) if lines else ""


class PodSessions:
    """The agents in the pods of one gang; used in one thread."""

    def __init__(
        self,
        endpoint: Endpoint,
        members: Sequence[Member],
        lifetime_seconds: float,
        fate: Callable[[Member], str],
        seen: Sequence[Seen] = (),
    ) -> None:
        self._seen = seen
        self._endpoint = endpoint
        self._members = members
        self._fate = fate
        self._dies_at = time.monotonic() + lifetime_seconds
        self._source = files("netkit.probe").joinpath("agent.py").read_bytes()
        self._watch = Watch()
        self._pods: dict[int, _Pod] = {}
        self._rejected: dict[int, int] = {}
        self._unstarted = deque(range(len(members)))
        self._early: dict[int, bytearray] = {}

    def send(self, rank: int, command: Mapping[str, Any]) -> None:
        """Queue one command for a rank."""
        line = json.dumps(command, separators=(",", ":")).encode() + b"\n"
        pod = self._pods.get(rank)
        if pod is None:
            self._early.setdefault(rank, bytearray()).extend(line)
            return
        pod.exec.send(line)
        self._watch.add(pod.exec)

    def receive(self, timeout_seconds: float) -> list[Event]:
        """Return what arrived, waiting at most `timeout_seconds` for the first event."""
        self._start_more()
        self._watch.advance(timeout_seconds)
        return [event for pod in list(self._pods.values()) for event in self._news(pod)]

    def rejected(self) -> Mapping[int, int]:
        """How many damaged or forged frames were dropped, by rank."""
        alive = {rank: pod.reader.rejected for rank, pod in self._pods.items()}
        return {rank: count for rank, count in sorted((self._rejected | alive).items()) if count}

    def before(self) -> Sequence[Seen]:
        """Return what was seen in every pod before the agents started."""
        return self._seen

    def looks(self) -> list[Sequence[Seen]]:
        """Look into every pod now; return what is seen, after what was seen before the agents started."""
        return [*([self._seen] if self._seen else []), _look(self._endpoint, self._members)]

    def stop(self) -> None:
        """Ask every agent to quit, and hang up on what is left: an agent whose input ends is ended by that."""
        self._unstarted.clear()
        running = [pod.exec for pod in self._pods.values()]
        for one in running:
            one.send(b'{"command":"quit"}\n')
            self._watch.add(one)
        deadline = time.monotonic() + _GRACE_SECONDS
        try:
            while any(one.outcome is None for one in running) and time.monotonic() < deadline:
                self._watch.advance(0.1)
        finally:
            for one in running:
                one.close()
            self._rejected = dict(self.rejected())
            self._pods.clear()
            self._watch.close()

    def _start_more(self) -> None:
        starting = sum(not pod.answered for pod in self._pods.values())
        while self._unstarted and starting < FAN_OUT:
            self._start(self._unstarted.popleft())
            starting += 1

    def _start(self, rank: int) -> None:
        nonce, left = secrets.token_hex(16), max(1.0, self._dies_at - time.monotonic())
        first = opening(self._source, {"nonce": nonce, "deadline_s": left}) + self._early.pop(rank, b"")
        one = Exec(self._endpoint, command_in(self._members[rank], bytes(first)), left)
        self._pods[rank] = _Pod(rank, one, FrameReader(nonce))
        self._watch.add(one)

    def _news(self, pod: _Pod) -> Iterator[Event]:
        stdout, stderr = pod.exec.take_output()
        pod.stderr += stderr
        del pod.stderr[:-_STDERR_KEPT_BYTES]
        for fields in pod.reader.feed(stdout):
            pod.answered = True
            yield Message(rank=pod.rank, fields=fields)
        if pod.exec.outcome is not None:
            yield self._end(pod)

    def _end(self, pod: _Pod) -> Ended:
        """Let go of an agent that has ended, and ask what became of its pod: eviction looks like any SIGKILL."""
        self._rejected[pod.rank] = pod.reader.rejected
        del self._pods[pod.rank]
        outcome = pod.exec.outcome
        assert outcome is not None
        said = (pod.last_words, self._fate(self._members[pod.rank]))
        return Ended(rank=pod.rank, how=outcome.how, said="; ".join(filter(None, said)))


LAUNCHER: Launcher = ExecLauncher()


def launcher_for(way_in: Open) -> Launcher:
    """Return the launcher for the cluster that `way_in` leads into."""
    return replace(ExecLauncher(), open_access=way_in)
