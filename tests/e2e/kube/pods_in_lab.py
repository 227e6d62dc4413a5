"""Pods of kwok whose commands run as processes inside the nodes of a lab: pod on node probe-3, process in n3.

kwok's Exec (https://kwok.sigs.k8s.io/docs/user/exec-configuration/) gives a command an environment and nothing else,
so the interpreter that netkit is told to use is a script of ours, which enters the lab's node named there.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netkit.lab.state import LabState
from tests.e2e.kube.api import Api, Object

_PYTHON = """#!{python} -IS
import json, os, sys
words = [*json.loads(os.environ["LAB_ENTER"]), {python!r}, *sys.argv[1:]]
os.execv(words[0], words)
"""
# What a driver says of GPUs nobody uses, or of one that somebody does.
_NVIDIA_SMI = """#!/bin/sh
case "$*" in
  *compute-apps*) [ -z "$GPU_PID" ] || echo "$GPU_PID, GPU-0" ;;
  *) for gpu in 0 1 2 3 4 5 6 7; do echo "$gpu, GPU-$gpu, 0, 4"; done ;;
esac
"""


def make_programs(folder: Path) -> Path:
    """Write the interpreter of the pods and their nvidia-smi; return the interpreter."""
    python = folder / "pod-python"
    python.write_text(_PYTHON.format(python=sys.executable))
    (folder / "nvidia-smi").write_text(_NVIDIA_SMI)
    for program in (python, folder / "nvidia-smi"):
        program.chmod(0o755)
    return python


def put_in_lab(api: Api, pods: list[Object], lab: LabState, folder: Path, **environment: str) -> None:
    """Give every pod the lab node of its own number; `environment` is what its commands see besides."""
    for pod in pods:
        metadata, node = pod["metadata"], pod["spec"]["nodeName"]
        enter = lab.enter(f"n{node.rpartition('-')[2]}")
        named = {"LAB_ENTER": json.dumps(enter), "POD": metadata["name"], "PATH": f"{folder}:/usr/bin:/bin"}
        envs = [{"name": name, "value": value} for name, value in (named | environment).items()]
        api.apply(
            {
                "apiVersion": "kwok.x-k8s.io/v1alpha1",
                "kind": "Exec",
                "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
                "spec": {"execs": [{"local": {"envs": envs}}]},
            }
        )


@contextmanager
def following(api: Api, namespace: str, selector: str, lab: LabState, folder: Path) -> Iterator[None]:
    """While this lasts, pods with these labels get their lab node as soon as they have one in the cluster."""
    stopped, known = threading.Event(), set[str]()

    def follow() -> None:
        while not stopped.wait(0.02):
            pods = api.items(f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}")
            fresh = [pod for pod in pods if pod["spec"].get("nodeName") and pod["metadata"]["uid"] not in known]
            put_in_lab(api, fresh, lab, folder)
            known.update(pod["metadata"]["uid"] for pod in fresh)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(10)
