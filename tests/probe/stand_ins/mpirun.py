"""Stands in for Open MPI's mpirun on one machine: one process a rank, numbered by application context.

It takes exactly the words netkit writes (`--hostfile`, `--bind-to none`, contexts of `-np 1 --host H:SLOTS -x …`)
and refuses any other, more ranks on a host than the hostfile has slots, and hosts the hostfile does not name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path


def main() -> int:
    """Start every rank, wait for all of them, and return the worst status."""
    words = sys.argv[1:]
    assert words[:1] == ["--hostfile"], words
    slots = dict(line.split(" slots=") for line in Path(words[1]).read_text().splitlines())
    assert words[2:4] == ["--bind-to", "none"], words
    contexts = split_at_colons(words[4:])
    used: Counter[str] = Counter()
    running = []
    for rank, context in enumerate(contexts):
        host, environment, program = parsed(context)
        local = used[host]
        used[host] += 1
        assert used[host] <= int(slots[host]), f"{host} has {slots[host]} slots"
        environment |= {
            "OMPI_COMM_WORLD_RANK": str(rank),
            "OMPI_COMM_WORLD_SIZE": str(len(contexts)),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(local),
            "PMIX_NAMESPACE": str(os.getpid()),
            "STAND_IN_HOST": host,
        }
        running.append(subprocess.Popen(program, env=os.environ | environment))
    return max(process.wait() for process in running)


def split_at_colons(words: list[str]) -> list[list[str]]:
    """One list of words an application context."""
    contexts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            contexts.append([])
        else:
            contexts[-1].append(word)
    return contexts


def parsed(context: list[str]) -> tuple[str, dict[str, str], list[str]]:
    """Host, environment and program of one context."""
    assert context[:3] == ["-np", "1", "--host"], context
    host, rest = context[3].split(":")[0], context[4:]
    environment = {}
    while rest[0] == "-x":
        name, _, value = rest[1].partition("=")
        environment[name] = value
        rest = rest[2:]
    return host, environment, rest


if __name__ == "__main__":
    sys.exit(main())
