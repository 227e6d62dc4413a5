"""Which rank of a run used which network, and how long each took: what a log says of ranks one by one.

Lines read: `#  Rank …` of nccl-tests (`writeDeviceReport` in `src/util.cu`), and NCCL_DEBUG=INFO lines, which begin
with `host:pid:tid`; and `per_process_max_times_us` of the file that `-I 1 -J` writes, since nccl-tests 2.19.2.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netkit.model.collective import Placement
from netkit.model.text import visible
from netkit.probe.nccl_log.lines import whole_lines
from netkit.probe.nccl_log.preamble import Connections

_RANK = re.compile(
    r"#\s+Rank\s+(?P<rank>[0-9]{1,7}) (?:Group\s+(?P<group>[0-9]{1,7}) )?Pid\s+(?P<pid>[0-9]{1,10})"
    r" on\s+(?P<host>\S{1,255}) device"
)
_SPEAKER = re.compile(r"\s*(?P<host>[A-Za-z0-9][A-Za-z0-9_.-]{0,254}):(?P<pid>[0-9]{1,10}):[0-9]{1,10} \[")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLines:
    """One rank of a run: the host it names, its group, and the networks its NCCL says that it used."""

    host: str
    group: int
    networks: frozenset[str]


def ranks_of(text: str) -> dict[int, RankLines]:
    """Return what a log says of each rank of the run in it; of several runs, of the last."""
    listed: dict[int, re.Match[str]] = {}
    spoken: dict[tuple[str, str], Connections] = {}
    for line in whole_lines(text):
        if match := _RANK.match(line):
            listed[int(match["rank"])] = match
        elif match := _SPEAKER.match(line):
            spoken.setdefault((match["host"], match["pid"]), Connections()).read(line)
    return {
        rank: RankLines(
            host=visible(match["host"], 255),
            group=int(match["group"] or 0),
            networks=frozenset(spoken.get((match["host"], match["pid"]), Connections()).networks),
        )
        for rank, match in listed.items()
    }


def process_times(text: str, size: int, processes: int, placement: Placement) -> tuple[tuple[float, ...], ...] | None:
    """Return the seconds of every iteration of every process for one size; None when not all are there.

    `text` is the JSON document; whether it is whole and its data right is for `read_json` to say.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    rows = document.get("results") if isinstance(document, dict) else None
    found = [row for row in rows or () if isinstance(row, dict) and row.get("size") == size]
    if len(found) != 1:
        return None
    times = _table(found[0].get(f"{placement}_per_iter"))
    whole = len(times) == processes and len({len(row) for row in times}) == 1 and all(times)
    return times if whole else None


def _table(timing: object) -> tuple[tuple[float, ...], ...]:
    rows = timing.get("per_process_max_times_us") if isinstance(timing, Mapping) else None
    if not isinstance(rows, list) or not all(isinstance(row, list) and all(map(_is_time, row)) for row in rows):
        return ()
    return tuple(tuple(value * 1e-6 for value in row) for row in rows)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
