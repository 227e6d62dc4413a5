"""The readings of a probe so far, indexed the ways the decoder asks for them. Adding is constant per reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from netkit.model.probe import Distance, Fabric, Reading

# Rounds 2 and 3 are the matchings, which read every port equally often; whatever comes later confirms.
LAST_MATCHING_ROUND = 3

GroupKey = tuple[int, str, str]


@dataclass(slots=True)
class DistanceReadings:
    """Usable readings of one distance class, in order of arrival, with their rates beside them.

    `groups` holds the rates of readings that have everything but their ports in common: the same rail, the same
    leaves. Readings that confirm are not among them: they are of suspects, and would drag the middle of a small gang
    down.
    """

    readings: list[Reading] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    groups: dict[GroupKey, list[float]] = field(default_factory=dict)


@dataclass(slots=True)
class Ledger:
    """All pair readings so far. What the processors set, or a benchmark failed at, says nothing of a link: left out."""

    fabric: Fabric
    by_distance: dict[Distance, DistanceReadings] = field(default_factory=dict)
    missing: list[Reading] = field(default_factory=list)
    _by_node: dict[str, list[Reading]] = field(default_factory=dict)

    def add(self, readings: Iterable[Reading]) -> None:
        """Take over the usable and the missing readings of pairs."""
        leaf_of = self.fabric.leaf_of.get
        for reading in readings:
            if len(reading.nodes) != 2 or reading.cpu_bound or reading.tool_failed:
                continue
            first, second = reading.nodes
            self._by_node.setdefault(first, []).append(reading)
            self._by_node.setdefault(second, []).append(reading)
            rate = reading.rate
            if rate is None:
                self.missing.append(reading)
                continue
            leaves = leaf_of(first, ""), leaf_of(second, "")
            key = (reading.rail, min(leaves), max(leaves))
            entry = self.by_distance.get(reading.distance)
            if entry is None:
                entry = self.by_distance[reading.distance] = DistanceReadings()
            entry.readings.append(reading)
            entry.rates.append(rate)
            if reading.round <= LAST_MATCHING_ROUND:
                entry.groups.setdefault(key, []).append(rate)

    def __iter__(self) -> Iterator[Reading]:
        """Iterate over every reading, usable or missing."""
        for entry in self.by_distance.values():
            yield from entry.readings
        yield from self.missing

    def of_port(self, node: str, rail: int) -> list[Reading]:
        """Every reading one rail of one node took part in."""
        return [reading for reading in self._by_node.get(node, ()) if reading.rail == rail]

    def leaves(self, reading: Reading) -> set[str]:
        """The leaves a reading touches."""
        return {self.fabric.leaf_of.get(node, "") for node in reading.nodes}
