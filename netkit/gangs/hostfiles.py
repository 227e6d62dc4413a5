"""Hostfiles in ConfigMaps: which pods they name, in which order, with how many slots.

Forms: `host slots=N` (Open MPI, DeepSpeed), `host:N` (Intel MPI, MPICH) and one host a line (Volcano). A host is a
pod's name, alone or with its subdomain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netkit.model.kube_object import KubeObject

_LINE = re.compile(
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,252})(?:\s+slots\s*=\s*(?P<slots>\d{1,4})|:(?P<per>\d{1,4}))?(?:\s.*)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLine:
    """One host and its slots; slots None: the file does not say."""

    host: str
    slots: int | None


def host_lines(lines: Sequence[str]) -> tuple[HostLine, ...]:
    """Return the hosts of a hostfile; comments and empty lines are passed over, and so is what is no host."""
    found = []
    for line in lines:
        match = _LINE.fullmatch(line.partition("#")[0].strip())
        if match:
            slots = match["slots"] or match["per"]
            found.append(HostLine(host=match["host"], slots=int(slots) if slots else None))
    return tuple(found)


def files_of(config: KubeObject) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name and lines of each file in a ConfigMap as it was read: its texts were split into lines."""
    for name, lines in config.fields("data").items():
        if isinstance(lines, list):
            yield name, tuple(line for line in lines if isinstance(line, str))


def order_in(lines: Sequence[HostLine], pods: Sequence[KubeObject]) -> Mapping[str, int]:
    """Return the place of each pod in a hostfile, by uid; pods it does not name are left out."""
    places = {line.host: at for at, line in reversed(list(enumerate(lines)))}
    short = {line.host.partition(".")[0]: at for at, line in reversed(list(enumerate(lines)))}
    found = {}
    for pod in pods:
        names = (pod.name, pod.text("spec", "hostname"))
        place = next(
            (place for name in names if name for place in (places.get(name), short.get(name)) if place is not None),
            None,
        )
        if place is not None:
            found[pod.uid] = place
    return found
