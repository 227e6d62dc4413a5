"""Hosts that exist in a hostfile only, and programs that stand in for the real ones: what a backend is tried on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STAND_INS = Path(__file__).parent / "stand_ins"
HOSTS = ("ha", "hb", "hc", "hd")
RATE = 48.5e9
# What mpirun calls to reach a host: the daemon runs here, and its ranks believe that they are there.
_REMOTE_SHELL = '#!/bin/sh\nexport STAND_IN_HOST="$1"\nshift\nexec sh -c "$*"\n'


class StandInCluster:
    """Four hosts whose ports have the rates that `fabric` gives them, every command and file below one folder."""

    def __init__(
        self, folder: Path, programs: Sequence[str] = ("ssh", "mpirun", "all_reduce_perf"), **fabric: Any
    ) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in programs:
            self._write(name, f"#!{sys.executable} -S\n" + (STAND_INS / f"{name}.py").read_text())
        self._write("remote_shell", _REMOTE_SHELL)
        self.fabric = folder / "fabric.json"
        self.fabric.write_text(json.dumps({"rate": RATE, "seed": 1, "ports": {}} | fabric))
        (folder / "hosts").write_text("".join(f"{host} slots=2\n" for host in HOSTS))

    def _write(self, name: str, text: str) -> None:
        program = self.bin / name
        program.write_text(text)
        program.chmod(0o755)

    def probe(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run `netkit probe hosts` with the programs of this cluster first on its path."""
        words = [sys.executable, "-m", "netkit", "probe", "hosts", str(self.folder / "hosts")]
        words += ["--backend", "nccl-tests", "--python", sys.executable, "--seed", "7", "--output", "json", *options]
        environment = os.environ | {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "STAND_IN_FABRIC": str(self.fabric),
            "OMPI_MCA_plm_rsh_agent": str(self.bin / "remote_shell"),
        }
        return subprocess.run(words, capture_output=True, text=True, timeout=240, check=False, env=environment)

    def report(self, *options: str) -> tuple[int, dict[str, Any]]:
        """Return the status and the report of a probe that measured."""
        done = self.probe(*options)
        assert "Traceback" not in done.stderr
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)
