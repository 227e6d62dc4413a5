"""The exporter beside real parts: Prometheus scrapes it, promtool reads it, a frozen disk holds a child of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

import pytest

from tests.exporters.serving import eventually
from tests.exporters.test_exporter_process import running

pytestmark = pytest.mark.e2e
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None, reason="no prometheus or promtool"
)


def made_up_sysfs(folder: Path) -> Path:
    """Two InfiniBand ports with a few counters; made up for this test."""
    for device in ("mlx5_0", "mlx5_1"):
        port = folder / "class" / "infiniband" / device / "ports" / "1"
        for name, text in {
            "counters/port_rcv_data": "250",
            "counters/symbol_error": "3",
            "hw_counters/out_of_sequence": "7",
            "state": "4: ACTIVE",
            "phys_state": "5: LinkUp",
            "rate": "400 Gb/sec (4X NDR)",
            "link_layer": "InfiniBand",
        }.items():
            (port / name).parent.mkdir(parents=True, exist_ok=True)
            (port / name).write_text(text + "\n")
    return folder


@needs_prometheus
def test_prometheus_scrapes_it(tmp_path: Path) -> None:
    """A stock Prometheus has the series, with our values and without a complaint, in both formats."""
    sysfs = made_up_sysfs(tmp_path / "sys")
    with running(tmp_path, "--collectors", "rdma,process", "--sysfs", str(sysfs), "--refresh", "200ms") as exporter:
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 500ms}\n"
            f"scrape_configs: [{{job_name: netkit, static_configs: [{{targets: ['127.0.0.1:{exporter.port}']}}]}}]\n"
        )
        with prometheus(tmp_path, config) as port:
            assert eventually(lambda: query(port, "up") == [1.0], 30)
            assert eventually(lambda: query(port, "netkit_rdma_port_data_received_bytes_total") == [1000.0, 1000.0], 10)
            assert query(port, 'netkit_collector_success{collector="rdma"}') == [1.0]
            assert query(port, "scrape_samples_scraped > 20") != []


@contextmanager
def prometheus(tmp_path: Path, config: Path) -> Iterator[int]:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as opened:
        port = int(opened.getsockname()[1])
    place = (f"--web.listen-address=127.0.0.1:{port}", f"--storage.tsdb.path={tmp_path / 'tsdb'}")
    with (tmp_path / "prometheus.log").open("w") as log:
        process = subprocess.Popen(["prometheus", f"--config.file={config}", *place], stdout=log, stderr=log)
    try:
        yield port
    finally:
        process.terminate()
        process.wait(10)


def query(port: int, text: str) -> list[float]:
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(text)}", timeout=5
        ) as answer:
            found = json.load(answer)["data"]["result"]
    except OSError:
        return []
    return [float(one["value"][1]) for one in found]


@needs_prometheus
@pytest.mark.parametrize("collectors", ["rdma,process", None], ids=["made-up ports", "everything on this machine"])
def test_promtool_finds_nothing_to_say(tmp_path: Path, collectors: str | None) -> None:
    """`promtool check metrics` is clean."""
    chosen = ["--collectors", collectors, "--sysfs", str(made_up_sysfs(tmp_path / "sys"))] if collectors else []
    text = subprocess.run(
        [sys.executable, "-m", "netkit_exporters", "once", *chosen], check=True, capture_output=True
    ).stdout
    done = subprocess.run(["promtool", "check", "metrics"], check=False, input=text, capture_output=True)

    assert (done.returncode, done.stdout + done.stderr) == (0, b"")
    assert b"netkit_collector_success" in text


@pytest.mark.fault("M10")
def test_a_machine_without_a_free_processor(tmp_path: Path) -> None:
    """With a busy loop on every processor, 99 of 100 scrapes take less than 250 ms."""
    spin = [sys.executable, "-c", "while True: pass"]
    with running(tmp_path, "--collectors", "process", "--refresh", "1s") as exporter, ExitStack() as undo:
        for _ in os.sched_getaffinity(0):
            undo.callback(undo.enter_context(subprocess.Popen(spin)).kill)
        times = sorted(_timed(f"http://127.0.0.1:{exporter.port}/metrics") for _ in range(100))

    assert times[98] < 0.25


FROZEN = """
import sys
from netkit_exporters import discovery
from netkit_exporters.collecting import Collector, Reading
from netkit.sources.disposable import tool_text
class Stuck:
    key = "stuck"
    def read(self):
        tool_text([sys.executable, "-c", "open(%r, 'w')" % sys.argv[1]], 1.0, 0.2)
        return Reading()
class Source:
    def targets(self):
        return [one]
    def close(self):
        pass
one = Stuck()
stuck = Collector(id="stuck", question="?", open=lambda _: Source(), metrics=(), deadline_seconds=0.3)
process = discovery.collector_named("process")
discovery.collectors = lambda: (stuck, process)
from netkit_exporters.command import COMMANDS
sys.exit(COMMANDS["serve"](sys.argv[2:]))
"""


@contextmanager
def frozen_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own on which every write waits in uninterruptible sleep."""
    image, mounted = tmp_path / "disk", tmp_path / "mounted"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    with ExitStack() as undo:
        subprocess.run(["mkfs.ext4", "-q", str(image)], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(mounted)], check=True, capture_output=True)
        undo.callback(subprocess.run, ["umount", "-l", str(mounted)], check=False)
        subprocess.run(["fsfreeze", "-f", str(mounted)], check=True)
        undo.callback(subprocess.run, ["fsfreeze", "-u", str(mounted)], check=False)
        yield mounted


@pytest.mark.fault("B03")
@pytest.mark.skipif(os.getuid() != 0, reason="freezing a file system needs root")
@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="no mkfs.ext4")
def test_a_child_in_uninterruptible_sleep_is_left_behind(tmp_path: Path) -> None:
    """Not even SIGKILL ends it: it is hung, scrapes take less than 50 ms, and SIGTERM ends the exporter within 5 s."""
    log = tmp_path / "log"
    with frozen_disk(tmp_path) as mounted, log.open("w") as stderr:
        command = [sys.executable, "-c", FROZEN, str(mounted / "file"), "--listen", "127.0.0.1:0"]
        process = subprocess.Popen([*command, "--refresh", "100ms", "--no-landlock"], stderr=stderr)
        try:
            assert eventually(lambda: "serves" in log.read_text(), 20), log.read_text()
            url = f"http://127.0.0.1:{log.read_text().splitlines()[0].rpartition(':')[2]}/metrics"
            assert eventually(lambda: b'netkit_collector_hung{collector="stuck"} 1.0' in body(url))
            assert "D" in _states_of_children(process.pid)
            assert min(_timed(url) for _ in range(5)) < 0.05
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
            assert time.monotonic() - begun <= 5.0
        finally:
            process.kill()


def body(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return bytes(answer.read())


def _states_of_children(process: int) -> set[str]:
    """The states of a process's children: proc(5), the field after the name in stat."""
    children = [listed.read_text().split() for listed in Path(f"/proc/{process}/task").glob("*/children")]
    return {Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2][0] for child in chain.from_iterable(children)}


def _timed(url: str) -> float:
    begun = time.perf_counter()
    body(url)
    return time.perf_counter() - begun
