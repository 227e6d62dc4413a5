"""GPUs of a pod: in use, not known, or free; only what is known to be free may be probed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netkit.model.missing import Missing, Reason
from netkit.probe import pod_check
from netkit.probe.framing import FrameReader
from netkit.probe.gpu_use import objections

IDLE = [["0", "GPU-0", "0", "4"], ["1", "GPU-1", "0", "512"]]
SOURCE = Path(str(pod_check.__file__))


def seen(**changes: Any) -> dict[str, Any]:
    """What the check prints in a pod of two idle NVIDIA GPUs."""
    idle = {"device_nodes": ["/dev/nvidia0", "/dev/nvidia1"], "holders": [], "unreadable": 0, "gpus": IDLE, "apps": []}
    return idle | changes


@pytest.mark.fault("H11")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"holders": [{"pid": 7, "name": "py\x1b", "device": "/dev/nvidia0"}]}, "pid 7 (py\\x1b) holds /dev/nvidia0"),
        ({"apps": [["4711", "GPU-1"]]}, "the driver lists pid 4711 on GPU-1"),
        ({"gpus": [["1", "GPU-1", "97", "4"]]}, "GPU 1 is 97 % busy"),
        ({"gpus": [["1", "GPU-1", "0", "40000"]]}, "40000 MiB of GPU 1 are in use"),
        ({"gpus": "nvidia-smi: TimeoutExpired"}, "not known whether its GPUs are in use: nvidia-smi: TimeoutExpired"),
        ({"apps": "nvidia-smi ends with status 9: no"}, "not known whether its GPUs are in use: nvidia-smi ends"),
        ({"gpus": [["0", "GPU-0", "[N/A]", "4"]]}, "not known whether GPU 0 is in use: nvidia-smi does not say"),
        ({"gpus": [["0", "GPU-0", "nan", "4"]]}, "not known whether GPU 0 is in use: nvidia-smi does not say"),
        ({"gpus": None, "apps": None, "device_nodes": []}, "not known whether its 2 GPUs are in use: no device node"),
        ({"gpus": [], "apps": [], "device_nodes": []}, "not known whether its 2 GPUs are in use: no device node"),
        ({"gpus": None, "apps": None, "unreadable": 3}, "not known whether its GPUs are in use: 3 processes"),
    ],
)
def test_what_is_not_known_to_be_free_is_refused(changes: dict[str, Any], said: str) -> None:
    """In use, or not to be told: both are named, and neither passes."""
    [reason] = objections(seen(**changes), 2)
    assert reason.startswith(said)


@pytest.mark.parametrize(
    "changes",
    [{}, {"gpus": None, "apps": None}, {"gpus": None, "apps": None, "device_nodes": ["/dev/davinci0"]}],
    ids=["with a driver's word", "with device nodes nobody holds", "without NVIDIA"],
)
def test_idle_gpus_pass(changes: dict[str, Any]) -> None:
    """All that can be asked says free."""
    assert objections(seen(**changes), 2) == ()


def test_a_pod_without_gpus_passes_and_one_that_could_not_be_asked_does_not() -> None:
    """Nothing to disturb is no reason against; no answer is."""
    assert objections(seen(gpus=None, apps=None, device_nodes=[]), 0) == ()
    lost = Missing(reason=Reason.MALFORMED, where="a/b", detail="exited with status 127")
    assert objections(lost, 0) == ("exited with status 127",)


def test_the_check_prints_one_frame_and_ends() -> None:
    """Run as it is injected: alone, isolated; what it prints is what the judge reads."""
    start = json.dumps({"nonce": "ab" * 8, "deadline_s": 30})
    words = [sys.executable, "-I", "-S", str(SOURCE)]
    done = subprocess.run(words, input=start.encode() + b"\n", capture_output=True, timeout=30, check=True)
    [found] = FrameReader("ab" * 8).feed(done.stdout)
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert isinstance(found["unreadable"], int)


def test_a_process_that_holds_a_device_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An open descriptor is what counts, whatever the process is called."""
    device = tmp_path / "nvidia0"
    device.touch()
    monkeypatch.setattr(pod_check, "ACCELERATOR", re.compile(str(device)))
    words = [sys.executable, "-S", "-c", f"f = open({str(device)!r}); print(flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        held, _ = pod_check.holders()
        holder.kill()
    assert [(row["pid"], row["device"]) for row in held] == [(holder.pid, str(device))]


def test_nvidia_smi_is_read_row_by_row_and_its_failures_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of cells; no program is None; a failure is its own words."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pod_check.smi("--query-gpu=index") is None
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '0, GPU-0, 3, 17'\n")
    program.chmod(0o755)
    assert pod_check.smi("--query-gpu=index") == [["0", "GPU-0", "3", "17"]]
    program.write_text("#!/bin/sh\necho 'Driver/library version mismatch'; exit 18\n")
    assert pod_check.smi("--query-gpu=index") == "nvidia-smi ends with status 18: Driver/library version mismatch"


def test_the_check_uses_no_call_newer_than_python_3_7() -> None:
    """Images of pods hold old interpreters."""
    vermin = Path(sys.executable).with_name("vermin")
    if not vermin.exists():
        pytest.skip("vermin is not installed beside this interpreter")
    done = subprocess.run([vermin, "-t=3.7-", "--no-tips", SOURCE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
