"""The command line of Open MPI's mpirun(1) that puts each rank where it is wanted, with its own environment. Pure.

One application context a rank (`-np 1 --host H … : …`): ranks are numbered in the order of the contexts, which holds
for Open MPI 4 and 5, and `-x` belongs to its context alone. The hostfile gives the slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HOSTFILE = "hosts"
ENVIRONMENT: Mapping[str, str] = {
    # Who logs in as root to start agents has decided so; mpirun would refuse.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One rank: where it runs and what it gets beside what all get."""

    host: str
    environment: Mapping[str, str] = field(default_factory=dict)


def hostfile(processes: Sequence[Process]) -> str:
    """Return the hostfile: each host once, with as many slots as it has ranks, in order of appearance."""
    return "".join(f"{host} slots={count}\n" for host, count in Counter(one.host for one in processes).items())


def command_line(mpirun: str, processes: Sequence[Process], program: Sequence[str]) -> list[str]:
    """Return the words that start `program` once for each process, world rank by position."""
    slots = Counter(one.host for one in processes)
    words = [mpirun, "--hostfile", HOSTFILE, "--bind-to", "none"]
    for number, one in enumerate(processes):
        words += [":"] if number else []
        words += ["-np", "1", "--host", f"{one.host}:{slots[one.host]}"]
        for name, value in sorted(one.environment.items()):
            words += ["-x", f"{name}={value}"]
        words += program
    return words
