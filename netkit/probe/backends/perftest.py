"""perftest: RDMA writes between two NICs, no GPU and no collective library between (`ib_write_bw`, linux-rdma).

Read is the table that every version prints; MB/sec are 2**20 bytes, Gb/sec 10**9 bits (`perftest_resources.c`,
`perftest_parameters.c`). A version that lists `--out_json` writes a file too: where that is JSON (the keys of version
4.5-0.17 have no quotes), both must say the same. One end listens and prints the same table as the one that writes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from netkit.model.missing import Missing, Reason
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

PROGRAM = "ib_write_bw"
RESULT = "result.json"
FIRST_PORT = 18515
LARGEST_WRITE = 1024 * 1024
_CONNECT_SECONDS = 10.0
_AROUND_SECONDS = 30.0
_SHORTEST = 2
_RULE = re.compile(r"-{20,}")
_HEADER = re.compile(
    r"\s*#bytes\s+#iterations\s+BW peak\[(?:MB|Gb)/sec\]\s+BW average\[(?P<unit>MB|Gb)/sec\]\s+MsgRate\[Mpps\]\s*"
)
_ROW = re.compile(
    r"\s*[0-9]{1,12}\s+[0-9]{1,15}\s+[0-9.]{1,20}\s+(?P<average>[0-9]{1,12}\.[0-9]{1,9})\s+[0-9.]{1,20}\s*"
)
_UNIT = {"MB": 2.0**20, "Gb": 1e9 / 8}
# Both are rounded to two digits behind the point.
_AGREE = 0.011 * 1e9 / 8


def parse_text(text: str) -> float | None:
    """Return the average in bytes per second; None unless the table is whole, from its header to the rule below it."""
    unit, rate = None, None
    # The last piece has no newline: it may be half a number.
    for line in text.replace("\r\n", "\n").split("\n")[:-1]:
        if match := _HEADER.fullmatch(line):
            unit, rate = match["unit"], None
        elif unit is not None and (match := _ROW.fullmatch(line)):
            # One size was asked for: two rows are two runs in one log.
            unit, rate = (None, None) if rate is not None else (unit, float(match["average"]) * _UNIT[unit])
        elif rate and _RULE.fullmatch(line):
            return rate
    return None


def parse_json(text: str) -> float | None:
    """Return BW_average as it stands there, in the unit that was asked for; None where the file is no JSON."""
    try:
        average = json.loads(text)["results"]["BW_average"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    known = isinstance(average, int | float) and not isinstance(average, bool) and math.isfinite(average)
    return float(average) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Perftest:
    """Writes from the first rank of a pair to the second, then back."""

    id: str = "perftest"
    title: str = "perftest"
    both_ways_at_once: bool = False
    rails_are: str = "devices"

    def programs(self, tuning: Tuning) -> Sequence[Program]:
        """Return the one program that is used."""
        return (Program(name=tuning.program(PROGRAM), remedy="install perftest there (Debian, RHEL: perftest)"),)

    def prepare(self, bench: Bench) -> Sequence[Order]:
        """Ask which options it has; it says so with status 1."""
        return [
            run_order(
                0, "options", [bench.tuning.program(PROGRAM), "--help"], seconds=30.0, env=bench.tuning.environment
            )
        ]

    def refusal(self, _bench: Bench, _results: Results) -> Refusal | None:
        """Every version can measure."""
        return None

    def pairs(self, bench: Bench, groups: Sequence[RailGroup], label: str) -> Work:
        """Measure one way in one wave, the other in the next."""
        waves = [
            [order for group in groups for order in self._one_way(bench, group, label, way)]
            for way in ("forward", "reverse")
        ]

        def read(results: Results) -> list[Measured]:
            return [_measured(bench, group, label, results) for group in groups]

        return Work(waves=waves, read=read)

    def gang(self, _bench: Bench, _groups: Sequence[RailGroup]) -> Work | None:
        """Return None: there is no collective."""
        return None

    def _one_way(self, bench: Bench, group: RailGroup, label: str, way: str) -> list[Order]:
        writer, listener = group.ranks if way == "forward" else group.ranks[::-1]
        seconds = max(_SHORTEST, math.ceil(bench.seconds))
        size = min(bench.tuning.bytes, LARGEST_WRITE)
        words = [
            bench.tuning.program(PROGRAM),
            "-d",
            bench.tuning.devices[group.rail],
            "-p",
            str(FIRST_PORT + group.rail),
        ]
        words += ["-s", str(size), "-D", str(seconds), "-F", "--report_gbits"]
        file = ["--out_json", f"--out_json_file={RESULT}"] if _writes_json(bench) else []
        limit, env = seconds + _AROUND_SECONDS, bench.tuning.environment
        task = _task(label, group, way)
        return [
            run_order(listener, f"{task} listening", words, seconds=limit, env=env),
            run_order(
                writer,
                task,
                # Where the two agree on their queue pairs; the traffic itself follows the device.
                [*words, *file, bench.hosts[listener]],
                seconds=limit,
                env=env,
                keep=RESULT if file else "",
                again_s=_CONNECT_SECONDS,
            ),
        ]


def _task(label: str, group: RailGroup, way: str) -> str:
    return f"{label} {'-'.join(map(str, group.ranks))} rail {group.rail} {way}"


def _writes_json(bench: Bench) -> bool:
    said = bench.prepared.get((0, "options"), {}).get("output")
    return isinstance(said, str) and "--out_json_file" in said


def _measured(bench: Bench, group: RailGroup, label: str, results: Results) -> Measured:
    rates = []
    for way, writer in (("forward", group.ranks[0]), ("reverse", group.ranks[1])):
        task = _task(label, group, way)
        where = f"{bench.names[writer]} rail {group.rail} -> {bench.names[group.ranks[1 - group.ranks.index(writer)]]}"
        rate = _rate(results, writer, task, where)
        if isinstance(rate, Missing):
            return rate
        rates.append(rate)
    return Rates(forward=rates[0], reverse=rates[1], bytes=min(bench.tuning.bytes, LARGEST_WRITE))


def _rate(results: Results, writer: int, task: str, where: str) -> float | Missing:
    result = results.get((writer, task))
    text = output_of(result, where)
    if isinstance(text, Missing):
        return text
    rate = parse_text(text)
    if rate is None or rate <= 0:
        return Missing(reason=Reason.MALFORMED, where=where, detail="its table is not whole")
    told = parse_json(str((result or {}).get("file", "")))
    if told is not None and abs(told * _UNIT["Gb"] - rate) > _AGREE:
        return Missing(reason=Reason.MALFORMED, where=where, detail=f"its table and its {RESULT} do not say the same")
    return rate


BENCHMARK = Perftest()
