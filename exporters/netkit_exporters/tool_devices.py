"""Accelerators that only their maker's tool tells about: started seldom, off any scrape, with a deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netkit.model.gpu import GpuInventory
from netkit.model.missing import Missing, Reason
from netkit.sources.drivers import Drivers
from netkit_exporters.collecting import Machine, Reading, Source, Target
from netkit_exporters.gpu_samples import reading_of

SECONDS_BETWEEN = 30.0
DEADLINE_SECONDS = 60.0


class _Devices:
    """All devices together: the tool lists them all."""

    def __init__(self, machine: Machine, tool: str, read: Callable[[Drivers], GpuInventory | Missing]) -> None:
        self.key = tool
        self._machine = machine
        self._read = read
        self._drivers: Drivers | None = None

    def read(self) -> Reading:
        """Ask the tool once."""
        if self._drivers is None:
            assert self._machine.open_drivers is not None
            self._drivers = self._machine.open_drivers()
        return reading_of(self._read(self._drivers))

    def targets(self) -> Sequence[Target] | Missing:
        """Return the devices; Missing where the tool would speak of another machine."""
        if self._machine.open_drivers is None:
            return Missing(reason=Reason.UNSUPPORTED, where=self.key, detail="only files were recorded")
        return (self,)

    def close(self) -> None:
        """End whatever asks the drivers."""
        close = getattr(self._drivers, "close", None)
        if close is not None:
            close()


def by_tool(tool: str, read: Callable[[Drivers], GpuInventory | Missing]) -> Callable[[Machine], Source]:
    """Return how to open a collector that asks one tool."""
    return lambda machine: _Devices(machine, tool, read)
