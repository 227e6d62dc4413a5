"""Every figure of docs/benchmarks.md, measured again: `python -m benchmarks [NAME …]`, all parts without a name."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence

QUIET = ("--sigma", "0.015", "--dips", "0.01")
NOISY = ("--sigma", "0.03", "--dips", "0.05")

# module, arguments; each runs in a process of its own so that peak memory is its own.
RUNS: dict[str, list[tuple[str, ...]]] = {
    "localise": [
        ("--nodes", "232", "--bad", "2", *QUIET, "--runs", "200"),
        ("--nodes", "232", "--bad", "0", *QUIET, "--runs", "200"),
        ("--nodes", "1024", "--bad", "1", *QUIET, "--runs", "100"),
        ("--nodes", "1024", "--bad", "10", *QUIET, "--runs", "100"),
        ("--nodes", "1024", "--bad", "0", *QUIET, "--runs", "100"),
        ("--nodes", "10240", "--bad", "10", *QUIET, "--runs", "40"),
        ("--nodes", "10240", "--bad", "102", *QUIET, "--runs", "20"),
        ("--nodes", "10240", "--bad", "0", *QUIET, "--runs", "200"),
        ("--nodes", "10240", "--bad", "0", *NOISY, "--runs", "100"),
        ("--nodes", "10240", "--bad", "10", *NOISY, "--runs", "20"),
        ("--nodes", "10240", "--bad", "10", *NOISY, "--slowdown", "0.2", "--runs", "20"),
    ],
    "agent": [()],
    "gangs": [()],
    "doctor": [()],
    "drills": [("--seed", "1", "--scenarios", "300")],
    "advice": [()],
    "top": [()],
    "lab": [("--nodes", "16", "--rails", "4", "--runs", "20")],
    "sweep": [()],
    "exporter_load": [()],
    "exporter_soak": [()],
    "rules": [("--ports", "1000")],
    "quiet": [("--node-days", "40", "--nodes", "40", "--days", "1", "--rails", "1", "--pages-only")],
}


def main(wanted: Sequence[str]) -> None:
    """Run the benchmarks asked for, all when none is named, and print one line of JSON for each."""
    unknown = set(wanted) - RUNS.keys()
    if unknown:
        sys.exit(f"benchmarks: {', '.join(sorted(unknown))}: accepted is {', '.join(RUNS)}")
    machine = {"python": platform.python_version(), "kernel": platform.release(), "cpus": len(os.sched_getaffinity(0))}
    print(json.dumps(machine), flush=True)
    for name in wanted or RUNS:
        for arguments in RUNS[name]:
            done = subprocess.run(
                [sys.executable, "-m", f"benchmarks.{name}", *arguments, "--json"],
                check=False,
                stdout=subprocess.PIPE,
                text=True,
            )
            if done.returncode:
                sys.exit(f"benchmarks: {name} {' '.join(arguments)} ended with status {done.returncode}")
            print(done.stdout.strip(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
