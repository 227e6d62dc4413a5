"""Promtool, and what it says about unit tests of rules.

https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/. It prints the name of a test group
before what is wrong with it, and ends with 1 when anything is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from netkit.errors import SourceError
from netkit.model.text import visible

_NAME = re.compile(r"(?m)^ *name: ")


def program() -> str:
    """Return where promtool is; SourceError when it is not on the PATH."""
    found = shutil.which("promtool")
    if found is None:
        raise SourceError("promtool", "not found on PATH; it comes with Prometheus (Debian: apt install prometheus)")
    return found


def judge(paths: Iterable[Path]) -> Mapping[str, str]:
    """Return what is wrong with the groups of test files, by the name of the group; empty when all hold.

    SourceError when promtool could not judge: a file it cannot read, a rule that does not parse.
    """
    command = [program(), "test", "rules", *map(str, paths)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    said = done.stdout + done.stderr
    found = dict(map(_named, _NAME.split(said)[1:]))
    if done.returncode and not found:
        raise SourceError("promtool could not judge", _last_line(said) or f"ended with status {done.returncode}")
    return found


def _named(part: str) -> tuple[str, str]:
    name, _, text = part.partition("\n")
    return name.strip().rstrip(","), text


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return visible(lines[-1]) if lines else ""
