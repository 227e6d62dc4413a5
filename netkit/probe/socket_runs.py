"""Measuring with the agents' own sockets: TCP pair by pair on every rail, and what the processors alone can move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from netkit.model.probe import Fabric, GangReading, Reading, Round, RoundKind
from netkit.probe.all_reduce import all_reduce
from netkit.probe.assembly import Assembly
from netkit.probe.inside import ceilings, look_inside
from netkit.probe.pairs import PairMeasurement


@dataclass(slots=True, kw_only=True)
class SocketRuns:
    """Measures the rounds of one probe; what each node can move inside is remembered from the first."""

    gang: Assembly
    warn: Callable[[str], None]
    _inside: list[Reading] = field(default_factory=list)

    @property
    def fabric(self) -> Fabric:
        """The gang as its members told."""
        return self.gang.fabric

    @property
    def interfaces(self) -> Sequence[Sequence[str]]:
        """Those of the rails, by rank."""
        return self.gang.interfaces

    def measure(
        self, planned: Round, take: Callable[[Reading], None], take_gang: Callable[[GangReading], None]
    ) -> None:
        """Take the readings of one round; the first looks inside the nodes, and at all of them together."""
        if planned.kind is not RoundKind.INTRA:
            PairMeasurement(gang=self.gang, ceilings=ceilings(self._inside), take=take).measure(planned)
            return
        for reading in look_inside(self.gang, planned):
            self._inside.append(reading)
            take(reading)
        result = all_reduce(self.gang)
        for gang_reading in result.readings:
            take_gang(gang_reading)
        if result.warning is not None:
            self.warn(result.warning)
