"""The exporter as a process: signals, PID 1, no privileges, wrong input, other people's descriptors."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from netkit.errors import InputError
from netkit_exporters.options import Address, address
from tests.exporters.serving import eventually

NETNS = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child")


class Running:
    """An exporter process and what it says."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self.process = process
        self.port = port
        self.log = log

    def get(self, path: str = "/metrics") -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def said(self) -> str:
        return self.log.read_text()

    def ended(self, seconds: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(seconds)
        return None


@contextlib.contextmanager
def running(
    tmp_path: Path, *arguments: str, before: Sequence[str] = (), listen: str = "127.0.0.1", **how: object
) -> Iterator[Running]:
    """Start an exporter on a port the kernel chooses."""
    log = tmp_path / "log"
    command = [*before, sys.executable, "-m", "netkit_exporters", "serve", "--listen", f"{listen}:0", *arguments]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stderr=stderr, text=True, **how)  # type: ignore[call-overload]
    try:
        assert eventually(lambda: bool(re.search(r"serves .*:[1-9]", log.read_text())), 20), log.read_text()
        yield Running(process, int(re.findall(r":(\d+)$", log.read_text().splitlines()[0])[0]), log)
    finally:
        process.kill()
        process.wait(5)


def ran(*arguments: str, **how: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "netkit_exporters", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30, **how)  # type: ignore[call-overload,no-any-return]


@pytest.mark.fault("M01")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well_and_soon(tmp_path: Path, number: signal.Signals) -> None:
    """Status 0 within two seconds."""
    with running(tmp_path, "--collectors", "process") as exporter:
        exporter.process.send_signal(number)
        assert exporter.ended(2.0) == 0


@pytest.mark.fault("M01")
@pytest.mark.skipif(
    subprocess.run([*NETNS, "true"], check=False, capture_output=True).returncode != 0,
    reason="no process namespaces for this user",
)
def test_as_process_one_it_ends_and_reaps(tmp_path: Path) -> None:
    """PID 1 of a container: SIGTERM ends it in two seconds, and orphans do not stay as zombies."""
    orphan = (
        "import os,sys\nif os.fork():\n os.execvp(sys.argv[1],sys.argv[1:])\nif os.fork():\n os._exit(0)\nos._exit(0)"
    )
    with running(tmp_path, "--collectors", "process", before=(*NETNS, sys.executable, "-c", orphan)) as exporter:
        (inside,) = _children(exporter.process.pid)
        assert len(_children(inside)) == 2
        assert eventually(lambda: not _children(inside), 9)
        os.kill(inside, signal.SIGTERM)
        assert exporter.ended(2.5) == 0


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


STUCK = """
import sys, time
from netkit.catalogue.metrics import Kind, Metric
from netkit_exporters import discovery
from netkit_exporters.collecting import Collector, Reading
class Stuck:
    key = "stuck"
    def read(self):
        with open(sys.argv[1]) as fifo:
            fifo.read()
class Source:
    def targets(self):
        return [Stuck.one]
    def close(self):
        with open(sys.argv[1]) as fifo:
            fifo.read()
Stuck.one = Stuck()
found = discovery.collectors
stuck = Collector(id="stuck", question="?", open=lambda _: Source(), metrics=(), deadline_seconds=0.1)
process = discovery.collector_named("process")
discovery.collectors = lambda: (stuck, process)
from netkit_exporters.command import COMMANDS
sys.exit(COMMANDS["serve"](sys.argv[2:]))
"""


@pytest.mark.fault("M02")
def test_a_worker_that_hangs_does_not_delay_the_end(tmp_path: Path) -> None:
    """One target and the closing of its collector block for ever in a system call: status 0 within two seconds."""
    fifo, log = tmp_path / "fifo", tmp_path / "log"
    os.mkfifo(fifo)
    command = [sys.executable, "-c", STUCK, str(fifo), "--listen", "127.0.0.1:0", "--refresh", "100ms"]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stderr=stderr)
    try:
        assert eventually(lambda: "serves" in log.read_text(), 20), log.read_text()
        port = int(log.read_text().splitlines()[0].rpartition(":")[2])
        exporter = Running(process, port, log)  # type: ignore[arg-type]  # bytes or text makes no difference here
        assert eventually(lambda: 'netkit_collector_hung{collector="stuck"} 1.0' in exporter.get())
        assert "process_cpu_seconds_total" in exporter.get()
        begun = time.monotonic()
        process.terminate()
        assert process.wait(5) == 0
        assert time.monotonic() - begun <= 2.0
    finally:
        process.kill()
        process.wait(5)


