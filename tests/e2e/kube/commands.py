"""netkit itself, run as a user of the control plane would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.e2e.kube.control_plane import ADMIN, ControlPlane

Gang = dict[str, Any]


def netkit(plane: ControlPlane, *words: str, user: str = ADMIN) -> subprocess.CompletedProcess[str]:
    """Run a command with this user's kubeconfig."""
    code = "from netkit.cli.app import main; main()"
    env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig(user))}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def gangs(plane: ControlPlane, namespace: str) -> dict[str, Gang]:
    """Return the gangs netkit finds in a namespace, by name."""
    done = netkit(plane, "gangs", "-n", namespace, "--output", "json")
    assert done.returncode == 0, done.stderr
    return {gang["name"]: gang for gang in json.loads(done.stdout)["gangs"]}


def nodes_of(gang: Gang) -> set[str | None]:
    """Return the nodes of a gang's members; None stands for one that has none."""
    return {member["node"] for member in gang["members"]}
