"""`netkit tune sweep hosts` from command line to verdict; ssh, mpirun and nccl-tests are stand-ins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.probe.stand_in_cluster import StandInCluster

RDMA = ("--hca", "mlx5_0,mlx5_1")
QPS = "NCCL_IB_QPS_PER_CONNECTION=1,4"


def sweep(cluster: StandInCluster, *options: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    words = [sys.executable, "-m", "netkit", "tune", "sweep", "hosts", str(cluster.folder / "hosts"), *RDMA]
    (cluster.folder / "hosts").write_text("ha slots=2\nhb slots=2\n")
    words += ["--python", sys.executable, "--trials", "8", "--output", "json", *options]
    environment = os.environ | {
        "PATH": f"{cluster.bin}:/usr/bin:/bin",
        "STAND_IN_FABRIC": str(cluster.fabric),
        "OMPI_MCA_plm_rsh_agent": str(cluster.bin / "remote_shell"),
    }
    done = subprocess.run(words, capture_output=True, text=True, timeout=110, check=False, env=environment)
    assert "Traceback" not in done.stderr
    return done, json.loads(done.stdout) if done.stdout else {}


def test_a_variable_that_helps_is_found_and_written(tmp_path: Path) -> None:
    """Through ssh, mpirun and the benchmark's own log: the factor is what the fabric gives."""
    cluster = StandInCluster(tmp_path, helps={"NCCL_IB_QPS_PER_CONNECTION=4": 1.3})
    winner = tmp_path / "nccl.env"
    done, found = sweep(cluster, "--param", QPS, "--write", str(winner))
    assert done.returncode == 0, done.stderr
    assert (found["verdict"], found["best"]) == ("improved", {"NCCL_IB_QPS_PER_CONNECTION": "4"})
    assert found["effect"]["factor"] == pytest.approx(1.3, rel=0.03)
    assert winner.read_text() == "NCCL_IB_QPS_PER_CONNECTION=4\n"


def test_a_variable_that_does_nothing_is_not_claimed(tmp_path: Path) -> None:
    """No effect is a result, status 0, and nothing is written."""
    winner = tmp_path / "nccl.env"
    done, found = sweep(StandInCluster(tmp_path), "--param", QPS, "--write", str(winner))
    assert done.returncode == 0, done.stderr
    assert found["verdict"] == "no_effect"
    assert found["forms"] is None
    assert not winner.exists()
    assert "was not written" in done.stderr


def test_a_gang_that_does_not_measure_ends_with_3(tmp_path: Path) -> None:
    """One line names what was missing."""
    cluster = StandInCluster(tmp_path)
    (cluster.bin / "all_reduce_perf").unlink()
    done, _ = sweep(cluster, "--param", QPS)
    assert done.returncode == 3
    assert "all_reduce_perf" in done.stderr.splitlines()[-1]