@pytest.mark.fault("M03")
def test_hangup_reloads_and_usr1_tells_the_state(tmp_path: Path) -> None:
    """Neither ends it; the state names every collector and target."""
    with running(tmp_path, "--collectors", "process") as exporter:
        exporter.process.send_signal(signal.SIGHUP)
        exporter.process.send_signal(signal.SIGUSR1)
        assert eventually(lambda: "state: process self: ok" in exporter.said())
        assert exporter.get("/healthz") == "ok\n"


@pytest.mark.fault("M04")
@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace to watch system calls with")
def test_it_writes_no_file(tmp_path: Path) -> None:
    """Without home, temporary folder or privileges it starts, and not one call opens a file for writing."""
    trace = tmp_path / "trace"
    calls = "openat,open,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat2,link,symlink,truncate"
    watched = ("strace", "-D", "-f", "-qq", "-o", str(trace), "-e", f"trace={calls}")
    with running(
        tmp_path,
        "--collectors",
        "process",
        before=watched,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "TMPDIR": "/nonexistent",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        cwd="/",
    ) as exporter:
        assert "process_open_fds" in exporter.get()
        # The tracer is a grandchild (-D), so that the exporter itself is ended here and not left behind.
        exporter.process.terminate()
        assert exporter.ended(5) == 0
    assert eventually(lambda: "--- SIGTERM" in trace.read_text())
    wrote = [
        line
        for line in trace.read_text().splitlines()
        if re.search(r"O_WRONLY|O_RDWR|O_CREAT|creat\(|mkdir|rename", line)
    ]
    assert [line for line in wrote if "ENOENT" not in line and '"/dev/' not in line] == []


