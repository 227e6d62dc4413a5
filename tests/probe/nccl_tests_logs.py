"""Synthetic nccl-tests output: invented hosts and rates, printed the way each version's format strings print.

Rates follow from an invented latency and link speed, so every row agrees with itself as a real one does.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from netkit.model.collective import Collective, CollectiveReport
from netkit.probe.backends.nccl_tests import parse_text
from netkit.probe.busbw import factor

DATA = Path(__file__).parent.parent / "data" / "nccl_tests"
PER_RANK = {"all_gather", "reduce_scatter", "alltoall", "gather", "scatter"}
REDOPS = {"all_reduce": "sum", "reduce": "sum", "reduce_scatter": "sum", "sendrecv": "sum"}
ROOTED = {"broadcast", "reduce", "gather", "scatter"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One benchmark run to print."""

    collective: str = "all_reduce"
    ranks: int = 16
    per_node: int = 8
    sizes: tuple[int, ...] = tuple(2**power for power in range(10, 31, 4))
    latency_us: float = 40.0
    link: float = 48.7
    checked: bool = True
    wrong: int = 0

    def time_us(self, size: int, placement: int) -> float:
        share = factor(Collective(self.collective), self.ranks)
        return self.latency_us + placement + size * max(share, 0.5) / self.link * 1e-3

    def rates(self, size: int, placement: int) -> tuple[float, float, float]:
        time = self.time_us(size, placement)
        algbw = size * 1e-3 / time
        return time, algbw, algbw * factor(Collective(self.collective), self.ranks)

    def count(self, size: int) -> int:
        return size // 4 // (self.ranks if self.collective in PER_RANK else 1)

    @property
    def average(self) -> float:
        busbws = [self.rates(size, placement)[2] for size in self.sizes for placement in (0, 1)]
        return sum(busbws) / len(busbws)


def fitted(value: float, width: int) -> str:
    """Print as getFloatStr does since version 2.17: as many decimals as the column holds."""
    for decimals in (2, 1, 0):
        text = f"{value:{width}.{decimals}f}"
        if len(text) <= width:
            return text
    return f"{value:{width}.1e}"


def by_magnitude(value: float) -> str:
    """Print a time as versions before 2.17 do."""
    return f"{value:7.0f}" if value >= 10000 else f"{value:7.1f}" if value >= 100 else f"{value:7.2f}"


def devices(sample: Sample, group: bool = True) -> list[str]:
    word = "Group  0 " if group else ""
    return [
        f"#  Rank {rank:2d} {word}Pid {4000 + rank:6d} on {f'node-{rank // sample.per_node:02d}':>10s}"
        f" device {rank % sample.per_node:2d} [0000:{0x10 + rank % sample.per_node:02x}:00] Synthetic GPU"
        for rank in range(sample.ranks)
    ]


def banner(sample: Sample) -> str:
    low, high, step = sample.sizes[0], sample.sizes[-1], sample.sizes[1] // sample.sizes[0]
    return (
        f"# nThread 1 nGpus 1 minBytes {low} maxBytes {high} step: {step}(factor)"
        f" warmup iters: 1 iters: 20 agg iters: 1 validation: {int(sample.checked)} graph: 0"
    )


def modern_header() -> list[str]:
    blank = f"# {'':>10s}  {'':>12s}  {'':>8s}  {'':>6s}  {'':>6s}"
    words = f"# {'size':>10s}  {'count':>12s}  {'type':>8s}  {'redop':>6s}  {'root':>6s}"
    half = f"  {'time':>7s}  {'algbw':>6s}  {'busbw':>6s}  {'#wrong':>6s}"
    return [
        f"{blank}           out-of-place                       in-place          ",
        f"{words}{half * 2} ",
        f"#        (B)    (elements){'(us)  (GB/s)  (GB/s)':>51s}{'(us)  (GB/s)  (GB/s)':>33s}         ",
    ]


def modern_row(sample: Sample, size: int) -> str:
    redop, root = REDOPS.get(sample.collective, "none"), 0 if sample.collective in ROOTED else -1
    text = f"{size:12d}  {sample.count(size):12d}  {'float':>8s}  {redop:>6s}  {f'{root:6d}':>6s}"
    for placement in (0, 1):
        time, algbw, busbw = sample.rates(size, placement)
        text += f"  {fitted(time, 7)}  {fitted(algbw, 6)}  {fitted(busbw, 6)}"
        text += f"  {float(sample.wrong):6g}" if sample.checked else "    N/A"
    return text


