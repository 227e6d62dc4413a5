"""`netkit probe hosts --backend nccl-tests` through the mpirun of Open MPI; only the benchmark is a stand-in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.probe.stand_in_cluster import RATE, StandInCluster

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_open_mpi_takes_the_command_lines_and_keeps_the_order(tmp_path: Path) -> None:
    """Hostfile, contexts, environment of each rank: the slow port is the one that is named, on its host and rail."""
    if shutil.which("mpirun", path="/usr/bin") is None:
        pytest.skip("no mpirun here (Debian: openmpi-bin)")
    cluster = StandInCluster(tmp_path, ("ssh", "all_reduce_perf"), ports={"hb/mlx5_1": 0.75 * RATE})
    status, report = cluster.report("--hca", "mlx5_0,mlx5_1")
    assert status == 1, report["why"]
    assert [(one["class"], one["node"], one["rail"]) for one in report["findings"]] == [("rail", "hb", 1)]
    assert [one["missing"] for one in report["readings"] if one["missing"]] == []
