"""The exporter under every Python of this machine that netkit supports."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
_NAMES = ("python3", "python3.11", "python3.12", "python3.13", "python3.14", "/usr/bin/python3")
_ASK = "import sys; print(sys.executable, sys.version_info >= (3, 11))"


@functools.cache
def interpreters() -> tuple[str, ...]:
    """Return the interpreters other than this one, each once."""
    found: dict[Path, str] = {}
    for name in filter(None, map(shutil.which, _NAMES)):
        said = subprocess.run([name, "-I", "-c", _ASK], check=False, capture_output=True, text=True).stdout.split()
        if said[1:] == ["True"]:
            found.setdefault(Path(said[0]).resolve(), name)
    found.pop(Path(sys.executable).resolve(), None)
    return tuple(found.values())


def page(python: str, node: Path) -> list[str]:
    """Return what the exporter says of a recorded node, without what it says of itself."""
    packages = [HOME, HOME / "exporters", sysconfig.get_path("purelib")]
    done = subprocess.run(
        [python, "-m", "netkit_exporters", "once", "--snapshot", str(node), "--collectors", "rdma,link"],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, packages))},
    )
    own = ("netkit_collector_", "netkit_exporter_")
    return [line for line in done.stdout.splitlines() if not any(name in line for name in own)]


@pytest.mark.fault("M09")
def test_every_python_gives_the_same_page() -> None:
    """Other versions and builds of Python read, count and write the same."""
    others = interpreters()
    if not others:
        pytest.skip(f"no other Python from 3.11 on here: looked for {', '.join(_NAMES)}")
    node = HOME / "tests" / "nodes" / "roce-two-rails.jsonl"
    expected = page(sys.executable, node)
    assert any(line.startswith("netkit_rdma_port_data_received_bytes_total{") for line in expected)
    for python in others:
        assert page(python, node) == expected, python
