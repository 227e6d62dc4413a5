"""AMD GPUs: what the amdgpu driver shows in `/sys/class/drm/card<n>/device`. Linux Documentation/gpu/amdgpu."""

from __future__ import annotations

from collections.abc import Sequence

from netkit.catalogue.metric_rows import gpu as rows
from netkit.model.missing import Missing
from netkit.sources.amd import read_amd_gpus
from netkit_exporters.collecting import Collector, Machine, Reading, State, Target
from netkit_exporters.gpu_samples import reading_of


class _Cards:
    """All cards together: a reading is a handful of files each."""

    key = "amdgpu"

    def __init__(self, machine: Machine) -> None:
        self._tree = machine.tree

    def read(self) -> Reading:
        """Read every card once."""
        found = read_amd_gpus(self._tree)
        reading = reading_of(found)
        return reading if reading.samples else Reading(faults=reading.faults, state=State.NO_DATA)

    def targets(self) -> Sequence[Target] | Missing:
        """Return the cards."""
        return (self,)

    def close(self) -> None:
        """Nothing stays open."""


COLLECTOR = Collector(id="amd", question="How busy, warm and healthy are the AMD GPUs?", open=_Cards, metrics=rows.ROWS)
