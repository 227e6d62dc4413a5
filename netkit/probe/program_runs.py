"""Measuring with a benchmark: the agents find its programs, run them, and its own words become readings.

A program that is missing somewhere ends the probe before anything has run, naming the hosts and what to install.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING

from netkit.errors import ProbeError
from netkit.model.missing import Missing
from netkit.model.probe import Fabric, GangReading, Reading, Round, RoundKind
from netkit.model.text import visible
from netkit.probe.assembly import declared_fabric, from_nics
from netkit.probe.benchmark import Bench, Benchmark, Measured, Program, RailGroup, Rates, Results, Tuning, Work
from netkit.probe.benchmark import Order as ProgramOrder
from netkit.probe.hostfile import is_host_name
from netkit.probe.launchers.roll_call import Order, RollCall, Task
from netkit.probe.launchers.session import Member
from netkit.probe.rails import nic_of, nics, rail_addresses
from netkit.probe.request import ProbeRequest

if TYPE_CHECKING:
    from netkit.probe.launchers.session import Fields

_LOAD_SECONDS = 20.0
_ANSWER_SECONDS = 10.0
# A benchmark keeps the processors busy enough for an agent to be late; its own deadline is what ends a hang.
SILENCE_SECONDS = 30.0
_MOST_NAMED = 5
_EXTENSION = "agent_programs.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRuns:
    """Measures the rounds of one probe with a benchmark."""

    benchmark: Benchmark
    bench: Bench
    fabric: Fabric
    ranks: RollCall
    warnings: tuple[str, ...]

    @property
    def interfaces(self) -> Sequence[Sequence[str]]:
        """Those of the rails, by rank; none where rails are RDMA devices."""
        return self.bench.interfaces

    def measure(
        self, planned: Round, take: Callable[[Reading], None], take_gang: Callable[[GangReading], None]
    ) -> None:
        """Take a reading a pair and rail; instead of looking inside the nodes, the collective over all of them."""
        if planned.kind is RoundKind.INTRA:
            self._collective(take_gang)
        else:
            self._pairs(planned, take)

    def _pairs(self, planned: Round, take: Callable[[Reading], None]) -> None:
        rank_of = {name: rank for rank, name in enumerate(self.bench.names)}
        bare = [
            Reading(round=planned.number, rail=rail, nodes=group.nodes, distance=group.distance)
            for group in planned.groups
            for rail in group.rails
        ]
        groups = [RailGroup(ranks=tuple(rank_of[name] for name in one.nodes), rail=one.rail) for one in bare]
        work = self.benchmark.pairs(self.bench, groups, f"round {planned.number}")
        for reading, measured in zip(bare, self._carry_out(work), strict=True):
            take(_reading(reading, measured))

    def _collective(self, take: Callable[[GangReading], None]) -> None:
        everyone = tuple(range(len(self.bench.names)))
        groups = [RailGroup(ranks=everyone, rail=rail) for rail in range(self.bench.rails)]
        work = self.benchmark.gang(self.bench, groups) if len(everyone) > 1 else None
        if work is not None:
            for group, measured in zip(groups, self._carry_out(work), strict=True):
                take(_gang_reading(group, measured))

    def _carry_out(self, work: Work) -> Sequence[Measured]:
        results: dict[Task, Fields] = {}
        for wave in work.waves:
            results |= carry_out(self.ranks, wave)
        return work.read(results)


def carry_out(ranks: RollCall, orders: Sequence[ProgramOrder]) -> dict[Task, Fields]:
    """Send one wave of orders and return what came back."""
    if not orders:
        return {}
    wave = [Order(rank=one.rank, task=one.task, command=_command(one)) for one in orders]
    return ranks.carry_out(wave, max(one.seconds for one in orders) + _ANSWER_SECONDS)


def _command(order: ProgramOrder) -> Fields:
    carried = {"source": _source(order.source)} if order.source else {}
    return {**order.command, **carried, "deadline_s": order.seconds, "token": ""}


def _source(module: str) -> str:
    return files("netkit.probe").joinpath(module).read_text(encoding="utf-8")


def begin(request: ProbeRequest, benchmark: Benchmark, ranks: RollCall) -> ProgramRuns:
    """Greet every rank, look for the programs on each, and prepare the benchmark.

    Raises:
        ProbeError: a program is missing somewhere, a host does not have the rails asked for, or it cannot start.
    """
    ranks.silence_seconds = SILENCE_SECONDS
    names = [member.name for member in request.members]
    hellos = ranks.muster({"command": "hello"}, request.start_seconds)
    bench = _bench(request, benchmark, hellos)
    _teach(ranks, len(names))
    _look_for_programs(benchmark, bench, ranks)
    bench = replace(bench, prepared=_prepared(benchmark, bench, ranks))
    # Between devices there is no MTU of an interface to reckon with: what the link is sold as is what it is held to.
    by_wire: tuple[float | None, tuple[str, ...]] = (request.wire_rate or request.line_rate, ())
    rate, warnings = from_nics(request, bench.rails, hellos, bench.addresses) if bench.addresses else by_wire
    fabric = replace(declared_fabric(request), rails=bench.rails, line_rate=rate)
    return ProgramRuns(benchmark=benchmark, bench=bench, fabric=fabric, ranks=ranks, warnings=warnings)


def _bench(request: ProbeRequest, benchmark: Benchmark, hellos: Sequence[Fields]) -> Bench:
    """Return what the members' hellos and the user's words make of the gang."""
    tuning = request.tuning
    names = tuple(member.name for member in request.members)
    counted = len(tuning.devices) or (len(tuning.gpus) if benchmark.rails_are == "accelerators" else 0)
    by_address = benchmark.rails_are == "addresses" or not counted
    addresses = _addresses(request, names, hellos) if by_address else ()
    rails = len(addresses[0]) if addresses else counted
    if any(len(listed) not in (0, rails) for listed in (tuning.devices, tuning.gpus)):
        cause = f"{rails} rails with {len(tuning.devices)} devices and {len(tuning.gpus)} GPUs"
        raise ProbeError("choosing rails", cause, "name as many interfaces or subnets as devices and GPUs")
    return Bench(
        names=names,
        hosts=tuple(_host(member, hello) for member, hello in zip(request.members, hellos, strict=True)),
        hostnames=tuple(visible(str(hello.get("hostname")), 255) for hello in hellos),
        rails=rails,
        tuning=tuning,
        seconds=request.seconds,
        addresses=addresses,
        interfaces=tuple(
            _interfaces(name, hello, own) for name, hello, own in zip(names, hellos, addresses, strict=False)
        ),
    )


def _host(member: Member, hello: Fields) -> str:
    """Return what other members reach a member at: what ssh does, or, in a pod, its first address."""
    if is_host_name(member.destination):
        return member.destination
    addresses = [address for nic in nics(hello) if nic.name != "lo" for address in nic.addresses]
    return addresses[0] if addresses else member.name


def _addresses(request: ProbeRequest, names: Sequence[str], hellos: Sequence[Fields]) -> tuple[tuple[str, ...], ...]:
    return tuple(rail_addresses(request.rails, name, hello) for name, hello in zip(names, hellos, strict=True))


def _interfaces(name: str, hello: Fields, addresses: Sequence[str]) -> tuple[str, ...]:
    """Return the interface of each rail; a rail whose address no interface lists cannot be named to a library."""
    found = [nic_of(hello, address) for address in addresses]
    for address, nic in zip(addresses, found, strict=True):
        if nic is None:
            cause = f"{name} does not say which interface holds {address}"
            raise ProbeError("choosing rails", cause, "name the rails with --interface")
    return tuple(nic.name for nic in found if nic is not None)


def _teach(ranks: RollCall, count: int) -> None:
    command = {"command": "load", "name": _EXTENSION, "source": _source(_EXTENSION)}
    ranks.carry_out([Order(rank=rank, task="load", command=command) for rank in range(count)], _LOAD_SECONDS)


def _look_for_programs(benchmark: Benchmark, bench: Bench, ranks: RollCall) -> None:
    needed = benchmark.programs(bench.tuning)
    orders = [
        ProgramOrder(rank=rank, task="programs", command=_looking(needed, bench.tuning), seconds=_LOAD_SECONDS)
        for rank in range(len(bench.names))
    ]
    results = carry_out(ranks, orders) if needed else {}
    for program in needed:
        asked = bench.names if program.everywhere else bench.names[:1]
        without = [name for rank, name in enumerate(asked) if not _has(results, rank, program.name)]
        if without:
            more = f" and {len(without) - _MOST_NAMED} more" if without[_MOST_NAMED:] else ""
            cause = f"no {program.name} on {', '.join(without[:_MOST_NAMED])}{more}"
            raise ProbeError(f"looking for {benchmark.title}", cause, program.remedy)


def _looking(needed: Sequence[Program], tuning: Tuning) -> Mapping[str, object]:
    return {"command": "programs", "names": [one.name for one in needed], "env": dict(tuning.environment)}


def _has(results: Results, rank: int, name: str) -> bool:
    found = results.get((rank, "programs"), {}).get("found")
    return isinstance(found, dict) and isinstance(found.get(name), str)


def _prepared(benchmark: Benchmark, bench: Bench, ranks: RollCall) -> Results:
    results = carry_out(ranks, benchmark.prepare(bench))
    why = benchmark.refusal(bench, results)
    if why is not None:
        raise ProbeError(f"starting {benchmark.title}", why.cause, why.remedy)
    return results


def _reading(bare: Reading, measured: Measured) -> Reading:
    if isinstance(measured, Missing):
        return replace(bare, missing=measured, tool_failed=True)
    return replace(bare, forward=measured.forward, reverse=measured.reverse, spread=measured.spread)


def _gang_reading(group: RailGroup, measured: Measured) -> GangReading:
    reading = GangReading(rail=group.rail, ranks=len(group.ranks), bytes=0, busbw=None)
    if isinstance(measured, Rates):
        return replace(reading, bytes=measured.bytes, busbw=measured.forward)
    return replace(reading, missing=measured)
