"""Stands in for `all_reduce_perf` of nccl-tests: the text of 2.19 and the JSON of `-J`, out of a fabric of numbers.

No GPU, no NCCL, no traffic: the seconds of an iteration follow from the slowest port of a group, which the file
named by STAND_IN_FABRIC knows by host and device; a setting it names makes everything so many times faster. Ranks are
told to it the way Open MPI tells them; they meet in a folder beside that file instead of over MPI. STAND_IN_HOST is the
name of the host it pretends to be on.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

Rank = dict[str, Any]
USAGE = """USAGE: all_reduce_perf
	[-t,--nthreads <num threads>]
	[-g,--ngpus <gpus per thread>]
	[-b,--minbytes <min size in bytes>]
	[-h,--help]
"""
NEWER = """	[-J,--output_file <file> write output to filepath, if accessible.]
	[-I,--per_iter <0/1> report statistics of iterations]
"""


def main() -> int:
    """Be one rank."""
    fabric = json.loads(Path(os.environ["STAND_IN_FABRIC"]).read_text())
    if sys.argv[1:] == ["-h"]:
        print(USAGE + (NEWER if fabric.get("version", "2.19.6") >= "2.19.2" else ""))
        return 0
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    ranks = meet(introduce())
    mine = ranks[int(os.environ["OMPI_COMM_WORLD_RANK"])]
    speak(mine, fabric)
    if mine["rank"] == 0:
        wait_for_the_others(ranks)
        report(ranks, fabric, options)
    return 0


def introduce() -> Rank:
    """What this rank tells the others."""
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    visible = [word for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word]
    local = int(os.environ["OMPI_COMM_WORLD_LOCAL_RANK"])
    assert local < len(visible), f"local rank {local} with GPUs {visible}"
    assert os.environ["NCCL_PXN_DISABLE"] == "1"
    return {
        "rank": rank,
        "group": colour(rank),
        "pid": os.getpid(),
        "hostname": os.environ["STAND_IN_HOST"],
        "device": local,
        "gpu": int(visible[local]),
        "nic": (os.environ.get("NCCL_IB_HCA") or os.environ["NCCL_SOCKET_IFNAME"]).removeprefix("="),
        "wants_rdma": "NCCL_IB_HCA" in os.environ,
    }


def colour(rank: int) -> int:
    """Which group a rank belongs to, as `src/common.cu` has it."""
    if mask := os.environ.get("NCCL_TESTS_SPLIT_MASK"):
        return rank & int(mask, 16)
    match = re.fullmatch(r"(DIV|MOD) ([0-9]+)", os.environ.get("NCCL_TESTS_SPLIT", "DIV 1000000"))
    assert match
    return rank // int(match[2]) if match[1] == "DIV" else rank % int(match[2])


def folder() -> Path:
    """Where the ranks of this run meet."""
    job = os.environ["PMIX_NAMESPACE"]
    path = Path(os.environ["STAND_IN_FABRIC"]).parent / f"run-{job}"
    path.mkdir(exist_ok=True)
    return path


def meet(own: Rank) -> list[Rank]:
    """Leave a card, and wait for everybody's."""
    put(f"card-{own['rank']}", json.dumps(own))
    return [json.loads(text) for text in wait("card", int(os.environ["OMPI_COMM_WORLD_SIZE"]))]


def put(name: str, text: str) -> None:
    """Write a file that is there only when it is whole."""
    draft = folder() / f".{name}"
    draft.write_text(text)
    draft.rename(folder() / name)


def wait(kind: str, count: int) -> list[str]:
    """Wait for one file of this kind from each rank."""
    deadline = time.monotonic() + 60
    paths = [folder() / f"{kind}-{rank}" for rank in range(count)]
    while not all(path.exists() for path in paths):
        assert time.monotonic() < deadline, f"ranks missing in {folder()}"
        time.sleep(0.01)
    return [path.read_text() for path in paths]


def speak(own: Rank, fabric: dict[str, Any]) -> None:
    """Say what NCCL says of its network with NCCL_DEBUG=INFO."""
    fell_back = not own["wants_rdma"] or [own["hostname"], own["nic"]] in fabric.get("no_rdma", [])
    network = "Socket" if fell_back else "IB"
    prefix = f"{own['hostname']}:{own['pid']}:{own['pid']} [{own['device']}] NCCL INFO"
    print(f"{prefix} Using network {network}")
    print(f"{prefix} Channel 00/0 : 0[0] -> 1[0] [send] via NET/{network}/0", flush=True)
    put(f"spoken-{own['rank']}", "")


def wait_for_the_others(ranks: list[Rank]) -> None:
    """The table comes last."""
    wait("spoken", len(ranks))


def seconds_of(group: list[Rank], fabric: dict[str, Any], size: int, iterations: int) -> list[float]:
    """What each iteration of a group takes."""
    default = float(fabric["rate"])
    slowest = min(fabric["ports"].get(f"{one['hostname']}/{one['nic']}", default) for one in group)
    set_here = {f"{name}={value}" for name, value in os.environ.items()}
    slowest *= math.prod(gain for setting, gain in fabric.get("helps", {}).items() if setting in set_here)
    factor = 2 * (len(group) - 1) / len(group)
    draw = Random(f"{fabric['seed']}:{[one['hostname'] + one['nic'] for one in group]}")
    return [size * factor / (slowest * (1 + 0.005 * draw.gauss(0.0, 1.0))) for _ in range(iterations)]


