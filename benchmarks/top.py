"""What `netkit top` costs: eight RoCE NICs of a made-up machine on real files, 700 driver statistics each."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from netkit.cli.top import drawn
from netkit.doctor.context import Wishes, context_of
from netkit.doctor.live import pulse_of, rates
from netkit.lab.virtual_node import virtual_sources
from netkit.model.missing import Missing
from netkit.model.pulse import Pulse
from netkit.report import top_table
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.netlink.kernel import Answer, Kernel, Question
from netkit.sources.node_sources import NodeSources
from netkit.sources.pulse import PulseReader
from netkit.sources.snapshot import read_node
from netkit.sources.tree import LiveTree

_STATISTICS = 700
"""As many as an mlx5 interface with 32 queues names."""


class _Wordy:
    """A kernel whose drivers name as many statistics as real ones do."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._more = tuple(f"rx{number}_packets: {number}".encode() for number in range(_STATISTICS))

    def ask(self, question: Question) -> Answer | Missing:
        """Answer with the made-up driver's statistics, and more of them."""
        answer = self._kernel.ask(question)
        if isinstance(answer, Missing) or "ethtool -S" not in question.where:
            return answer
        return Answer(bodies=(*answer.bodies, *self._more)[:_STATISTICS])


def main() -> None:
    """Read and draw once a second, and print how much of one core it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readings", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="accepted as of every benchmark")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"benchmark": "top", **measured(Path(folder), wanted.readings)}))


def measured(folder: Path, readings: int) -> dict[str, float]:
    """Return the processor seconds of one reading with its drawing, as a share of the second between two."""
    made_up = virtual_sources("n0")
    assert made_up.kernel is not None
    assert isinstance(made_up.tree, MemoryTree)
    write_out(made_up.tree, folder)
    tree = LiveTree({"sys": folder / "sys", "proc": folder / "proc"})
    sources = NodeSources(tree=tree, kernel=_Wordy(made_up.kernel), drivers=made_up.drivers)
    node = read_node(tree, 0.0, kernel=sources.kernel, drivers=sources.drivers)
    reader = PulseReader(sources, pulse_of(node, context_of(node, Wishes())))
    before = reader.read(time.monotonic())
    draw(reader, before)
    start = time.process_time()
    for _ in range(readings):
        time.sleep(0.05)
        draw(reader, before)
    spent = (time.process_time() - start) / readings
    return {
        "nics": 8,
        "statistics_each": _STATISTICS,
        "cpu_seconds_a_reading": round(spent, 4),
        "core_share_at_1s": spent,
    }


def write_out(tree: MemoryTree, folder: Path) -> None:
    """Write a machine made up in memory as files and links, so that reading them costs what reading costs."""
    for path, content in tree._files.items():  # noqa: SLF001 - nobody but a benchmark wants the files back
        if isinstance(content, bytes):
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    for path, target in tree._links.items():  # noqa: SLF001
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)


def draw(reader: PulseReader, before: Pulse) -> None:
    """Read once and draw the table as a terminal shows it."""
    after = reader.read(time.monotonic())
    rows = rates(before, after, 0.01)
    drawn(tuple(top_table.blocks(rows, 1.0)), width=240)


if __name__ == "__main__":
    main()
