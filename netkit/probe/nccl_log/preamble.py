"""What a run says of itself before its table: program, sizes, ranks, hosts, versions; and how NCCL connected.

The lines are those of `writeDeviceReport` in NVIDIA nccl-tests `src/util.cu` (older: `src/common.cu`) and of
NCCL_DEBUG=INFO. The environment, which may hold secrets, is never looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import count as count_from
from typing import NamedTuple

from netkit.model.collective import Collective
from netkit.model.text import visible
from netkit.probe.nccl_log.operation import collective_of

_VERSION = re.compile(
    r"#? ?(?:nccl|rccl)-tests(?: version |: Version )(?P<tool>\S{1,60})(?:.* nccl-library=(?P<code>[0-9]{4,6}))?"
)
_PROGRAM = re.compile(r"# Collective test starting: (?P<program>\S.{0,400})")
_SWEEP = re.compile(
    r"# nThread [0-9]+ nGpus [0-9]+ minBytes (?P<low>[0-9]{1,15}) maxBytes (?P<high>[0-9]{1,15})"
    r" step: (?P<step>[0-9]{1,15})\((?P<unit>factor|bytes)\)"
)
_REDUCED = re.compile(r"# Reducing maxBytes to (?P<high>[0-9]{1,15})\b")
_RANK = re.compile(
    r"#\s+Rank\s+(?P<rank>[0-9]{1,7}) (?:Group\s+(?P<group>[0-9]{1,7}) )?Pid\s+[0-9]+ on\s+(?P<host>\S{1,255})"
    r" device\s+(?P<index>[0-9]{1,5}) \[(?P<device>[0-9A-Fa-fx:.]{2,20})\]"
)
_LIBRARY = re.compile(r"(?:.*NCCL INFO )?NCCL version (?P<version>[0-9]+\.[0-9]+\.[0-9]+)")
_NETWORK = re.compile(r"[A-Za-z][A-Za-z0-9_ .-]{0,40}")


class Sweep(NamedTuple):
    """The loop over sizes, in bytes: from `low` to `high`, by a factor or by a difference."""

    low: int
    high: int
    step: int
    by_factor: bool

    @property
    def length(self) -> int | None:
        """How many sizes the loop passes; None where it would not end."""
        low = min(self.low, self.high)
        if not self.by_factor:
            return (self.high - low) // self.step + 1 if self.step else None
        if low < 1 or self.step < 2:
            return None
        return next(count for count in count_from(1) if low * self.step**count > self.high)


@dataclass(slots=True)
class Preamble:
    """Facts gathered line by line until the table starts."""

    tool_version: str | None = None
    nccl_version: str | None = None
    program: str | None = None
    ranks: list[tuple[int, int]] = field(default_factory=list)
    devices: list[tuple[str, str, str]] = field(default_factory=list)
    _sweep: Sweep | None = None

    def read(self, line: str) -> bool:
        """Take in one line; return whether it was one that nccl-tests writes."""
        if match := _RANK.match(line):
            self.ranks.append((int(match["group"] or 0), int(match["rank"])))
            self.devices.append((visible(match["host"]), match["index"], match["device"]))
        elif match := _SWEEP.match(line):
            self._sweep = Sweep(int(match["low"]), int(match["high"]), int(match["step"]), match["unit"] == "factor")
        elif match := _VERSION.match(line):
            self.tool_version = visible(match["tool"])
            self.nccl_version = version_of_code(match["code"]) or self.nccl_version
        elif match := _PROGRAM.match(line):
            self.program = visible(match["program"])
        elif (match := _REDUCED.match(line)) and self._sweep:
            self._sweep = self._sweep._replace(high=int(match["high"]))
        else:
            return False
        return True

    @property
    def sizes(self) -> int | None:
        """How many sizes one pass has; None when nobody said."""
        return self._sweep.length if self._sweep else None

    @property
    def collective(self) -> Collective | None:
        """The operation the program's name says, None without a name or for a name netkit does not know."""
        return collective_of(self.program) if self.program else None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names in rank order, each once."""
        return tuple(dict.fromkeys(host for host, _, _ in self.devices))

    @property
    def nodes(self) -> int | None:
        """How many hosts; None when one device shows twice, so that names or devices are shared."""
        return len(self.hosts) if self.devices and len(set(self.devices)) == len(self.devices) else None

    @property
    def group_ranks(self) -> int | None:
        """Ranks that took part in one operation; None when the list is not whole or the groups differ."""
        sizes = set(Counter(group for group, _ in self.ranks).values())
        return sizes.pop() if len(sizes) == 1 and self.rank_problem is None else None

    @property
    def rank_problem(self) -> str | None:
        """Say what is wrong with the list of ranks, if anything."""
        numbers = [rank for _, rank in self.ranks]
        if len(set(numbers)) != len(numbers):
            return "one rank is listed more than once: several runs, or a benchmark built without MPI, share this log"
        if numbers and max(numbers) != len(numbers) - 1:
            return f"the list of ranks has gaps: {len(numbers)} of {max(numbers) + 1}"
        return None


@dataclass(slots=True)
class Connections:
    """What NCCL_DEBUG=INFO lines of any rank say about versions and networks."""

    nccl_version: str | None = None
    networks: set[str] = field(default_factory=set)

    def read(self, line: str) -> None:
        """Take in one line if it is NCCL's."""
        if "NCCL" not in line:
            return
        # "Using network" is what NCCL settled on; a line that begins with NET/IB may say that it found no device.
        for mark, end in (("Using network ", None), (" via NET/", "/")):
            _, found, rest = line.rpartition(mark)
            if found and "NCCL INFO " in line and (match := _NETWORK.match(rest.split(end)[0] if end else rest)):
                self.networks.add(match[0].strip())
        if match := _LIBRARY.match(line):
            self.nccl_version = match["version"]

    @property
    def transport(self) -> str | None:
        """The network every rank used; None when nobody said or ranks differ."""
        return next(iter(self.networks)) if len(self.networks) == 1 else None


def version_of_code(code: int | str | None) -> str | None:
    """22907 → 2.29.7, 2708 → 2.7.8: NCCL_VERSION of nccl.h, which changed its base at 2.9."""
    if code is None or not 1000 <= int(code) < 1_000_000:
        return None
    major, rest = divmod(int(code), 10_000 if int(code) >= 10_000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"
