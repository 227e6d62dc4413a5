"""`netkit probe hosts --backend nccl-tests` from command line to verdict.

ssh, mpirun and all_reduce_perf are stand-ins, and nothing of netkit knows that they are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STAND_INS = Path(__file__).parent / "stand_ins"
HOSTS = ("ha", "hb", "hc", "hd")
RATE = 48.5e9


class Cluster:
    """Hosts that exist in a hostfile only, with programs that stand in for the real ones."""

    def __init__(self, folder: Path, **fabric: Any) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in ("ssh", "mpirun", "all_reduce_perf"):
            self.install(name)
        self.fabric = folder / "fabric.json"
        self.fabric.write_text(json.dumps({"rate": RATE, "seed": 1, "ports": {}} | fabric))
        (folder / "hosts").write_text("".join(f"{host} slots=2\n" for host in HOSTS))

    def install(self, name: str) -> None:
        program = self.bin / name
        program.write_text(f"#!{sys.executable} -S\n" + (STAND_INS / f"{name}.py").read_text())
        program.chmod(0o755)

    def probe(self, *options: str, backend: str = "nccl-tests") -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "netkit", "probe", "hosts", str(self.folder / "hosts"), "--backend", backend]
        words += ["--python", sys.executable, "--seed", "7", "--output", "json", *options]
        environment = os.environ | {"PATH": f"{self.bin}:/usr/bin:/bin", "STAND_IN_FABRIC": str(self.fabric)}
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=environment)

    def report(self, *options: str) -> tuple[int, dict[str, Any]]:
        done = self.probe(*options)
        assert "Traceback" not in done.stderr
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


RDMA = ("--hca", "mlx5_0,mlx5_1")


def test_a_slow_rail_is_named(tmp_path: Path) -> None:
    """Twenty percent off one device of one host: split by mask, decoded process by process, blamed on that rail."""
    status, report = Cluster(tmp_path, ports={"hc/mlx5_1": 0.8 * RATE}).report(*RDMA)
    assert status == 1, report["why"]
    assert [(one["class"], one["node"], one["rail"]) for one in report["findings"]] == [("rail", "hc", 1)]
    assert report["findings"][0]["slowdown"] == pytest.approx(0.2, abs=0.03)
    assert report["backend"] == "nccl_tests"
