"""What one fault does to a node's files: counters that grow, values that change, records in the kernel log.

Only physical consequences stand here, as a driver or a switch would cause them; nothing knows a threshold of a rule or
a predicate of a playbook. Everything is undone by `end`, save what a kernel log and a counter keep.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.drills.node import Node

_GPUS_A_NODE = 8
_SIZE = 1 << 30
_HEAD = f"""# nccl-tests version 2.18.3 nccl-headers=22907 nccl-library=22907
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes {_SIZE} maxBytes {_SIZE} step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 \
validation: 1 graph: 0
#
# Using devices
"""
_COLUMNS = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""
Act = Callable[[Node], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A result somebody writes into the node's folder of results."""

    name: str
    text: str
    age: float = 0.0
    """Seconds since it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault on the first NIC or GPU of a node, unless its paths say otherwise."""

    grows: Mapping[str, float] = field(default_factory=dict)
    """Growth a second, by path of `Node.moves`."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Text of files of sysfs."""
    absent: tuple[str, ...] = ()
    """Files, links and folders that go away."""
    log: tuple[str, ...] = ()
    """Records of the kernel log."""
    nvml: Mapping[str, Any] = field(default_factory=dict)
    """What NVML says of GPU 0 in place of what it said."""
    results: tuple[File, ...] = ()
    """Results of probes while it lasts."""
    healthy_results: tuple[File, ...] = ()
    """What the same probes gave before, and give afterwards."""
    repeats: bool = False
    """Whether results are written anew on every call of `go_on`, as of a probe that fails again and again."""
    begins: Act = lambda _node: None
    ends: Act = lambda _node: None


@dataclass(slots=True)
class Injection:
    """A fault on a node, from `begin` to `end`."""

    node: Node
    fault: Fault
    _before: dict[str, str] = field(default_factory=dict)
    _nvml: dict[str, Any] = field(default_factory=dict)
    _moved: dict[str, float] = field(default_factory=dict)

    def prepare(self) -> None:
        """Give every counter of the fault its place before it moves, and the probe its healthy result."""
        for path in self.fault.grows:
            self.node.count(path)
        self._write(self.fault.healthy_results)

    def begin(self) -> None:
        """Let it happen."""
        node, fault = self.node, self.fault
        for path, rate in fault.grows.items():
            self._moved[path] = node.moves.get(path, 0.0)
            node.moves[path] = rate
        for path, text in fault.values.items():
            self._before[path] = (node.place / path).read_text().rstrip("\n")
            node.set(path, text)
        for path in fault.absent:
            (node.place / path).rename(self._aside(path))
        for line in fault.log:
            node.log(line)
        for key, value in fault.nvml.items():
            self._nvml[key] = node.gpu(0)[key]
            node.gpu(0)[key] = value
        fault.begins(node)
        self._write(fault.results)

    def go_on(self) -> None:
        """Write the results of a fault that repeats once more."""
        if self.fault.repeats:
            self._write(self.fault.results)

    def end(self) -> None:
        """Mend what it broke."""
        node, fault = self.node, self.fault
        for path in fault.grows:
            node.moves[path] = self._moved[path]
        for path, text in self._before.items():
            node.set(path, text)
        for path in fault.absent:
            with suppress(FileNotFoundError):
                self._aside(path).rename(node.place / path)
        node.gpu(0).update(self._nvml)
        fault.ends(node)
        self._write(fault.healthy_results)

    def _write(self, files: Iterable[File]) -> None:
        for file in files:
            write_result(self.node, file)

    def _aside(self, path: str) -> Path:
        folder = self.node.place / "aside"
        folder.mkdir(exist_ok=True)
        return folder / path.replace("/", "_")


def write_result(node: Node, file: File) -> None:
    """Put a result where the exporter looks; a writer renames, so that nobody reads half of it."""
    place = node.place / "results" / file.name
    new = node.place / f".{file.name}.new"
    new.write_text(file.text)
    written = time.time() - file.age
    os.utime(new, (written, written))
    new.replace(place)


def benchmark_log(busbw: float, *, nodes: int = 2, transport: str = "IB", cut: bool = False) -> str:
    """Return the log of an all-reduce over whole nodes of eight GPUs, as nccl-tests prints it; `busbw` in GB/s.

    A log that is `cut` ends where the table would have its row.
    """
    ranks = _GPUS_A_NODE * nodes
    seconds = _SIZE * 2 * (ranks - 1) / ranks / (busbw * 1e9)
    half = f"{seconds * 1e6:7.1f}  {_SIZE / seconds / 1e9:6.2f}  {busbw:6.2f}  {0:6d}"
    using = (
        f"#  Rank {rank:2d} Group  0 Pid {4000 + rank:6d} on    node-{rank // _GPUS_A_NODE:02d}"
        f" device {rank % _GPUS_A_NODE:2d} [0000:{0x10 + rank % _GPUS_A_NODE:02x}:00] Synthetic GPU\n"
        for rank in range(ranks)
    )
    row = f"{_SIZE:12d}  {_SIZE // 4:12d}  {'float':>8}  {'sum':>6}  {-1:6d}  {half}  {half}\n"
    end = f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {busbw:g}\n#\n"
    head = _HEAD + "".join(using) + f"#\nnode-00:4000:4011 [0] NCCL INFO Using network {transport}\n" + _COLUMNS
    return head if cut else head + row + end


def probe_document(name: str, *findings: Mapping[str, object]) -> str:
    """Return what `netkit probe --output json` writes of a probe of this name."""
    verdict = "slow" if findings else "healthy"
    document = {"schema": "netkit.probe/1", "name": name, "verdict": verdict, "findings": list(findings)}
    return json.dumps(document | {"smallest_detectable_slowdown": 0.05})
