"""Does the exporter grow? Scrapes as fast as they go while every refresh gives new label sets.

    python -m benchmarks.exporter_soak --seconds 60 --json

A made-up collector gives 300 series whose pod names are new at every refresh (20 a second). wrk drives 8 connections;
resident memory and descriptors are read 20 times after a warm-up, and the slope is a least-squares fit over them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.exporter import await_port, free_port, resident_bytes
from benchmarks.exporter_load import scrape

WINDOWS = 20
WARM_UP_SECONDS = 5
_CHURNING = """
import itertools, sys
from netkit.catalogue.metrics import Kind, Metric
from netkit_exporters import discovery
from netkit_exporters.collecting import Collector, Reading, Sample
UP = Metric(name="netkit_pod_up", kind=Kind.GAUGE, help="1.", collector="pods_of_soak", labels=("pod",))
numbers = itertools.count()
class Pods:
    key = "pods"
    def read(self):
        return Reading(samples=[Sample(UP, (f"pod-{next(numbers)}",), 1.0) for _ in range(300)])
class Source:
    def targets(self):
        return (pods,)
    def close(self):
        pass
pods = Pods()
soak = Collector(id="pods_of_soak", question="?", open=lambda _: Source(), metrics=(UP,))
discovery.collectors = lambda: (soak,)
from netkit_exporters.command import COMMANDS
COMMANDS["serve"](sys.argv[1:])
"""


def descriptors(process: int) -> int:
    """Return how many descriptors a process has open."""
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


def answered(port: int) -> int:
    """Return how many requests the exporter counted as answered well."""
    _, body = scrape(port)
    found = [line for line in body.splitlines() if line.startswith(b'netkit_http_requests_total{code="200"}')]
    return int(float(found[0].split()[-1])) if found else 0


def soak(seconds: int) -> dict[str, object]:
    """Scrape for some time and return what grew."""
    port = free_port()
    command = [sys.executable, "-c", _CHURNING, "--listen", f"127.0.0.1:{port}", "--refresh", "50ms"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        await_port(process, "netkit", port)
        load = ["wrk", "-t1", "-c8", f"-d{seconds + WARM_UP_SECONDS}s", f"http://127.0.0.1:{port}/metrics"]
        idle = descriptors(process.pid)
        with subprocess.Popen(load, stdout=subprocess.DEVNULL) as driver:
            time.sleep(WARM_UP_SECONDS)
            before = answered(port)
            seen = []
            for _ in range(WINDOWS):
                time.sleep(seconds / WINDOWS)
                seen.append((answered(port), resident_bytes(process.pid)))
            driver.wait()
        time.sleep(1)
        slope = statistics.linear_regression([count for count, _ in seen], [size for _, size in seen]).slope
        return {
            "benchmark": "exporter_soak",
            "scrapes": seen[-1][0] - before,
            "label_sets": 300 * 20 * seconds,
            "resident_mb_first": round(seen[0][1] / 1e6, 2),
            "resident_mb_last": round(seen[-1][1] / 1e6, 2),
            "growth_kib_per_million_scrapes": round(slope * 1e6 / 1024),
            "descriptors_more": descriptors(process.pid) - idle,
        }
    finally:
        process.terminate()
        process.wait(10)


def main() -> None:
    """Soak and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("benchmarks.exporter_soak: wrk is missing (Debian package wrk)")
    print(json.dumps(soak(asked.seconds), indent=None if asked.json else 2))


if __name__ == "__main__":
    main()