def report(ranks: list[Rank], fabric: dict[str, Any], options: dict[str, str]) -> None:
    """Print the table, and write the file if one was asked for."""
    size, iterations = int(options["-b"]), int(options["-n"])
    groups = {one["group"]: [each for each in ranks if each["group"] == one["group"]] for one in ranks}
    times = {number: seconds_of(group, fabric, size, iterations) for number, group in groups.items()}
    average = sum(sum(row) / len(row) for row in times.values()) / len(times)
    factor = 2 * (len(groups[0]) - 1) / len(groups[0])
    algbw = size / average / 1e9
    halves = (average * 1e6, algbw, algbw * factor)
    print(*table(ranks, options, size, halves, fabric), sep="\n")
    if "-J" in options:
        processes = [[value * 1e6 for value in times[one["group"]]] for one in ranks]
        Path(options["-J"]).write_text(json.dumps(document(ranks, size, halves, processes), separators=(",", ":")))


def table(
    ranks: list[Rank], options: dict[str, str], size: int, halves: tuple[float, ...], fabric: dict[str, Any]
) -> list[str]:
    """Return the lines from the banner to the summary."""
    per_iteration = "-I" in options
    extra = f"  {'i_min':>7s}  {'i_max':>7s}  {'i_p99':>7s}  {'i_cv%':>7s}" if per_iteration else ""
    head = f"  {'time':>7s}  {'algbw':>6s}  {'busbw':>6s}  {'#wrong':>6s}{extra}"
    time_us, algbw, busbw = halves
    wrong = float(fabric.get("wrong", 0))
    body = f"  {fitted(time_us, 7)}  {fitted(algbw, 6)}  {fitted(busbw, 6)}  {wrong:6g}"
    body += f"  {fitted(time_us, 7)}" * 3 + f"  {0.5:7.2f}" if per_iteration else ""
    return [
        f"# nccl-tests version {fabric.get('version', '2.19.6')} nccl-headers=22907 nccl-library=22907",
        "# Collective test starting: all_reduce_perf",
        banner(options),
        "#",
        "# Using devices",
        *(
            f"#  Rank {one['rank']:2d} Group {one['group']:2d} Pid {one['pid']:6d} on {one['hostname']:>10s}"
            f" device {one['device']:2d} [0000:{0x10 + one['gpu']:02x}:00] Stand-in GPU"
            for one in ranks
        ),
        "#",
        "#                                                              out-of-place                       in-place",
        f"# {'size':>10s}  {'count':>12s}  {'type':>8s}  {'redop':>6s}  {'root':>6s}{head * 2} ",
        f"# {'(B)':>10s}  {'(elements)':>12s}",
        f"{size:12d}  {size // 4:12d}  {'float':>8s}  {'sum':>6s}  {-1:6d}{body * 2}",
        f"# {'Out of bounds values':<20s} : {2 * int(wrong)} {'FAILED' if wrong else 'OK'}",
        f"# {'Avg bus bandwidth':<20s} : {busbw:g} ",
        "#",
        "# Collective test concluded: all_reduce_perf",
        "",
    ]


def banner(options: dict[str, str]) -> str:
    """Return the line about sizes and iterations."""
    return (
        f"# nThread 1 nGpus 1 minBytes {options['-b']} maxBytes {options['-e']} step: 2(factor)"
        f" warmup iters: {options['-w']} iters: {options['-n']} agg iters: 1 validation: 1 graph: 0 unalign: 0"
    )


def fitted(value: float, width: int) -> str:
    """As many decimals as the column holds."""
    texts = (f"{value:{width}.{decimals}f}" for decimals in (2, 1, 0))
    return next((text for text in texts if len(text) <= width), f"{value:{width}.0e}")


def document(ranks: list[Rank], size: int, halves: tuple[float, ...], processes: list[list[float]]) -> dict[str, Any]:
    """Return what `-I 1 -J` writes."""
    time_us, algbw, busbw = (round(value, 6) for value in halves)
    half = {"time": time_us, "alg_bw": algbw, "bus_bw": busbw, "nwrong": 0.0}
    timing = {"skipped_iterations": 0, "times_us": processes[0], "per_process_max_times_us": processes}
    row: dict[str, Any] = {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": f"{-1:6d}"}
    for placement in ("out_of_place", "in_place"):
        row |= {placement: half, f"{placement}_per_iter": timing}
    named = ("rank", "group", "pid", "hostname", "device")
    devices = [
        {key: one[key] for key in named} | {"device_hex": f"0000:{0x10 + one['gpu']:02x}:00", "device_info": "Stand-in"}
        for one in ranks
    ]
    return {
        "version": 4,
        "start_time": "2031-01-02 03:04:05",
        "args": sys.argv,
        "env": [f"{name}={value}" for name, value in os.environ.items()],
        "nccl_version": 22907,
        "config": {"nthreads": 1, "ngpus": 1, "iterations": len(processes[0]), "devices": devices},
        "results": [row | {"actual_iterations": len(processes[0]), "experiment_name": ""}],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": busbw, "okay": "unchecked"},
        "errors": [""],
        "end_time": "2031-01-02 03:04:15",
    }


if __name__ == "__main__":
    sys.exit(main())
