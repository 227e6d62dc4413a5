"""What a scrape of RDMA counters costs, beside node_exporter, on the same tree of files.

    python -m benchmarks.exporter --tree DIR --peer PATH --scrapes 1000 --json

DIR is a sysfs, or the content of one /sys/class/infiniband. Both exporters run at the same time and are scraped in
alternating blocks over one kept connection each, at the pace of our refresh, so that every scrape of ours pays for a
reading of its own; the count of refreshes is printed beside. Processor time is user plus system time of the process.
Files on a disk answer at once: what a firmware takes to answer is not in these figures.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from netkit import __version__

BLOCKS = 10
START_SECONDS = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")
_SERIES = re.compile(rb"^[^#\n].*$", re.MULTILINE)
_REFRESHES = re.compile(rb"^netkit_exporter_refreshes_total ([0-9.e+]+)$", re.MULTILINE)


@dataclass(slots=True, kw_only=True)
class Side:
    """One of the two exporters."""

    name: str
    process: subprocess.Popen[bytes]
    connection: http.client.HTTPConnection
    gzip: bool
    families: str
    """Prefix of the names that describe the tree."""
    cpu_seconds: float = 0.0
    seconds: list[float] = field(default_factory=list)
    refreshes: int = 0

    def scrape(self) -> bytes:
        """Return one body as it came over the connection."""
        begun = time.perf_counter()
        self.connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"} if self.gzip else {})
        answer = self.connection.getresponse()
        body = answer.read()
        self.seconds.append(time.perf_counter() - begun)
        if answer.status != 200:
            sys.exit(f"benchmarks.exporter: {self.name} answered {answer.status}")
        return body

    def block(self, scrapes: int, interval: float) -> None:
        """Scrape at a pace, and count what that costs the exporter."""
        before, rounds = cpu_seconds(self.process.pid), self.rounds()
        due = time.perf_counter()
        for _ in range(scrapes):
            due += interval
            time.sleep(max(0.0, due - time.perf_counter()))
            self.scrape()
        self.cpu_seconds += cpu_seconds(self.process.pid) - before
        self.refreshes += self.rounds() - rounds

    def plain(self) -> bytes:
        """Return one body without compression, outside the figures."""
        self.connection.request("GET", "/metrics")
        return self.connection.getresponse().read()

    def rounds(self) -> int:
        """Return how often our exporter has read; 0 for the peer, which reads at each scrape."""
        found = _REFRESHES.search(self.plain())
        return int(float(found[1])) if found else 0

    def figures(self) -> dict[str, object]:
        """Return what was measured."""
        body = self.plain()
        ordered = sorted(self.seconds)
        described = [line for line in _SERIES.findall(body) if line.startswith(self.families.encode())]
        per_refresh = self.cpu_seconds / self.refreshes if self.refreshes else None
        return {
            "exporter": self.name,
            "cpu_ms_per_scrape": round(1000 * self.cpu_seconds / len(self.seconds), 3),
            "cpu_ms_per_refresh": round(1000 * per_refresh, 3) if per_refresh is not None else None,
            "refreshes": self.refreshes or None,
            "scrapes": len(self.seconds),
            "series_of_tree": len(described),
            "series": len(_SERIES.findall(body)),
            "bytes": len(body),
            "p50_ms": round(1000 * statistics.median(ordered), 3),
            "p99_ms": round(1000 * ordered[int(0.99 * (len(ordered) - 1))], 3),
            "resident_mb": round(resident_bytes(self.process.pid) / 1e6, 1),
        }


def cpu_seconds(process: int) -> float:
    """Return user and system time of a process: proc(5), fields 14 and 15 of stat."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def free_port() -> int:
    """Return a port nobody uses at present."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        return int(opened.getsockname()[1])


@contextmanager
def sysfs(tree: Path) -> Iterator[Path]:
    """Give a sysfs: the tree itself, or a temporary one around the devices of /sys/class/infiniband."""
    if (tree / "class" / "infiniband").is_dir():
        yield tree
        return
    if not any(tree.glob("*/ports")):
        sys.exit(f"benchmarks.exporter: --tree {tree}: accepted is a sysfs, or the content of a class/infiniband")
    with tempfile.TemporaryDirectory() as made:
        shutil.copytree(tree, Path(made, "class", "infiniband"), symlinks=True)
        yield Path(made)


@contextmanager
def started(name: str, arguments: Sequence[str], port: int, gzip: bool, families: str) -> Iterator[Side]:
    """Run an exporter until the block ends."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_port(process, name, port)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        yield Side(name=name, process=process, connection=connection, gzip=gzip, families=families)
        connection.close()
    finally:
        process.terminate()
        process.wait(10)


