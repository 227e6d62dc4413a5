"""A fabric of numbers: rate cuts, noise and dips, for measuring how well the decoder localises.

The model: a reading is the slower of what its two ports, the leaves and uplinks on its path, and the pair itself
can carry, times Gaussian noise; a share of readings dips by 5 to 25 percent for no reason.
Readings are independent. It is a model of plans, not of packets.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from netkit.model.probe import Distance, Fabric, Group, Reading, Round, RoundKind, Verdict
from netkit.probe.investigation import Investigation
from netkit.probe.localise import Settings
from netkit.probe.plan import Port

_DEEPEST_DIP = 0.25
_SHALLOWEST_DIP = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Slowdowns as fractions of one, by component; `uniform` applies to everything."""

    ports: Mapping[Port, float] = field(default_factory=dict)
    leaves: Mapping[tuple[int, str], float] = field(default_factory=dict)
    uplinks: Mapping[tuple[int, str], float] = field(default_factory=dict)
    pairs: Mapping[tuple[int, frozenset[str]], float] = field(default_factory=dict)
    uniform: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Relative standard deviation of a reading, and the share of readings that dip."""

    sigma: float
    dips: float


class World:
    """One simulated fabric with its faults and its own random numbers."""

    def __init__(self, fabric: Fabric, faults: Faults, noise: Noise, seed: int, line_rate: float = 50e9) -> None:
        self.fabric = fabric
        self.faults = faults
        self.noise = noise
        self.line_rate = line_rate
        self._rng = random.Random(f"{seed}:world")

    def measure(self, planned: Round) -> list[Reading]:
        """Return one reading per group and rail of a round; intra-node rounds show ample processors."""
        if planned.kind is RoundKind.INTRA:
            return []
        return [
            self._read(planned.number, group, rail, capacity)
            for group in planned.groups
            for rail, capacity in zip(group.rails, self._capacities(group), strict=True)
        ]

    def _read(self, number: int, group: Group, rail: int, capacity: float) -> Reading:
        rng = self._rng
        rate = capacity * (1 + self.noise.sigma * rng.gauss(0.0, 1.0))
        if rng.random() < self.noise.dips:
            rate *= 1 - rng.uniform(_SHALLOWEST_DIP, _DEEPEST_DIP)
        return Reading(round=number, rail=rail, nodes=group.nodes, distance=group.distance, forward=rate, reverse=rate)

    def _capacities(self, group: Group) -> list[float]:
        return [self.line_rate * (1 - self.faults.uniform) * (1 - self._slowdown(group, rail)) for rail in group.rails]

    def _slowdown(self, group: Group, rail: int) -> float:
        faults = self.faults
        worst = max((faults.ports.get((node, rail), 0.0) for node in group.nodes), default=0.0)
        if not (faults.leaves or faults.uplinks or faults.pairs):
            return worst
        leaves = [(rail, self.fabric.leaf_of.get(node, "")) for node in group.nodes]
        on_path = [faults.leaves.get(leaf, 0.0) for leaf in leaves]
        on_path.append(faults.pairs.get((rail, frozenset(group.nodes)), 0.0))
        if group.distance is Distance.FAR:
            on_path += [faults.uplinks.get(leaf, 0.0) for leaf in leaves]
        return max(worst, *on_path)


def investigate(world: World, settings: Settings | None = None, *, seed: int = 0) -> tuple[Verdict, Investigation]:
    """Run a whole probe against a simulated fabric."""
    investigation = Investigation(world.fabric, settings, seed=seed)
    while (planned := investigation.next_round()) is not None:
        investigation.record(world.measure(planned))
    return investigation.verdict(), investigation
