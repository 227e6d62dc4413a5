"""Results reach a file whole or not at all, and a reader that goes away is no crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netkit.cli.output import write_atomically
from netkit.errors import ExitStatus, OutputError

HOME = Path(__file__).parents[2]


def netkit(*arguments: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HOME), **dict(more.pop("env", {}))}  # type: ignore[call-overload]
    return subprocess.run([sys.executable, "-m", "netkit", *arguments], env=environment, **more)  # type: ignore[call-overload, no-any-return]  # noqa: PLW1510


@pytest.mark.fault("K05")
def test_a_folder_that_does_not_exist_is_one_clear_fault(tmp_path: Path) -> None:
    """Status 4, not a traceback."""
    with pytest.raises(OutputError, match="cannot write") as caught:
        write_atomically(tmp_path / "nowhere" / "report.html", "text")
    assert caught.value.exit_status is ExitStatus.NOT_WRITTEN


@pytest.mark.fault("K05")
def test_a_full_disk_leaves_the_old_file_intact(tmp_path: Path) -> None:
    """A write that fails half way is never seen under the final name."""
    target = tmp_path / "report.html"
    target.write_text("old")
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "from netkit.cli.output import write_atomically; from netkit.errors import OutputError\n"
        "try: write_atomically(Path(sys.argv[1]), 'x' * 100_000)\n"
        "except OutputError as fault: print(fault); sys.exit(int(fault.exit_status))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], check=False, capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert "untouched" in done.stdout
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.fault("K05")
def test_a_killed_write_leaves_the_old_file_intact(tmp_path: Path) -> None:
    """Dying between write and rename changes nothing under the final name."""
    target = tmp_path / "report.html"
    target.write_text("old")
    code = (
        "import os, signal, sys; from pathlib import Path; from netkit.cli import output\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "output.write_atomically(Path(sys.argv[1]), 'new')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert done.returncode == -9
    assert target.read_text() == "old"


@pytest.mark.fault("J07")
def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    """`netkit … | head -0` says nothing on standard error."""
    read, write = os.pipe()
    os.close(read)
    done = netkit("plan", "--nodes", "8", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.stderr == b""
    assert done.returncode in {0, 141}


@pytest.mark.fault("J07")
@pytest.mark.parametrize(
    "environment",
    [{"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, {"COLUMNS": "0"}, {"TERM": "dumb"}, {"NO_COLOR": "1"}],
    ids=["ascii", "no-width", "dumb", "no-colour"],
)
def test_odd_terminals_get_plain_text(environment: dict[str, str]) -> None:
    """Neither an ASCII locale nor a width of zero is a reason to fail."""
    done = netkit("plan", "--nodes", "8", "--output", "table", env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout


@pytest.mark.fault("J07")
def test_an_ascii_locale_shows_other_letters_as_escapes(tmp_path: Path) -> None:
    """A host name in another script is shown, not crashed on."""
    hosts = tmp_path / "größe"
    done = netkit("probe", "hosts", str(hosts), env={"PYTHONIOENCODING": "ascii"}, capture_output=True)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_bug_is_one_line_and_its_own_status(tmp_path: Path) -> None:
    """What nobody foresaw asks for a report instead of showing a traceback; `--debug` shows it."""
    code = "import netkit.cli.app as app\napp.app.command(name='boom')(lambda: 1 / 0)\napp.main()"
    run = [sys.executable, "-c", code]
    plain = subprocess.run([*run, "boom"], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert plain.returncode == 70
    assert plain.stderr.count("\n") == 1
    assert "--debug" in plain.stderr
    debugged = subprocess.run([*run, "--debug", "boom"], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert debugged.returncode == 70
    assert "ZeroDivisionError" in debugged.stderr


def test_a_folder_nobody_may_enter_is_bad_input_not_a_bug(tmp_path: Path) -> None:
    """`--report` below a locked folder is one line and status 2."""
    locked = tmp_path / "locked"
    locked.mkdir()
    hosts = tmp_path / "hosts"
    hosts.write_text("n1\nn2\n")
    locked.chmod(0)
    if os.access(locked, os.X_OK):
        pytest.skip("this user may enter every folder")
    done = netkit("probe", "hosts", str(hosts), "--report", str(locked / "in" / "r.html"), capture_output=True)
    locked.chmod(0o700)
    assert done.returncode == 2, done.stderr