def await_port(process: subprocess.Popen[bytes], name: str, port: int) -> None:
    """Wait until somebody listens."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    sys.exit(f"benchmarks.exporter: {name} does not listen (status {process.poll()})")


def our_command(sys_folder: Path, port: int, refresh_ms: int) -> list[str]:
    """Return how our exporter is started."""
    reading = ["--collectors", "rdma", "--sysfs", str(sys_folder), "--refresh", f"{refresh_ms}ms"]
    return [sys.executable, "-m", "netkit_exporters", "serve", "--listen", f"127.0.0.1:{port}", *reading]


def peer_command(peer: str, sys_folder: Path, port: int) -> list[str]:
    """Return how node_exporter is started, with its InfiniBand collector alone."""
    alone = ["--collector.disable-defaults", "--collector.infiniband", "--web.disable-exporter-metrics"]
    return [peer, *alone, f"--path.sysfs={sys_folder}", f"--web.listen-address=127.0.0.1:{port}"]


def version_of(peer: str) -> str:
    """Return what the peer calls itself; one built by `go install` knows its version only as a module."""
    said = subprocess.run([peer, "--version"], check=False, capture_output=True, text=True)
    known = re.search(r"version (\d\S*)", said.stdout + said.stderr)
    if known:
        return known[1]
    if shutil.which("go") is None:
        return "unknown"
    built = subprocess.run(["go", "version", "-m", peer], check=False, capture_output=True, text=True).stdout
    module = re.search(r"node_exporter\t(v\S+)", built)
    return module[1] if module else "unknown"


def compare(asked: argparse.Namespace) -> dict[str, object]:
    """Scrape both in turn and return the figures."""
    with ExitStack() as stack:
        folder = stack.enter_context(sysfs(asked.tree))
        port, peer_port = free_port(), free_port()
        ours = stack.enter_context(
            started("netkit", our_command(folder, port, asked.refresh_ms), port, asked.gzip, "netkit_rdma_")
        )
        theirs = stack.enter_context(
            started("peer", peer_command(asked.peer, folder, peer_port), peer_port, asked.gzip, "node_infiniband_")
        )
        for side in (ours, theirs):
            side.plain()
        for _ in range(BLOCKS):
            for side in (ours, theirs):
                side.block(max(1, asked.scrapes // BLOCKS), asked.refresh_ms / 1000)
        figures, peer_figures = ours.figures(), theirs.figures()
    return {
        "benchmark": "exporter",
        "versions": {
            "netkit": __version__,
            "python": platform.python_version(),
            "node_exporter": version_of(asked.peer),
            "kernel": platform.release(),
        },
        "gzip": asked.gzip,
        "netkit": figures,
        "peer": peer_figures,
        "ratio": round(ours.cpu_seconds / theirs.cpu_seconds, 3) if theirs.cpu_seconds else None,
    }


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--peer", required=True, help="node_exporter 1.11 or newer")
    parser.add_argument("--scrapes", type=int, default=1000)
    parser.add_argument("--refresh-ms", type=int, default=25, help="our refresh, and the pace of the scrapes")
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if shutil.which(asked.peer) is None:
        sys.exit(f"benchmarks.exporter: --peer {asked.peer}: accepted is a program that can be started")
    found = compare(asked)
    if asked.json:
        print(json.dumps(found))
        return
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
