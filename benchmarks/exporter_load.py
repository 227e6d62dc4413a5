"""How the exporter's web server bears load: many clients, and half-open connections; also its start and its memory.

    python -m benchmarks.exporter_load --json

A tree of 16 made-up ports with 130 counters each is exported (over 2,000 series). wrk drives 40 and then 200 kept
connections; then 1,100 requests that never end are held against a server with 1,024 descriptors while it is scraped.
Clients run on the same machine and take their share of it.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.exporter import await_port, free_port, our_command, resident_bytes

PORTS, COUNTERS = 16, 130
HALF_OPEN, DESCRIPTORS = 1100, 1024
REFRESH_MS = 5000
STARTS = 3
_RATE = re.compile(r"Requests/sec:\s+([0-9.]+)")
_P99 = re.compile(r"99%\s+([0-9.]+)(us|ms|s)")
_BAD = re.compile(r"Non-2xx or 3xx responses: (\d+)")
_SOCKET = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


def made_up_tree(folder: Path) -> Path:
    """Write a sysfs of ports whose counters are all alike."""
    for number in range(PORTS):
        port = folder / "class" / "infiniband" / f"mlx5_{number}" / "ports" / "1"
        (port / "hw_counters").mkdir(parents=True)
        (port / "state").write_text("4: ACTIVE\n")
        for counter in range(COUNTERS):
            (port / "hw_counters" / f"made_up_{counter}").write_text(f"{123456789 * (counter + 1)}\n")
    return folder


@contextmanager
def exporter(tree: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, float]]:
    """Run the exporter with few descriptors; give its port and the seconds from start to first answer."""
    port, begun = free_port(), time.perf_counter()
    process = subprocess.Popen(
        our_command(tree, port, REFRESH_MS),
        stderr=subprocess.DEVNULL,
        preexec_fn=_few_descriptors,  # noqa: PLW1509 - no other thread runs here
    )
    try:
        await_port(process, "netkit", port)
        scrape(port)
        yield process, port, time.perf_counter() - begun
    finally:
        process.terminate()
        process.wait(10)


def _few_descriptors() -> None:
    # The tree's own descriptors come on top: a kept one for each counter.
    limit = DESCRIPTORS + PORTS * (COUNTERS + 8)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def scrape(port: int, timeout: float = 10.0) -> tuple[float, bytes]:
    """Return the seconds and the bytes of one scrape over a connection of its own; b"" when it failed."""
    begun, data = time.perf_counter(), b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
            while part := client.recv(1 << 18):
                data += part
    except OSError:
        data = b""
    return time.perf_counter() - begun, data if data.startswith(b"HTTP/1.1 200") else b""


def driven(port: int, clients: int, seconds: int) -> dict[str, object]:
    """Return what wrk measured."""
    said = subprocess.run(
        ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{port}/metrics"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rate, p99, bad, errors = _RATE.search(said), _P99.search(said), _BAD.search(said), _SOCKET.search(said)
    assert rate is not None
    assert p99 is not None
    return {
        "clients": clients,
        "scrapes_per_s": round(float(rate[1])),
        "p99_ms": round(float(p99[1]) * _MS[p99[2]], 1),
        "not_200": int(bad[1]) if bad else 0,
        "socket_errors": sum(map(int, errors.groups())) if errors else 0,
    }


def half_open(port: int) -> dict[str, object]:
    """Hold requests that never end, and scrape meanwhile."""
    held: list[socket.socket] = []
    times: list[float] = []
    failed = 0
    for number in range(HALF_OPEN):
        client = socket.create_connection(("127.0.0.1", port), 10)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost:")
        held.append(client)
        if number % 100 == 99:
            seconds, data = scrape(port)
            times.append(seconds)
            failed += not data
    for client in held:
        client.close()
    return {
        "half_open": HALF_OPEN,
        "scrapes": len(times),
        "failed": failed,
        "slowest_ms": round(1000 * max(times), 1),
    }


def measure(seconds: int) -> dict[str, object]:
    """Start, load, hold open; return the figures."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    starts = []
    with tempfile.TemporaryDirectory() as folder:
        tree = made_up_tree(Path(folder))
        for _ in range(STARTS):
            with exporter(tree) as (_process, _port, started):
                starts.append(started)
        with exporter(tree) as (process, port, _):
            time.sleep(1)
            _, body = scrape(port)
            figures: dict[str, object] = {
                "series": sum(1 for line in body.splitlines() if line.startswith((b"netkit_", b"process_"))),
                "bytes": len(body),
                "start_to_first_answer_s": round(statistics.median(starts), 3),
                "resident_mb_before": round(resident_bytes(process.pid) / 1e6, 1),
                "loads": [driven(port, 40, seconds), driven(port, 200, seconds)],
                "half_open": half_open(port),
                "resident_mb_after": round(resident_bytes(process.pid) / 1e6, 1),
                "descriptors_after": sum(1 for _ in Path(f"/proc/{process.pid}/fd").iterdir()),
            }
    return {"benchmark": "exporter_load", **figures}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=8, help="of each load")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("benchmarks.exporter_load: wrk is missing (Debian package wrk)")
    print(json.dumps(measure(asked.seconds), indent=None if asked.json else 2))


if __name__ == "__main__":
    main()
