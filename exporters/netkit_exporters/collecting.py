"""What a collector is: a file that names its targets; each target is read by itself, with a deadline of its own.

A collector never touches HTTP, text or clocks of the server: it turns what `netkit.sources` read into samples of rows
of the catalogue. A target is the smallest thing that may hang alone (one RDMA device, one NIC), so that it costs no
sibling anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from netkit.catalogue.metrics import Metric
from netkit.model.missing import Missing
from netkit.sources.drivers import Drivers
from netkit.sources.netlink.kernel import Kernel
from netkit.sources.tree import Tree


class State(StrEnum):
    """How the last reading of a collector or of one of its targets ended."""

    OK = "ok"
    NO_DATA = "no_data"
    """The machine has no such thing: quiet, and not an error."""
    ERROR = "error"
    HUNG = "hung"
    STALE = "stale"


class Sample(NamedTuple):
    """One value of one series: `labels` are the values in the order of `metric.labels`.

    A value in bytes is passed through as it was read; whoever makes one has checked that it is a decimal number.
    """

    metric: Metric
    labels: tuple[str, ...]
    value: float | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one target gave: samples, and what of it could not be read (counted by reason, never guessed)."""

    samples: Sequence[Sample] = ()
    faults: Sequence[Missing] = ()
    state: State = State.OK


class Target(Protocol):
    """Something that can be read alone."""

    @property
    def key(self) -> str:
        """What a person would call it, such as `mlx5_0`; unique within its collector."""
        ...

    def read(self) -> Reading:
        """Read it now; may take long or never return. Never called twice at the same time."""
        ...


class Source(Protocol):
    """A started collector."""

    def targets(self) -> Sequence[Target] | Missing:
        """Return the targets of this refresh. The same key gives the same object while the thing is the same one."""
        ...

    def close(self) -> None:
        """Let go of descriptors, sockets and children."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where collectors read: this node, folders that look like one, or a recording."""

    tree: Tree
    open_kernel: Callable[[], Kernel] | None
    """Opens a netlink conversation for one thread; None where only files were recorded."""
    open_drivers: Callable[[], Drivers] | None = None
    """Opens what asks the accelerators' drivers, for one thread; None where they are another machine's."""
    roots: Mapping[str, str] = field(default_factory=dict)
    """Folders of `sys` and `proc` for readers that keep descriptors open; empty for a recording."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What was said on the command line for single collectors: `platform`, `pod_labels`, `nccl_results`…"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """The one constant (`COLLECTOR`) of every file in `collectors/`; `id` is the name of the file."""

    id: str
    question: str
    """One line: which question its series answer."""
    open: Callable[[Machine], Source]
    metrics: tuple[Metric, ...]
    """Every family it may give, rows of the catalogue."""
    interval_seconds: float | None = None
    """Only for what must be read seldom (optics); None follows `--refresh`."""
    deadline_seconds: float = 2.0
    """Per target; a longer reading is `hung`."""
    default: bool = True
