"""Read a node with a recorder before each of its sources: the recording, as text, answers the same readers again."""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.node import NodeSnapshot
from netkit.sources.drivers import RecordingDrivers
from netkit.sources.netlink.memory import RecordingKernel
from netkit.sources.node_sources import NodeSources
from netkit.sources.recording import RecordingTree
from netkit.sources.recording_file import dump
from netkit.sources.redaction import redactor_of
from netkit.sources.snapshot import read_node


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A recording, how many answers are in it, and the node as it was read, with its names."""

    text: str
    answers: int
    node: NodeSnapshot


def record_node(sources: NodeSources, now: float, *, redact: bool = False, virtual_functions: bool = False) -> Recorded:
    """Return the recording of a node at `now`, in seconds since 1970."""
    tree = RecordingTree(sources.tree)
    kernel = RecordingKernel(sources.kernel) if sources.kernel else None
    drivers = RecordingDrivers(sources.drivers) if sources.drivers else None
    node = read_node(tree, now, kernel=kernel, drivers=drivers, virtual_functions=virtual_functions)
    answers, asked, told = tree.answers, kernel.rows() if kernel else (), drivers.rows() if drivers else ()
    if redact:
        redactor = redactor_of(answers)
        answers, asked, told = redactor.answers(answers), redactor.kernel(asked), redactor.drivers(told)
    text = dump(answers, taken_at=now, redacted=redact, kernel=asked, drivers=told)
    return Recorded(text=text, answers=len(answers) + len(asked) + len(told), node=node)
