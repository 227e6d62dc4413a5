"""Real exporters of made-up nodes: `python -m benchmarks.drills.exporter REFRESH FOLDER=PORT[=PLATFORM] …`.

One process each, forked from one that has imported everything, which is what starting fifty of them costs most; the
number of each is written to its folder, and all of them end with this one's input.

Sysfs, procfs and the kernel log are the folder's; what netlink and NVML would say is made up too, the counts in it read
from the folder each time (`benchmarks.drills.node`). Everything else is netkit-exporter as it is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from netkit.lab.virtual_drivers import virtual_drivers
from netkit.lab.virtual_kernel import VirtualKernel
from netkit.lab.virtual_layout import VirtualGpu, VirtualNic, gpus, nics
from netkit.model.missing import Missing
from netkit.sources.drivers import RecordedDrivers
from netkit.sources.netlink.kernel import Answer, Channel, Question, refused
from netkit.sources.nvml.values import Plain
from netkit.sources.tree import LiveTree
from netkit_exporters import discovery
from netkit_exporters.collecting import Machine
from netkit_exporters.exporter import serve
from netkit_exporters.options import Options, address, refresh

PROCESS = "exporter.pid"
HANGS = "hangs"
"""A file of this name beside an interface's statistics: its driver does not answer."""
_PATIENCE_SECONDS = 0.2


class MovingKernel:
    """Netlink of a virtual node; `ethtool -S` says what the folder says, RDMA statistics are left to sysfs."""

    def __init__(self, folder: Path, cards: tuple[VirtualNic, ...], there: tuple[VirtualGpu, ...]) -> None:
        self._folder = folder
        self._kernel = VirtualKernel(cards, there)

    def ask(self, question: Question) -> Answer | Missing:
        """Return the answer about one port, or the list of all."""
        if question.where.startswith("rdma statistics"):
            return refused(question.where, "EOPNOTSUPP")
        if question.channel is not Channel.DRIVER_STATISTICS:
            return self._kernel.ask(question)
        sheet = self._folder / "ethtool" / question.body.decode()
        while sheet.with_name(HANGS).exists():
            time.sleep(_PATIENCE_SECONDS)
        return Answer(bodies=tuple(sheet.read_bytes().splitlines()))


class MovingDrivers(RecordedDrivers):
    """The GPUs' driver of a virtual node, with the counts of the folder."""

    def __init__(self, folder: Path, cards: tuple[VirtualNic, ...], there: tuple[VirtualGpu, ...]) -> None:
        super().__init__(virtual_drivers(there, cards).rows())
        self._answer = folder / "nvml.json"

    def nvml(self) -> Plain | Missing:
        """Return what NVML's child would."""
        answer: Plain = json.loads(self._answer.read_bytes())
        return answer


def machine_in(folder: Path, options: Mapping[str, str]) -> Machine:
    """Return the node of a folder."""
    count = len(list((folder / "sys/class/net").iterdir()))
    cards, there = nics(folder.name)[:count], gpus()[:count]
    roots = {"sys": folder / "sys", "proc": folder / "proc", "kmsg": folder / "kmsg"}
    return Machine(
        tree=LiveTree(roots),
        open_kernel=lambda: MovingKernel(folder, cards, there),
        open_drivers=lambda: MovingDrivers(folder, cards, there),
        roots={name: str(roots[name]) for name in ("sys", "proc")},
        options=options,
    )


def serve_node(place: Path, port: str, pace: str, platform: str) -> NoReturn:
    """Serve one node until a signal ends the process."""
    told = {"nccl_results": str(place / "results"), **({"platform": platform} if platform else {})}
    options = Options(listen=(address(f"127.0.0.1:{port}"),), refresh_seconds=refresh(pace), for_collectors=told)
    serve(options, machine_in(place, told))


def main() -> None:
    """Start an exporter for each node named, and wait until nobody needs them."""
    pace, *nodes = sys.argv[1:]
    discovery.chosen(None, ())
    children = []
    for node in nodes:
        folder, port, platform = (*node.split("="), "")[:3]
        child = os.fork()
        if child == 0:
            sys.stdin.close()
            serve_node(Path(folder), port, pace, platform)
        (Path(folder) / PROCESS).write_text(str(child))
        children.append(child)
    sys.stdin.read()
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
