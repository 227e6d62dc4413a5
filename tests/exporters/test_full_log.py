"""A log that cannot be written costs lines, which are counted, and never a scrape."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.dashboards.free_port import free_port

NODE = Path(__file__).parents[1] / "nodes" / "roce-two-rails.jsonl"
FULL = Path("/dev/full")


def scraped(port: int, seconds: float) -> str:
    """The page, as soon as there is one."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2) as answer:
                return str(answer.read().decode())
        except (OSError, urllib.error.URLError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.mark.fault("J08")
@pytest.mark.skipif(not FULL.exists(), reason="this machine has no /dev/full")
def test_a_full_log_disk_costs_lines_and_no_scrape() -> None:
    """Standard error is a full disk: the exporter serves on, and tells how many lines it lost."""
    port = free_port()
    command = [sys.executable, "-m", "netkit_exporters", "serve", "--listen", f"127.0.0.1:{port}"]
    with FULL.open("w") as full:
        running = subprocess.Popen([*command, "--snapshot", str(NODE), "--refresh", "500ms"], stderr=full)
        try:
            scraped(port, 20)
            page = scraped(port, 5)
        finally:
            running.terminate()
            running.wait(timeout=10)
    lost = re.search(r"^netkit_exporter_log_lines_dropped_total (\S+)", page, re.MULTILINE)

    assert "netkit_rdma_state_id{" in page
    assert lost
    assert float(lost[1]) >= 1
