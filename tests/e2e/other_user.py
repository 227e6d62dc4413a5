"""How the tests on real parts become an ordinary user, and which interpreter that user may run."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

NOBODY = 65534
REPOSITORY = Path(__file__).parents[2]


@functools.cache
def interpreter_for_nobody() -> str | None:
    """Return an interpreter that an ordinary user may run, twice over, and that finds netkit and what it needs."""
    imports = "import sys, pyroute2, typer, netkit.lab; sys.exit(sys.version_info < (3, 11))"
    nested = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {imports!r}]))"
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        words = [*as_nobody(), python, "-c", nested]
        done = subprocess.run(words, env=environment("/"), cwd="/", capture_output=True, timeout=30, check=False)
        if done.returncode == 0:
            return python
    return None


def as_nobody() -> list[str]:
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--"]


def environment(runtime: str) -> dict[str, str]:
    packages = ["", "exporters", "dashboards", "playbooks"]
    python_path = os.pathsep.join([*(str(REPOSITORY / name) for name in packages), sysconfig.get_path("purelib")])
    home = {"HOME": runtime, "XDG_RUNTIME_DIR": runtime, "PYTHONPATH": python_path, "PYTHONDONTWRITEBYTECODE": "1"}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", **home}