def footer(sample: Sample) -> list[str]:
    bad = sample.wrong * len(sample.sizes)
    return [
        f"# {'Out of bounds values':<20s} : {bad} {'FAILED' if bad else 'OK'}",
        f"# {'Avg bus bandwidth':<20s} : {sample.average:g} ",
        "#",
        f"# Collective test concluded: {sample.collective}_perf",
        "#",
        "",
    ]


def modern(sample: Sample) -> list[str]:
    """Return the lines that version 2.18 prints; join them with a newline, which also ends the last one."""
    return [
        "# nccl-tests version 2.18.3 nccl-headers=22907 nccl-library=22907",
        f"# Collective test starting: {sample.collective}_perf",
        banner(sample),
        "#",
        "# Using devices",
        *devices(sample),
        "#",
        *modern_header(),
        *(modern_row(sample, size) for size in sample.sizes),
        *footer(sample),
    ]


def modern_text(sample: Sample | None = None) -> str:
    return "\n".join(modern(sample or Sample()))


def old(sample: Sample) -> list[str]:
    """Return the lines of a version before the root column: blank redop, `error` unchecked, no program name."""
    redop = REDOPS.get(sample.collective, "")
    rows = []
    for size in sample.sizes:
        row = f"{size:12d}  {sample.count(size):12d}  {'float':>6s}  {redop:>6s}"
        for placement in (0, 1):
            time, algbw, busbw = sample.rates(size, placement)
            row += f"  {by_magnitude(time)}  {algbw:6.2f}  {busbw:6.2f}  {'0e+00' if sample.checked else '  N/A'}"
        rows.append(row)
    return [
        banner(sample).partition(" agg iters")[0],
        "#",
        "# Using devices",
        *(line.replace("[0000:", "[0x").replace(":00]", "]") for line in devices(sample, group=False)),
        "#",
        "#                                                     out-of-place                       in-place          ",
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error",
        "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
        *rows,
        *footer(sample)[:3],
        "",
    ]


def as_json(sample: Sample) -> str:
    """Return what -J writes, secrets in `env` included."""
    results = []
    for size in sample.sizes:
        result: dict[str, object] = {"size": size, "count": sample.count(size), "type": "float"}
        result |= {"redop": REDOPS.get(sample.collective, "none"), "root": f"{-1:6d}"}
        for placement, name in enumerate(("out_of_place", "in_place")):
            time, algbw, busbw = (round(value, 6) for value in sample.rates(size, placement))
            wrong = float(sample.wrong) if sample.checked else None
            result[name] = {"time": time, "alg_bw": algbw, "bus_bw": busbw, "nwrong": wrong}
            result[f"{name}_per_iter"] = {"min_us": time, "max_us": time, "cv_pct": 0.5, "times_us": [time] * 3}
        results.append(result | {"actual_iterations": 20, "experiment_name": ""})
    bad = sample.wrong * len(sample.sizes)
    document = {
        "version": 3,
        "start_time": "2031-01-02 03:04:05",
        "args": [f"/opt/{sample.collective}_perf", "-J", "out.json"],
        "env": ["HOME=/root", "SYNTHETIC_TOKEN=hunter2", "NCCL_DEBUG=INFO"],
        "nccl_version": 22907,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "devices": [
                {
                    "rank": rank,
                    "group": 0,
                    "hostname": f"node-{rank // sample.per_node:02d}",
                    "device": rank % sample.per_node,
                    "device_hex": f"0000:{0x10 + rank % sample.per_node:02x}:00",
                    "device_info": "Synthetic GPU",
                }
                for rank in range(sample.ranks)
            ],
        },
        "results": results,
        "out_of_bounds": {"count": bad, "okay": "false" if bad else "true"},
        "average_bus_bandwidth": {"bandwidth": round(sample.average, 6), "okay": "unchecked"},
        "errors": [""],
        "end_time": "2031-01-02 03:04:15",
    }
    return json.dumps(document, separators=(",", ":"))


def read_file(name: str) -> CollectiveReport:
    (report,) = parse_text((DATA / name).read_bytes().decode())
    return report


def read(lines: list[str]) -> CollectiveReport:
    (report,) = parse_text("\n".join(lines))
    return report


def lines_with(row: int, change: str) -> list[str]:
    """Return a whole log in which one row (counted from 0) is replaced."""
    lines = modern(Sample())
    lines[first_row(lines) + row] = change
    return lines


def first_row(lines: list[str]) -> int:
    return next(index for index, line in enumerate(lines) if re.match(r" +[0-9]+ +[0-9]+ +float", line))
