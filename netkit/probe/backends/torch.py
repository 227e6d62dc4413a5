"""torch.distributed: what a training job's own library moves, over NCCL where there are GPUs and Gloo elsewhere.

The agent keeps one worker a rail (`netkit/probe/torch_worker.py`), under the interpreter the agent itself runs under:
`--python` names one that has PyTorch. Pairs are measured one way after the other, as by the agents' own sockets, and
told in the same words, so `netkit.probe.answers` reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netkit.model.missing import Missing, Reason
from netkit.model.probe import Distance, Reading
from netkit.model.text import visible
from netkit.probe import answers
from netkit.probe.benchmark import (
    Bench,
    Fields,
    Measured,
    Order,
    Program,
    RailGroup,
    Rates,
    Refusal,
    Results,
    Tuning,
    Work,
)

WORKER = "torch_worker.py"
IMPORT_SECONDS = 120.0
COLLECTIVE_BYTES = 8 * 1024 * 1024
ITERATIONS = 3
_ANSWER_SECONDS = 30.0
_DIRECTION_SECONDS = 6.0
_SOCKETS = "Socket"


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchDistributed:
    """Needs no program on the path: the interpreter is what has PyTorch, or has not."""

    id: str = "torch"
    title: str = "torch.distributed"
    both_ways_at_once: bool = False
    rails_are: str = "addresses"

    def programs(self, _tuning: Tuning) -> Sequence[Program]:
        """Return nothing: whether the import works is seen by doing it."""
        return ()

    def prepare(self, bench: Bench) -> Sequence[Order]:
        """Start one worker a rail; each opens a store that the others can reach."""
        return [
            _ask(
                rank,
                rail,
                f"start rail {rail}",
                {"do": "start", "address": bench.addresses[rank][rail], "timeout_s": _ANSWER_SECONDS},
                IMPORT_SECONDS,
                source=WORKER,
                env={**bench.tuning.environment, **_environment(bench, rank, rail)},
            )
            for rank in range(len(bench.names))
            for rail in range(bench.rails)
        ]

    def refusal(self, bench: Bench, results: Results) -> Refusal | None:
        """Every worker must have started, and all with the same library."""
        libraries: dict[str, str] = {}
        for (rank, task), result in sorted(results.items()):
            if result.get("ok") is not True:
                detail = visible(str(result.get("detail")), 200)
                remedy = "install PyTorch for the interpreter that --python names, or name one that has it"
                return Refusal(cause=f"{bench.names[rank]}: {detail}", remedy=remedy)
            libraries.setdefault(visible(str(result.get("library")), 20), f"{bench.names[rank]} ({task})")
        if len(results) < len(bench.names) * bench.rails:
            silent = next(name for rank, name in enumerate(bench.names) if (rank, "start rail 0") not in results)
            return Refusal(cause=f"{silent} did not import torch in time", remedy="see what keeps it busy")
        if len(libraries) > 1:
            told = " and ".join(f"{library} on {where}" for library, where in libraries.items())
            return Refusal(
                cause=f"the workers do not use the same library: {told}", remedy="the same PyTorch everywhere"
            )
        return None

    def pairs(self, bench: Bench, groups: Sequence[RailGroup], label: str) -> Work:
        """Measure all pairs at once, each of them one way after the other."""
        seconds = _ANSWER_SECONDS + 2 * (_DIRECTION_SECONDS + 3 * bench.seconds)
        question = {"do": "pair", "seconds": bench.seconds}
        return _work(bench, groups, label, question, seconds, _pair)

    def gang(self, bench: Bench, groups: Sequence[RailGroup]) -> Work | None:
        """Measure an all-reduce over all ranks of each rail."""
        question = {"do": "all-reduce", "bytes": COLLECTIVE_BYTES, "iterations": ITERATIONS}
        return _work(bench, groups, "all-reduce", question, 2 * _ANSWER_SECONDS, _gang)


def _environment(bench: Bench, rank: int, rail: int) -> Mapping[str, str]:
    """Bind either library to one rail; the one that is not used takes no notice."""
    interface = bench.interfaces[rank][rail]
    chosen = {"NCCL_IB_HCA": f"={bench.tuning.devices[rail]}"} if bench.tuning.devices else {}
    return {
        "GLOO_SOCKET_IFNAME": interface,
        "NCCL_SOCKET_IFNAME": f"={interface}",
        "NCCL_PXN_DISABLE": "1",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET",
        "CUDA_VISIBLE_DEVICES": str(bench.gpus[rail]),
        **chosen,
    }


def _ask(
    rank: int,
    rail: int,
    task: str,
    question: Fields,
    seconds: float,
    *,
    source: str = "",
    env: Mapping[str, str] | None = None,
) -> Order:
    command = {"command": "ask", "worker": f"rail {rail}", "question": question, "env": dict(env or {})}
    return Order(rank=rank, task=task, command=command, seconds=seconds, source=source)


Reader = Callable[[Bench, RailGroup, Sequence[Fields | None]], Measured]


def _task(label: str, group: RailGroup) -> str:
    return f"{label} {'-'.join(map(str, group.ranks[:2]))} rail {group.rail}"


def _work(
    bench: Bench,
    groups: Sequence[RailGroup],
    label: str,
    question: Fields,
    seconds: float,
    read: Reader,
) -> Work:
    orders = [
        _ask(rank, group.rail, _task(label, group), {**question, **_meeting(bench, label, group, place)}, seconds)
        for group in groups
        for place, rank in enumerate(group.ranks)
    ]

    def read_all(results: Results) -> list[Measured]:
        told = [[results.get((rank, _task(label, group))) for rank in group.ranks] for group in groups]
        return [
            _fallback(bench, group, own) or read(bench, group, own) for group, own in zip(groups, told, strict=True)
        ]

    return Work(waves=[orders], read=read_all)


def _meeting(bench: Bench, label: str, group: RailGroup, place: int) -> Fields:
    """Say where the ranks of a group find each other: the store of its first."""
    host = group.ranks[0]
    port = bench.prepared[host, f"start rail {group.rail}"].get("port")
    return {
        "store": [bench.addresses[host][group.rail], port],
        "group": f"{label} rail {group.rail}",
        "rank": place,
        "ranks": len(group.ranks),
    }


def _fallback(bench: Bench, group: RailGroup, told: Sequence[Fields | None]) -> Missing | None:
    """Say so when RDMA was asked for and NCCL used sockets; Gloo, which knows nothing else, says nothing."""
    if not bench.tuning.devices:
        return None
    for rank, result in zip(group.ranks, told, strict=True):
        networks = (result or {}).get("networks")
        if isinstance(networks, list) and _SOCKETS in networks:
            where = f"{bench.names[rank]} rail {group.rail}"
            detail = f"NCCL fell back to NET/{_SOCKETS} and did not use {bench.tuning.devices[group.rail]}"
            return Missing(reason=Reason.UNSUPPORTED, where=where, detail=detail)
    return None


def _pair(bench: Bench, group: RailGroup, told: Sequence[Fields | None]) -> Measured:
    nodes = tuple(bench.names[rank] for rank in group.ranks)
    bare = Reading(round=0, rail=group.rail, nodes=nodes, distance=Distance.NEAR)
    reading = answers.pair_reading(bare, told[0], told[1])
    if reading.missing is not None:
        return reading.missing
    assert reading.forward is not None
    assert reading.reverse is not None
    return Rates(forward=reading.forward, reverse=reading.reverse, bytes=0, spread=reading.spread)


def _gang(bench: Bench, group: RailGroup, told: Sequence[Fields | None]) -> Measured:
    reading = answers.gang_reading(group.rail, [bench.names[rank] for rank in group.ranks], told)
    if reading.missing is not None or reading.busbw is None:
        return reading.missing or Missing(reason=Reason.MALFORMED, where=f"rail {group.rail}", detail="no rate")
    return Rates(forward=reading.busbw, reverse=reading.busbw, bytes=reading.bytes)


BENCHMARK = TorchDistributed()
