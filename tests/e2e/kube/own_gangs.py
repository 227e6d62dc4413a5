"""A probe's own gang that has no node to run on, made and removed as a probe does it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from netkit.probe.launchers.job import OwnGang
from netkit.probe.probe_job import JobForm, ProbeJob
from netkit.sources.kube.config import open_access


def homeless_job(namespace: str) -> ProbeJob:
    """Everything a manifest can hold; its nodes do not exist."""
    return ProbeJob(
        id="0a1b2c3d",
        namespace=namespace,
        nodes=("no-such-node-0", "no-such-node-1"),
        image="python:3.12-slim",
        python="python3",
        seconds=600,
        operator="al@host",
        resources={"rdma/hca": "1"},
        queue="research",
        tolerations=({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},),
        claim_templates={"gpus": "eight-gpus"},
    )


def make_and_remove(
    kubeconfig: Path, form: JobForm, namespace: str, meanwhile: Callable[[], object] = lambda: None
) -> None:
    """Create a gang as the user of this configuration, and remove it again."""
    own = OwnGang(partial(open_access, kubeconfig, None), homeless_job(namespace), form)
    own.create()
    try:
        meanwhile()
    finally:
        own.remove()
