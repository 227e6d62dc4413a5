"""What a benchmark backend offers for measuring: orders for the agents, and readings out of what comes back. Pure.

Each module of `netkit.probe.backends` that can be started holds one constant `BENCHMARK`; `netkit.probe.program_runs`
carries its orders out. Rates are bytes per second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from netkit.model.missing import Missing, Reason
from netkit.model.text import visible

Fields: TypeAlias = Mapping[str, Any]
Results: TypeAlias = Mapping[tuple[int, str], Fields]
"""What each rank sent back, by rank and task; a task without an answer is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What the user may say about a benchmark. Rails are in order; empty is not said.

    `devices` are RDMA devices, `gpus` the accelerator of each rail, `programs` the folder the programs are in,
    `environment` what they get besides, `bytes` the message size.
    """

    devices: tuple[str, ...] = ()
    gpus: tuple[int, ...] = ()
    programs: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    bytes: int = 256 * 1024 * 1024

    def program(self, name: str) -> str:
        """Return the words that start a program: its name, or its path where a folder was named."""
        return f"{self.programs.rstrip('/')}/{name}" if self.programs else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The gang as a benchmark sees it, by rank.

    `hosts` are what a launcher connects to, `hostnames` what they call themselves; `addresses` and `interfaces` by
    rank and rail, where rails are addresses.
    `prepared` is what `Benchmark.prepare` came to; `seconds` the time to measure a direction.
    """

    names: tuple[str, ...]
    hosts: tuple[str, ...]
    hostnames: tuple[str, ...]
    rails: int
    tuning: Tuning
    seconds: float
    addresses: tuple[tuple[str, ...], ...] = ()
    interfaces: tuple[tuple[str, ...], ...] = ()
    prepared: Results = field(default_factory=dict)

    @property
    def gpus(self) -> tuple[int, ...]:
        """The accelerator of each rail: what was said, or the one of the same number."""
        return self.tuning.gpus or tuple(range(self.rails))


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that members need; `remedy` says where it comes from. `everywhere` or only on the first of them."""

    name: str
    remedy: str
    everywhere: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a benchmark cannot measure, and what would help."""

    cause: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One command to the agent of one rank; it may take `seconds`.

    `source` is a module of `netkit.probe` whose text travels with it, where a worker is to be started.
    """

    rank: int
    task: str
    command: Fields
    seconds: float
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RailGroup:
    """Ranks that are measured together on one rail: two of them, or all."""

    ranks: tuple[int, ...]
    rail: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What one group measured: from its first rank to its second and back, or one busbw for both.

    `spread` is the relative median absolute deviation over the iterations, None where the benchmark does not say.
    """

    forward: float
    reverse: float
    bytes: int
    spread: float | None = None


Measured: TypeAlias = Rates | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Waves of orders, one after another, and how their results become one measurement for each group, in order."""

    waves: Sequence[Sequence[Order]]
    read: Callable[[Results], Sequence[Measured]]


class Benchmark(Protocol):
    """A program, or a library, that measures for netkit. `both_ways_at_once` says that it times one rate for both."""

    @property
    def id(self) -> str:
        """The name of its module."""

    @property
    def title(self) -> str:
        """What people call it."""

    @property
    def both_ways_at_once(self) -> bool:
        """Whether forward and reverse are one number."""

    @property
    def rails_are(self) -> str:
        """What rails are told apart by: `devices`, `addresses`, `either` of them, or `accelerators`."""

    def programs(self, tuning: Tuning) -> Sequence[Program]:
        """Return what must be installed."""

    def prepare(self, bench: Bench) -> Sequence[Order]:
        """Return what is done once, before anything is measured."""

    def refusal(self, bench: Bench, results: Results) -> Refusal | None:
        """Say why nothing can be measured after that preparation, None when it can."""

    def pairs(self, bench: Bench, groups: Sequence[RailGroup], label: str) -> Work:
        """Measure pairs; a rank is in one group of each rail at most. `label` names the round."""

    def gang(self, bench: Bench, groups: Sequence[RailGroup]) -> Work | None:
        """Measure a collective over all ranks of each rail; None for a benchmark that knows no collective."""


def run_order(
    rank: int,
    task: str,
    words: Sequence[str],
    *,
    seconds: float,
    env: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    keep: str = "",
    again_s: float = 0.0,
) -> Order:
    """Return the order that has an agent run a program; `keep` is a file it writes, sent back with its output."""
    command = {
        "command": "run",
        "words": list(words),
        "env": dict(env or {}),
        "files": dict(files or {}),
        "keep": keep,
        "again_s": again_s,
    }
    return Order(rank=rank, task=task, command=command, seconds=seconds)


def output_of(result: Fields | None, where: str) -> str | Missing:
    """Return what a program printed, or why that is not to be read: it did not run, or did not end well."""
    if result is None:
        return Missing(reason=Reason.TIMEOUT, where=where, detail="no result before the round's deadline")
    if result.get("ok") is not True:
        known = {"timeout": Reason.TIMEOUT, "malformed": Reason.MALFORMED}
        reason = known.get(str(result.get("reason")), Reason.ABSENT)
        return Missing(reason=reason, where=where, detail=visible(str(result.get("detail")), 300))
    output = result.get("output")
    if not isinstance(output, str):
        return Missing(reason=Reason.MALFORMED, where=where, detail="its output is no text")
    if result.get("status") != 0:
        ended = f"ended with status {visible(str(result.get('status')), 10)}: {last_line(output)}"
        return Missing(reason=Reason.ABSENT, where=where, detail=ended)
    return output


def last_line(output: str) -> str:
    """Return the last line that says something; rules of dashes and stars do not."""
    lines = [line.strip() for line in output.splitlines() if any(map(str.isalnum, line))]
    return visible(lines[-1], 200) if lines else "it printed nothing"
