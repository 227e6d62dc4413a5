"""RCCL-tests: nccl-tests for AMD GPUs, with the same options, the same table and the same split variables.

Source: ROCm rccl-tests, README.md and `src/common.cu`. A version without `-I` runs one mpirun a pair and rail.
"""

from __future__ import annotations

from netkit.probe.nccl_jobs import NcclTests

BENCHMARK = NcclTests(
    id="rccl_tests",
    title="RCCL-tests",
    remedy="build ROCm rccl-tests there with MPI=1, or name its folder with --programs",
    visible_gpus="HIP_VISIBLE_DEVICES",
)
