"""The kernel refuses single reads: strace makes it answer an errno for one file of a real folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

_READ_TWICE = """
import json, sys
from pathlib import Path
from netkit.model.missing import Missing
from netkit.sources.rdma import read_port_counters
from netkit.sources.tree import LiveTree
tree = LiveTree({"sys": Path(sys.argv[1])})
rounds = []
for _ in range(2):
    counters = read_port_counters(tree, "sys/port")
    rounds.append({c.name: c.raw.detail if isinstance(c.raw, Missing) else c.raw for c in counters})
print(json.dumps(rounds))
"""


def traced(folder: Path, code: str) -> tuple[list[dict[str, object]], int]:
    """Both readings of the folder's counters, and how often the failing file was read."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed: no errno can be injected")
    log = folder.parent / "strace.log"
    failing = folder / "port" / "counters" / "b"
    inject = ["-e", "trace=read", "-e", f"inject=read:error={code}", "-P", str(failing), "-o", str(log)]
    command = [strace, "-qq", *inject, sys.executable, "-c", _READ_TWICE, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "ptrace" in done.stderr and "not permitted" in done.stderr:
        pytest.skip("tracing is not permitted here")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), log.read_text().count(f"{code} ")


@pytest.fixture
def port(tmp_path: Path) -> Path:
    counters = tmp_path / "sys" / "port" / "counters"
    counters.mkdir(parents=True)
    for number, name in enumerate("abc"):
        (counters / name).write_text(f"{number}\n")
    return tmp_path / "sys"


@pytest.mark.fault("C03")
def test_a_counter_the_firmware_refuses_is_read_once(port: Path) -> None:
    """EINVAL in the first reading, the memory of it in the second; the neighbours are read both times."""
    rounds, reads = traced(port, "EINVAL")
    assert rounds == [{"a": 0, "b": "EINVAL", "c": 2}] * 2
    assert reads == 1


@pytest.mark.fault("C04")
@pytest.mark.parametrize("code", ["EIO", "ENODATA", "EOPNOTSUPP", "EACCES", "EBUSY", "ETIMEDOUT"])
def test_a_counter_that_fails_today_is_tried_again(port: Path, code: str) -> None:
    """The errno stands where the value would; the next reading asks again."""
    rounds, reads = traced(port, code)
    assert rounds == [{"a": 0, "b": code, "c": 2}] * 2
    assert reads == 2
