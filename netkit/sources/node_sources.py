"""What a node is read from: its files, its kernel, the drivers of its accelerators; live, recorded or made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from netkit.sources.drivers import Drivers, LiveDrivers
from netkit.sources.netlink.kernel import Kernel, LiveKernel
from netkit.sources.tree import LiveTree, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSources:
    """Kernel and drivers are None where only files are there: an older recording, or another machine's folders.

    To be used in a `with`: sockets and the process that is in a driver are let go at its end.
    """

    tree: Tree
    kernel: Kernel | None = None
    drivers: Drivers | None = None
    closing: tuple[Callable[[], None], ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        for close in self.closing:
            close()


def live_sources(tree: Tree | None = None) -> NodeSources:
    """Return this machine, for one thread."""
    from netkit.sources.patient_tree import PatientTree

    kernel, drivers = LiveKernel(), LiveDrivers()
    return NodeSources(
        tree=PatientTree(tree or LiveTree()), kernel=kernel, drivers=drivers, closing=(kernel.close, drivers.close)
    )