@pytest.mark.fault("M04")
def test_landlock_forbids_writing(tmp_path: Path) -> None:
    """Where the kernel has it, the process cannot make a file any more, and the build information says so."""
    code = (
        "from netkit_exporters.landlock import forbid_writing\nabi = forbid_writing()\nprint(abi, flush=True)\n"
        f"open({str(tmp_path / 'made')!r}, 'w')"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    if done.stdout.strip() == "0":
        pytest.skip("this kernel has no Landlock")
    assert "PermissionError" in done.stderr
    assert not (tmp_path / "made").exists()
    with running(tmp_path, "--collectors", "process") as exporter:
        assert f'landlock_abi="{done.stdout.strip()}"' in exporter.get()


@pytest.mark.fault("M07")
def test_a_process_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """After SIGSTOP and SIGCONT the next scrape is answered and readings go on."""
    with running(tmp_path, "--collectors", "process", "--refresh", "100ms") as exporter:
        exporter.process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        exporter.process.send_signal(signal.SIGCONT)
        rounds = _value(exporter.get(), "netkit_exporter_refreshes_total")
        assert rounds < 100
        assert eventually(lambda: exporter.get("/readyz") == "ready\n")


def _value(text: str, name: str) -> float:
    return float(re.findall(rf"^{name} (.+)$", text, re.MULTILINE)[0])


@pytest.mark.fault("M08")
def test_without_the_extra_it_runs_and_says_what_a_web_configuration_needs(tmp_path: Path) -> None:
    """Neither YAML nor bcrypt is needed to serve; a configuration without them is one line with the remedy."""
    blocked = "import sys; sys.modules.update(yaml=None, bcrypt=None, pynvml=None, kubernetes=None)\n"
    code = blocked + "from netkit_exporters.command import main; main()"
    web = tmp_path / "web.yml"
    web.write_text("")
    asked = [sys.executable, "-c", code, "serve", "--listen", "127.0.0.1:0", "--web.config.file", str(web)]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'netkit[exporter]'" in done.stderr
    once = subprocess.run(
        [sys.executable, "-c", code, "once", "--collectors", "process"], check=False, capture_output=True, text=True
    )
    assert (once.returncode, once.stderr) == (0, "")
    assert "process_threads" in once.stdout


@pytest.mark.fault("M11")
def test_an_option_or_key_of_another_version_is_named(tmp_path: Path) -> None:
    """Nothing is kept between runs, so only what is given can be old: it is refused by name."""
    web = tmp_path / "web.yml"
    web.write_text("tls_config:\n  cert: a\n")
    for arguments, says in (
        (("--web.listen-address", ":9"), "unrecognized arguments: --web.listen-address"),
        (("--web.config.file", str(web)), "tls_config"),
    ):
        done = ran("serve", "--listen", "127.0.0.1:0", *arguments)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert says in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("serve", "--listen", "9879"), "HOST:PORT"),
        (("serve", "--listen", "127.0.0.1:99999"), "HOST:PORT"),
        (("serve", "--refresh", "5"), "a duration"),
        (("serve", "--refresh", "0s"), "a duration"),
        (("serve", "--collectors", "proces"), "did you mean 'process'?"),
        (("once", "--sysfs", "/no/such/folder"), "a folder that looks like /sys"),
        (("metrics", "--output", "yaml"), "invalid choice: 'yaml'"),
        (("serve", "--web.config.file", "/no/such/file"), "No such file"),
    ],
)
def test_bad_input_is_one_line_and_status_two(arguments: Sequence[str], says: str) -> None:
    """What was given, what is accepted, and nothing started."""
    done = ran(*arguments)

    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert says in done.stderr


def test_metrics_are_listed_for_programs() -> None:
    """Every series with name, type, unit, labels, help, collector and privilege; a reader who leaves is no fault."""
    listed = json.loads(ran("metrics", "--output", "json").stdout)
    assert listed["schema"] == "netkit.metrics/1"
    names = [metric["name"] for metric in listed["metrics"]]
    assert {"netkit_collector_success", "process_cpu_seconds_total"} <= set(names)
    assert names == sorted(set(names))
    for metric in listed["metrics"]:
        assert set(metric) == {"name", "type", "unit", "labels", "help", "collector", "privilege"}
        assert metric["help"]


def test_start_to_first_answer_is_quick(tmp_path: Path) -> None:
    """Best of three, processor time of the start: within a second."""
    best = 9.0
    for _ in range(3):
        with running(tmp_path, "--collectors", "process") as exporter:
            best = min(best, _value(exporter.get(), "process_cpu_seconds_total"))
    assert best <= 1.0


def test_the_command_line_of_netkit_mounts_it() -> None:
    """`netkit exporter metrics` is the same command, and the exporter itself imports none of the command line."""
    code = "from netkit_exporters.commands import app; app(['metrics', '--output', 'jsonl'])"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout == ran("metrics", "--output", "jsonl").stdout
    code = "import sys, netkit_exporters.exporter; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"typer", "rich", "prometheus_client", "yaml", "bcrypt", "pyroute2"}.intersection(loaded)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9879", "127.0.0.1", 9879),
        ("[fd00::1]:9879", "fd00::1", 9879),
        ("fd00::1:9879", "fd00::1", 9879),
        (":::9879", "::", 9879),
        ("node-7.example:1", "node-7.example", 1),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    """A node's IPv6 address comes without brackets from Kubernetes; the last group is the port, for one is needed."""
    assert address(text) == Address(host=host, port=port)


@pytest.mark.parametrize("text", ["9879", "localhost", "fd00::1", "fd00::1:70000", "::1:", "a b:1", "[::1:9879"])
def test_anything_else_is_no_address(text: str) -> None:
    """One line says what was given."""
    with pytest.raises(InputError, match="--listen"):
        address(text)
