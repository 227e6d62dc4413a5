"""`netkit probe` from the outside: what it refuses in one line, its statuses, and readers that leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.cli import app as application
from netkit.cli import probing
from netkit.cli.output import OutputForm
from netkit.cli.probing import FailOn
from netkit.errors import InputError

QUICK = ("local", "--ranks", "2", "--seconds", "0.1")


def said(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command that ends before it measures; return its status and standard error."""
    monkeypatch.setattr(sys, "argv", ["netkit", "probe", *arguments])
    status = application._run()
    out, err = capsys.readouterr()
    assert out == ""
    return status, err


REFUSED = {
    "decimal size as a rate": (["lab", "--line-rate", "4GB"], "rate '4GB'"),
    "binary size as a rate": (["lab", "--line-rate", "4 GiB"], "rate '4 GiB'"),
    "negative rate": (["lab", "--line-rate=-1gbit"], "rate '-1gbit'"),
    "endless seconds": (["lab", "--seconds", "1e400"], "--seconds inf"),
    "no seconds": (["lab", "--seconds", "0"], "--seconds 0"),
    "seconds that are none": (["lab", "--seconds", "nan"], "--seconds nan"),
    "seconds with a unit": (["lab", "--seconds", "2min"], "'2min'"),
    "negative seed": (["lab", "--seed", "-1"], "--seed"),
    "seed with a fraction": (["lab", "--seed", "1.5"], "'1.5'"),
    "unknown form": (["lab", "--output", "yaml"], "yaml"),
    "form without a probe": (["lab", "--output", "jsonl"], "--output jsonl"),
    "unknown severity": (["lab", "--fail-on", "fatal"], "fatal"),
    "report nowhere": (["lab", "--report", "/no/such/folder/x.html"], "--report /no/such/folder/x.html"),
    "textfile on a folder": (["lab", "--textfile", "/tmp"], "--textfile /tmp"),
    "one rank": (["local", "--ranks", "1"], "--ranks 1"),
    "too many ranks": (["local", "--ranks", "4096"], "--ranks 4096"),
    "no hostfile": (["hosts", "/no/such/hostfile"], "No such file"),
    "a folder as hostfile": (["hosts", "/tmp"], "Is a directory"),
    "a hostfile without end": (["hosts", "/dev/zero"], "larger than 8 MiB"),
    "misspelt option": (["lab", "--sede", "3"], "--sede"),
    "unknown command": (["labs"], "labs"),
}


