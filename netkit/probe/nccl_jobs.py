"""Rail by rail with nccl-tests or rccl-tests: one mpirun a round, or one a pair and rail with older versions. Pure.

Ranks are numbered rail by rail, hosts in the same order on each, so that partners are neighbours and
`NCCL_TESTS_SPLIT_MASK=0xfffffffe` (rank AND mask, `src/common.cu` of NVIDIA nccl-tests) makes a group of every rail
pair, whatever the number of rails. The text of such a run averages over its groups; what each pair took stands in
`per_process_max_times_us` of its JSON file, since version 2.19.2. Older versions tell nothing of groups.

A traffic that was meant for RDMA and went over sockets says nothing about a link: its reading is missing.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netkit.errors import InputError
from netkit.model.collective import Collective, CollectiveReport, Placement
from netkit.model.missing import Missing, Reason
from netkit.probe import mpi
from netkit.probe.benchmark import (
    Bench,
    Measured,
    Order,
    Program,
    RailGroup,
    Rates,
    Refusal,
    Results,
    Tuning,
    Work,
    output_of,
    run_order,
)
from netkit.probe.busbw import busbw
from netkit.probe.nccl_log.json_file import read_json
from netkit.probe.nccl_log.ranks import RankLines, process_times, ranks_of
from netkit.probe.nccl_log.text_log import read_text

PROGRAM = "all_reduce_perf"
RESULT = "result.json"
WARMUP = 5
ITERATIONS = 20
JOB_SECONDS = 180.0
_PAIRS_MASK = "0xfffffffe"
_SOCKETS = "Socket"


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTests:
    """nccl-tests, or a port of it that takes the same options; `visible_gpus` is how its runtime is told its GPUs."""

    id: str
    title: str
    remedy: str
    visible_gpus: str
    both_ways_at_once: bool = True
    rails_are: str = "either"

    def programs(self, tuning: Tuning) -> Sequence[Program]:
        """Return the benchmark, everywhere, and mpirun where it is started."""
        mpirun = Program(name="mpirun", remedy="install Open MPI (openmpi-bin) there", everywhere=False)
        return (Program(name=tuning.program(PROGRAM), remedy=self.remedy), mpirun)

    def prepare(self, bench: Bench) -> Sequence[Order]:
        """Ask the benchmark which options it has."""
        return [
            run_order(0, "options", [bench.tuning.program(PROGRAM), "-h"], seconds=30.0, env=bench.tuning.environment)
        ]

    def refusal(self, _bench: Bench, results: Results) -> Refusal | None:
        """Nothing is refused for its age, only a program that cannot even say its options."""
        said = output_of(results.get((0, "options")), PROGRAM)
        return Refusal(cause=str(said), remedy="see that it runs there with -h") if isinstance(said, Missing) else None

    def pairs(self, bench: Bench, groups: Sequence[RailGroup], label: str) -> Work:
        """Measure every group with the one all-reduce of its two ranks."""
        jobs = list(_jobs(bench, groups, label))
        return self._work(bench, jobs, groups)

    def gang(self, bench: Bench, groups: Sequence[RailGroup]) -> Work | None:
        """Measure an all-reduce over all ranks of each rail, all rails at once."""
        return self._work(bench, list(_jobs(bench, groups, "all-reduce")), groups)

    def _work(self, bench: Bench, jobs: Sequence[Job], groups: Sequence[RailGroup]) -> Work:
        def read(results: Results) -> list[Measured]:
            found = {group: each for job in jobs for group, each in job.read(bench, results).items()}
            return [found[group] for group in groups]

        return Work(waves=[[self._order(bench, job) for job in jobs]], read=read)

    def _order(self, bench: Bench, job: Job) -> Order:
        program = [bench.tuning.program(PROGRAM), *_options(bench.tuning.bytes)]
        program += ["-I", "1", "-J", RESULT] if job.split else []
        processes = [
            mpi.Process(host=bench.hosts[rank], environment=self._environment(bench, job, rank, rail))
            for rank, rail in job.world
        ]
        return run_order(
            job.starter,
            job.task,
            mpi.command_line("mpirun", processes, program),
            seconds=JOB_SECONDS,
            env={**mpi.ENVIRONMENT, **bench.tuning.environment},
            files={mpi.HOSTFILE: mpi.hostfile(processes)},
            keep=RESULT if job.split else "",
        )

    def _environment(self, bench: Bench, job: Job, rank: int, rail: int) -> Mapping[str, str]:
        return {
            **bench.tuning.environment,
            # Traffic that detours over NVLink to another NIC hides a bad rail.
            "NCCL_PXN_DISABLE": "1",
            "NCCL_CROSS_NIC": "0",
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,NET",
            self.visible_gpus: ",".join(str(bench.gpus[each]) for each in job.rails),
            **network(bench, rank, rail),
            **job.split,
        }


def network(bench: Bench, rank: int, rail: int) -> dict[str, str]:
    """Return what binds NCCL to one rail: its RDMA device, or its interface when sockets are what is wanted."""
    if bench.tuning.devices:
        return {"NCCL_IB_HCA": f"={bench.tuning.devices[rail]}"}
    return {"NCCL_NET": _SOCKETS, "NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": f"={bench.interfaces[rank][rail]}"}


def _options(size: int) -> list[str]:
    both = ["-b", str(size), "-e", str(size), "-f", "2", "-t", "1", "-g", "1"]
    return [*both, "-w", str(WARMUP), "-n", str(ITERATIONS), "-c", "1"]


def tells_processes_apart(bench: Bench) -> bool:
    """Tell whether this version writes the times of every process: it then lists `-I` and `-J` among its options."""
    said = bench.prepared.get((0, "options"), {}).get("output")
    return isinstance(said, str) and "[-I," in said and "[-J," in said


def _jobs(bench: Bench, groups: Sequence[RailGroup], label: str) -> Iterator[Job]:
    """Make one job of all groups that use the same rails; of each group alone where the version cannot split."""
    if not tells_processes_apart(bench):
        for group in groups:
            where = ":".join(bench.names[rank] for rank in group.ranks[:2])
            yield Job(task=f"{label} {where} rail {group.rail}", rails=(group.rail,), rows=(group.ranks,), split={})
        return
    rails_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for group in groups:
        rails_of[group.ranks].append(group.rail)
    rows_of: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    for ranks, of_ranks in rails_of.items():
        rows_of[tuple(of_ranks)].append(ranks)
    for rails, rows in rows_of.items():
        yield Job(task=f"{label} rails {','.join(map(str, rails))}", rails=rails, rows=tuple(rows), split=_split(rows))


def _split(rows: Sequence[tuple[int, ...]]) -> dict[str, str]:
    """Say which ranks are a group: neighbours, or all of one rail."""
    if len(rows[0]) == 2:
        return {"NCCL_TESTS_SPLIT_MASK": _PAIRS_MASK}
    return {"NCCL_TESTS_SPLIT": f"DIV {len(rows[0])}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One mpirun: `rows` of ranks of the gang, each of them a group on each of `rails`.

    `split` is what tells the benchmark so; empty where there is one group, whose rate then stands in the text.
    """

    task: str
    rails: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    split: Mapping[str, str]

    @property
    def starter(self) -> int:
        """The rank that starts mpirun, which is also where world rank 0 writes its file."""
        return self.rows[0][0]

    @property
    def world(self) -> list[tuple[int, int]]:
        """Rank of the gang and rail of every world rank."""
        return [(rank, rail) for rail in self.rails for row in self.rows for rank in row]

    @property
    def groups(self) -> dict[RailGroup, range]:
        """The world ranks of each group."""
        size = len(self.rows[0])
        every = [(row, rail) for rail in self.rails for row in self.rows]
        return {
            RailGroup(ranks=row, rail=rail): range(number * size, (number + 1) * size)
            for number, (row, rail) in enumerate(every)
        }

    def read(self, bench: Bench, results: Results) -> dict[RailGroup, Measured]:
        """Return what each group measured."""
        result = results.get((self.starter, self.task))
        text = output_of(result, self.task)
        if isinstance(text, Missing):
            return dict.fromkeys(self.groups, text)
        ranks = ranks_of(text)
        if (why := self._misplaced(bench, ranks)) is not None:
            return dict.fromkeys(self.groups, self._nothing(why))
        whole = (
            self._from_file(bench, str((result or {}).get("file", ""))) if self.split else self._from_text(bench, text)
        )
        return {
            group: self._fallback(bench, [ranks[each] for each in world]) or whole[group]
            for group, world in self.groups.items()
        }

    def _nothing(self, why: str, reason: Reason = Reason.MALFORMED) -> Missing:
        return Missing(reason=reason, where=self.task, detail=why)

    def _misplaced(self, bench: Bench, ranks: Mapping[int, RankLines]) -> str | None:
        """Say how the ranks that ran are not those that were wanted where they were wanted."""
        world = self.world
        if ranks.keys() != set(range(len(world))):
            return f"its log lists {len(ranks)} ranks where {len(world)} were started"
        for number, (rank, _) in enumerate(world):
            wanted, found = _short(bench.hostnames[rank]), _short(ranks[number].host)
            if wanted != found:
                return f"rank {number} ran on {found}, and not on {wanted}: this mpirun does not keep the order given"
        return None

    def _fallback(self, bench: Bench, ranks: Iterable[RankLines]) -> Missing | None:
        """Say so when a group did not use the network that is being probed, or does not tell which it used."""
        networks = frozenset[str]().union(*(each.networks for each in ranks))
        if not networks:
            return self._nothing("its log does not say which network NCCL used")
        if bench.tuning.devices and _SOCKETS in networks:
            device = bench.tuning.devices[self.rails[0]] if len(self.rails) == 1 else "the RDMA devices named"
            return self._nothing(f"NCCL fell back to NET/{_SOCKETS} and did not use {device}", Reason.UNSUPPORTED)
        return None

    def _from_file(self, bench: Bench, text: str) -> dict[RailGroup, Measured]:
        size = bench.tuning.bytes
        why = _doubt(_report(text, json=True))
        times = None if why else process_times(text, size, len(self.world), Placement.OUT_OF_PLACE)
        if times is None:
            why = why or f"{RESULT} does not hold the times of every rank"
            return dict.fromkeys(self.groups, self._nothing(why))
        return {group: _rates([times[each] for each in world], size) for group, world in self.groups.items()}

    def _from_text(self, bench: Bench, text: str) -> dict[RailGroup, Measured]:
        report = _report(text, json=False)
        why = _doubt(report)
        if why or report is None:
            return dict.fromkeys(self.groups, self._nothing(why or "no log"))
        rates = [row.busbw_bytes_per_second for row in report.rows if row.bytes == bench.tuning.bytes]
        if not rates or report.ranks != len(self.world):
            return dict.fromkeys(self.groups, self._nothing("its table does not hold the size or the ranks asked for"))
        rate = statistics.median(rates)
        return dict.fromkeys(self.groups, Rates(forward=rate, reverse=rate, bytes=bench.tuning.bytes))


def _short(host: str) -> str:
    """nccl-tests cuts a host's name at its first dot."""
    return host.partition(".")[0]


def _report(text: str, *, json: bool) -> CollectiveReport | None:
    try:
        return read_json(text) if json else read_text(text)[-1]
    except InputError:
        return None


def _doubt(report: CollectiveReport | None) -> str | None:
    """Say why no number of this run is to be believed."""
    if report is None:
        return "it is no log of this benchmark"
    if report.corrupt:
        return "corrupt data: the benchmark found wrong values"
    if not report.complete:
        return f"its log is not whole: {report.problems[0]}"
    return None


def _rates(processes: Sequence[Sequence[float]], size: int) -> Rates:
    """Return the rate of a group from the seconds of every iteration of its processes."""
    # An iteration is over when its last process is.
    slowest = [max(column) for column in zip(*processes, strict=True)]
    middle = statistics.median(slowest)
    spread = statistics.median([abs(each - middle) for each in slowest]) / middle
    rate = busbw(Collective.ALL_REDUCE, len(processes), size, middle)
    return Rates(forward=rate, reverse=rate, bytes=size, spread=spread)