@pytest.mark.fault("I14")
@pytest.mark.parametrize(("arguments", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_used_is_refused_in_one_line(
    arguments: list[str], named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, one line, naming what was given."""
    status, err = said(arguments, monkeypatch, capsys)
    assert status == 2
    assert err.count("\n") == 1
    assert named in err
    assert "Traceback" not in err


HOSTS_REFUSED = {
    "port": (["--ssh-port", "0"], "--ssh-port 0"),
    "user that is an option": (["--user", "-oProxyCommand=x"], "--user '-oProxyCommand=x'"),
    "user with a space": (["--user", "root x"], "--user"),
    "key that is not there": (["--identity", "/no/such/key"], "--identity /no/such/key"),
    "configuration that is not there": (["--ssh-config", "/no/such/config"], "--ssh-config"),
    "interpreter that is an option": (["--python=-c"], "--python"),
    "both ways to name rails": (["--interface", "eth0", "--subnet", "10.0.0.0/8"], "--interface with --subnet"),
    "interface that is a path": (["--interface", "../x"], "--interface '../x'"),
    "the same interface twice": (["--interface", "eth0,eth0"], "each rail once"),
    "subnet with host bits": (["--subnet", "10.0.0.1/8"], "--subnet '10.0.0.1/8'"),
    "subnet that is none": (["--subnet", "ten"], "--subnet 'ten'"),
    "leaf of a stranger": (["--leaf", "node9:a"], "'node9'"),
    "both ways to name leaves": (["--leaf", "node1:a", "--leaf-file", "x"], "--leaf with --leaf-file"),
    "unknown backend": (["--backend", "mpi"], "'mpi'"),
    "device without a benchmark": (["--hca", "mlx5_0"], "--hca with --backend socket"),
    "device that is an option": (["--backend", "perftest", "--hca=-R"], "--hca '-R'"),
    "the same device twice": (["--backend", "perftest", "--hca", "mlx5_0,mlx5_0"], "--hca with one named twice"),
    "no device": (["--backend", "perftest"], "--backend perftest without rails"),
    "no rails for NCCL": (["--backend", "nccl-tests"], "--backend nccl-tests without rails"),
    "no accelerators": (["--backend", "hccl-test"], "--gpus 0,1,2,3"),
    "GPU that is none": (["--backend", "cncl", "--gpus", "0,x"], "--gpus 'x'"),
    "more GPUs than devices": (["--backend", "nccl-tests", "--hca", "a", "--gpus", "0,1"], "of different lengths"),
    "programs somewhere": (["--backend", "perftest", "--hca", "a", "--programs", "bin"], "--programs 'bin'"),
    "setting without a value": (["--backend", "perftest", "--hca", "a", "--env", "X"], "--env 'X'"),
    "setting over two lines": (["--backend", "perftest", "--hca", "a", "--env", "X=1\nY=2"], "--env 'X=1"),
    "message too small": (["--backend", "perftest", "--hca", "a", "--size", "16B"], "--size '16B'"),
}


@pytest.mark.fault("I14")
@pytest.mark.parametrize(("options", "named"), HOSTS_REFUSED.values(), ids=HOSTS_REFUSED.keys())
def test_options_of_hosts_are_checked_before_ssh_is_started(
    options: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing but checked words ever reaches the command line of ssh."""
    (tmp_path / "hosts").write_text("node1\nnode2\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    status, err = said(["hosts", str(tmp_path / "hosts"), *options], monkeypatch, capsys)
    assert (status, err.count("\n")) == (2, 1)
    assert named in err


@pytest.mark.fault("I12")
def test_a_hostile_hostfile_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host that is an option of ssh is refused with file and line."""
    (tmp_path / "hosts").write_text("node1\n-oProxyCommand=touch${IFS}/tmp/x\n")
    status, err = said(["hosts", str(tmp_path / "hosts")], monkeypatch, capsys)
    assert status == 2
    assert "line 2: '-oProxyCommand=touch${IFS}/tmp/x'" in err


def test_without_ssh_the_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Could not measure: status 3 and the program that is missing."""
    (tmp_path / "hosts").write_text("node1\nnode2\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    status, err = said(["hosts", str(tmp_path / "hosts")], monkeypatch, capsys)
    assert status == 3
    assert "node1: cannot run ssh: No such file or directory" in err


@given(st.text(max_size=12))
def test_any_subnet_text_is_taken_or_refused(text: str) -> None:
    """No text ends in a traceback."""
    try:
        choice = probing.rail_choice(None, text)
    except InputError:
        return
    assert choice.subnets


def test_ssh_gets_only_words_it_was_meant_to_get(tmp_path: Path) -> None:
    """Each option becomes one pair of words; without options there are none."""
    key = tmp_path / "key"
    key.touch()
    assert probing.ssh_options("root", 2222, key, key) == (
        *("-l", "root"),
        *("-p", "2222"),
        *("-i", str(key)),
        *("-F", str(key)),
    )
    assert probing.ssh_options(None, None, None, None) == ()


def test_an_unset_seed_is_drawn_and_kept() -> None:
    """Two runs draw differently, and the seed that was drawn is in the wishes."""
    asked: dict[str, Any] = {"line_rate": None, "seconds": 1.0, "fail_on": FailOn.INFO, "output": OutputForm.JSON}
    drawn = {probing.checked_wishes(seed=None, report=None, textfile=None, **asked).seed for _ in range(20)}
    assert len(drawn) > 1


def run(*arguments: str, stdout: Any = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "netkit", "probe", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
    )


def test_a_probe_of_this_host_says_that_no_nic_was_exercised(tmp_path: Path) -> None:
    """Loopback only: inconclusive, status 3, in every form that was asked for."""
    page, metrics = tmp_path / "probe.html", tmp_path / "probe.prom"
    done = run(*QUICK, "--output", "json", "--report", str(page), "--textfile", str(metrics))
    report = json.loads(done.stdout)
    assert (done.returncode, report["schema"], report["verdict"]) == (3, "netkit.probe/1", "inconclusive")
    assert "no NIC was exercised" in report["why"]
    assert "inconclusive" in page.read_text().lower()
    assert "netkit_probe_verdict" in metrics.read_text()
    assert "2 agents with 1 rail answered" in done.stderr


@pytest.mark.fault("J07")
def test_a_reader_that_left_is_no_traceback(tmp_path: Path) -> None:
    """With the other end of the pipe closed the status is 141, nothing is said of it, and files are written still."""
    reading, writing = os.pipe()
    os.close(reading)
    metrics = tmp_path / "probe.prom"
    with os.fdopen(writing, "wb") as closed:
        done = run(*QUICK, "--output", "plain", "--textfile", str(metrics), stdout=closed)
    assert done.returncode == 141
    assert metrics.exists()
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.fault("J07")
def test_a_terminal_of_no_width_and_an_ascii_locale_are_served() -> None:
    """The table is printed in ASCII, without colour, whatever the width claims to be."""
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "NO_COLOR": "1", "COLUMNS": "0", "PYTHONUTF8": "0"}
    done = run(*QUICK, "--output", "table", **plain)
    assert done.returncode == 3
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert "Traceback" not in done.stderr


def test_a_terminated_probe_leaves_no_agent() -> None:
    """SIGTERM in the middle ends it with 143 and every agent with it."""
    with subprocess.Popen(
        [sys.executable, "-m", "netkit", "probe", "local", "--ranks", "3", "--seconds", "5"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "3 agents" in process.stderr.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 3
        process.terminate()
        assert process.wait(timeout=10) == 143
        assert not any(Path(f"/proc/{child}").exists() for child in children)
