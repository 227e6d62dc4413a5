"""From readings to the components that explain the low ones.

A port is suspect when every reading it had is low, whoever its partner was; it is convicted when it stayed low
with `confirmations` further partners and the product of the chances that noise did it stays below the family-wise
bound over all ports. One clean reading drops a suspect: a fault is there with every partner, a dip is not.
An uplink is suspect when the readings that leave its leaf are low while its ports are clean; a pair when only the
two together are low. Linear in readings, but for sorting them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from netkit.model.probe import Distance, Fabric, Reading
from netkit.probe.ledger import LAST_MATCHING_ROUND, Ledger
from netkit.probe.noise import Cohort, cohorts, with_reference, without
from netkit.probe.plan import Port, Suspicion

# This share of a leaf's ports, a node's rails or an uplink's readings must be low to blame the whole.
_WHOLE_SHARE = 0.75

Uplink = tuple[int, frozenset[str]]
PairKey = tuple[str, str, int]
CutAt = Callable[[float, float], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the decoder may risk and what it should bother with; shares and chances are fractions of one.

    `family_wise` bounds the chance that a healthy run names any component; `smallest_effect` is the slowdown below
    which nothing is reported however certain; `power` the chance with which a fault of the claimed smallest size is
    found; `useless_beyond` the smallest detectable slowdown above which a run
    without findings is inconclusive instead of healthy; `uniform_shortfall` how far below line rate a whole fabric
    may read; `pair_share` the part of the family-wise chance spent on pairs, which fail alone far less often than
    ports do; `doubtful_below` the expected number of such cases in a healthy run below which an unproven suspect makes
    the run inconclusive.
    """

    family_wise: float = 0.01
    smallest_effect: float = 0.04
    confirmations: int = 3
    power: float = 0.98
    uniform_shortfall: float = 0.10
    useless_beyond: float = 0.35
    pair_share: float = 0.05
    doubtful_below: float = 0.05

    @property
    def readings_for_conviction(self) -> int:
        """How many readings a port has when it is convicted: one per matching, then the confirmations."""
        return LAST_MATCHING_ROUND - 1 + self.confirmations


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """What the readings accuse: each suspect with the readings that accuse it.

    `cuts` and `pair_cuts` are the relative rates per distance below which a reading counts as low for a port or a
    pair; a distance without one has too few readings.
    """

    cohorts: Mapping[Distance, Cohort]
    cuts: Mapping[Distance, float]
    pair_cuts: Mapping[Distance, float]
    ports: Mapping[Port, Sequence[Reading]]
    uplinks: Mapping[Uplink, Sequence[Reading]]
    pairs: Mapping[PairKey, Sequence[Reading]]

    def relative(self, reading: Reading) -> float:
        """Rate as a share of its cohort's centre; a reading that could not connect moved nothing."""
        return (
            (reading.rate or 0.0) / self.cohorts[reading.distance].center if reading.distance in self.cohorts else 0.0
        )

    def chance(self, readings: Iterable[Reading]) -> float:
        """Chance that noise alone made every one of the readings this low."""
        return math.prod(self._tail(reading) for reading in readings)

    def _tail(self, reading: Reading) -> float:
        cohort = self.cohorts.get(reading.distance)
        return cohort.tail(self.relative(reading)) if cohort else 1.0


def blame(ledger: Ledger, settings: Settings) -> Blame:
    """Return every component that all its readings so far accuse.

    Two passes: the first finds what the low readings have in common, the second measures the noise without them.
    """
    measured = cohorts(ledger)
    levels = with_reference(measured)
    cores = {distance: cohort.core_cut for distance, cohort in levels.items()}
    explained = _explained(ledger, _accuse(ledger, settings, levels, cores, cores))
    levels = with_reference({distance: without(cohort, explained) for distance, cohort in measured.items()})
    for_ports = {distance: cohort.cut for distance, cohort in levels.items()}
    for_pairs = {distance: partial(cohort.cut, own=1) for distance, cohort in levels.items()}
    return _accuse(ledger, settings, levels, for_ports, for_pairs)


def open_suspicion(accused: Blame, settings: Settings) -> Suspicion:
    """What another confirmation round should look at."""
    return Suspicion(
        ports={port for port, readings in accused.ports.items() if _confirmed(readings) < settings.confirmations},
        pairs={key for key, readings in accused.pairs.items() if _confirmed(readings) < settings.confirmations},
        uplinks={
            uplink
            for uplink, readings in accused.uplinks.items()
            if len({reading.round for reading in readings}) <= settings.confirmations
        },
    )


def convicted_ports(accused: Blame, fabric: Fabric, settings: Settings) -> dict[Port, Sequence[Reading]]:
    """Suspect ports that stayed low often enough, at the family-wise level over all ports."""
    bound = settings.family_wise / fabric.ports
    return {
        port: readings
        for port, readings in accused.ports.items()
        if _confirmed(readings) >= settings.confirmations and accused.chance(readings) <= bound
    }


def convicted_pairs(accused: Blame, fabric: Fabric, settings: Settings) -> dict[PairKey, Sequence[Reading]]:
    """Suspect pairs that stayed low often enough, at their share of the family-wise level."""
    bound = settings.pair_share * settings.family_wise / fabric.ports
    return {
        key: readings
        for key, readings in accused.pairs.items()
        if _confirmed(readings) >= settings.confirmations and accused.chance(readings) <= bound
    }


def convicted_uplinks(accused: Blame, settings: Settings) -> dict[Uplink, Sequence[Reading]]:
    """Suspect uplinks whose readings were low, as a group, in every round that loaded them."""
    return {
        uplink: readings
        for uplink, readings in accused.uplinks.items()
        if len({reading.round for reading in readings}) > settings.confirmations
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Convicted ports that belong to one component: a leaf of a rail, a node, or a single port."""

    rail: int | None
    node: str | None
    leaf: str | None
    ports: tuple[Port, ...]


def wholes(convicted: Collection[Port], suspects: Collection[Port], fabric: Fabric) -> list[Whole]:
    """Explain the convicted ports by as few components as possible: the one that covers most goes first.

    Suspects that ran out of fresh partners count towards a component that is convicted anyway.
    """
    left = set(convicted) | set(suspects)
    proven = set(convicted)
    found = []
    for whole in sorted(_candidates(left, fabric), key=lambda whole: (-len(whole.ports), whole.node is None)):
        if left.issuperset(whole.ports) and len(proven.intersection(whole.ports)) >= 2:
            left.difference_update(whole.ports)
            found.append(whole)
    return found + [Whole(rail=port[1], node=port[0], leaf=None, ports=(port,)) for port in sorted(left & proven)]


def _candidates(low: Collection[Port], fabric: Fabric) -> Iterator[Whole]:
    """Yield every leaf and node most of whose ports are low."""
    leaves: dict[str, list[str]] = {}
    for node in fabric.nodes:
        leaves.setdefault(fabric.leaf_of.get(node, ""), []).append(node)
    for rail in sorted({rail for _, rail in low}):
        for leaf, nodes in leaves.items():
            ports = tuple((node, rail) for node in nodes if (node, rail) in low)
            if len(ports) >= 2 and len(ports) >= _WHOLE_SHARE * len(nodes):
                yield Whole(rail=rail, node=None, leaf=leaf, ports=ports)
    for node in sorted({node for node, _ in low}):
        ports = tuple((node, rail) for rail in range(fabric.rails) if (node, rail) in low)
        if len(ports) >= 2 and len(ports) >= _WHOLE_SHARE * fabric.rails:
            yield Whole(rail=None, node=node, leaf=None, ports=ports)


def _accuse(
    ledger: Ledger,
    settings: Settings,
    levels: Mapping[Distance, Cohort],
    port_cut_at: Mapping[Distance, CutAt],
    pair_cut_at: Mapping[Distance, CutAt],
) -> Blame:
    bound = settings.family_wise / ledger.fabric.ports
    port_cuts = _cuts(port_cut_at, bound ** (1 / settings.readings_for_conviction), settings.smallest_effect)
    pair_bound = settings.pair_share * bound
    pair_cuts = _cuts(pair_cut_at, pair_bound ** (1 / (1 + settings.confirmations)), settings.smallest_effect)
    port_limits = {distance: cut * levels[distance].center for distance, cut in port_cuts.items()}
    pair_limits = {distance: cut * levels[distance].center for distance, cut in pair_cuts.items()}
    low = _low(ledger, port_limits)
    suspects = {(node, reading.rail) for reading in low for node in reading.nodes}
    of_suspects = {port: ledger.of_port(*port) for port in sorted(suspects)}
    low_ports = {port: seen for port, seen in of_suspects.items() if all(_is_low(each, port_limits) for each in seen)}
    unexplained = [reading for reading in low if not _touches(reading, low_ports)]
    uplinks = _uplinks(ledger, unexplained, low_ports)
    ports = _without_crossings(ledger, low_ports, uplinks)
    alone = [
        reading
        for reading in unexplained
        # A first low reading during confirmation comes too late to be repeated, and is most often a dip.
        if reading.round <= LAST_MATCHING_ROUND and not _crosses(ledger, reading, uplinks)
    ]
    repeats = {_pair_key(reading): _repeats(ledger, reading) for reading in alone}
    pairs = {key: seen for key, seen in repeats.items() if all(_is_low(reading, pair_limits) for reading in seen)}
    blame = Blame(cohorts=levels, cuts=port_cuts, pair_cuts=pair_cuts, ports=ports, uplinks=uplinks, pairs=pairs)
    return replace(blame, pairs={key: seen for key, seen in pairs.items() if _ends_are_clean(ledger, blame, key)})


def _without_crossings(
    ledger: Ledger, ports: Mapping[Port, Sequence[Reading]], uplinks: Mapping[Uplink, object]
) -> dict[Port, Sequence[Reading]]:
    """Readings that cross a slow uplink say nothing of the ports behind it."""
    if not uplinks:
        return dict(ports)
    own = {port: [each for each in seen if not _crosses(ledger, each, uplinks)] for port, seen in ports.items()}
    return {port: seen for port, seen in own.items() if seen}


def _cuts(cut_at: Mapping[Distance, CutAt], chance: float, smallest_effect: float) -> dict[Distance, float]:
    cuts = {distance: cut(chance, smallest_effect) for distance, cut in cut_at.items()}
    return {distance: cut for distance, cut in cuts.items() if cut is not None}


def _low(ledger: Ledger, limits: Mapping[Distance, float]) -> list[Reading]:
    """Readings at or below the limit of their distance, and those that moved nothing."""
    low = list(ledger.missing)
    for distance, limit in limits.items():
        entry = ledger.by_distance[distance]
        low += [reading for rate, reading in zip(entry.rates, entry.readings, strict=True) if rate <= limit]
    return low


def _is_low(reading: Reading, limits: Mapping[Distance, float]) -> bool:
    rate = reading.rate
    return rate is None or rate <= limits.get(reading.distance, -1.0)


def _uplinks(ledger: Ledger, low: Iterable[Reading], ports: Mapping[Port, object]) -> dict[Uplink, list[Reading]]:
    """Leaves of a rail of which nearly all traffic to other leaves is low, in every round, though the ports are not."""
    low_keys = {id(reading) for reading in low if reading.distance is Distance.FAR}
    rails = {reading.rail for reading in low if reading.distance is Distance.FAR}
    crossing: dict[tuple[int, str], list[Reading]] = {}
    for reading in ledger if rails else ():
        if reading.rail in rails and reading.distance is Distance.FAR and not _touches(reading, ports):
            for leaf in ledger.leaves(reading):
                crossing.setdefault((reading.rail, leaf), []).append(reading)
    accused = {key: seen for key, seen in crossing.items() if _low_in_every_round(seen, low_keys)}
    return _merge_two_leaf_rails(ledger.fabric, accused)


def _low_in_every_round(readings: Sequence[Reading], low_keys: set[int]) -> bool:
    rounds: dict[int, list[bool]] = {}
    for reading in readings:
        rounds.setdefault(reading.round, []).append(id(reading) in low_keys)
    return all(len(lows) >= 2 and sum(lows) >= _WHOLE_SHARE * len(lows) for lows in rounds.values())


def _merge_two_leaf_rails(
    fabric: Fabric, accused: Mapping[tuple[int, str], Sequence[Reading]]
) -> dict[Uplink, list[Reading]]:
    """With two leaves all crossing traffic passes both uplinks: they are accused together."""
    leaves = frozenset(fabric.leaf_of.values())
    if len(leaves) == 2:
        return {(rail, leaves): list(seen) for (rail, _), seen in sorted(accused.items())}
    return {(rail, frozenset({leaf})): list(seen) for (rail, leaf), seen in sorted(accused.items())}


def _repeats(ledger: Ledger, low: Reading) -> list[Reading]:
    """All readings of the same pair on the same rail."""
    key = _pair_key(low)
    return [reading for reading in ledger.of_port(low.nodes[0], low.rail) if _pair_key(reading) == key]


def _ends_are_clean(ledger: Ledger, accused: Blame, key: PairKey) -> bool:
    """Tell whether both ends, with other partners, are nearer to healthy than to what the pair reads together."""
    first, second, rail = key
    halfway = (1 + median_relative(accused, accused.pairs[key])) / 2
    for node in (first, second):
        others = [reading for reading in ledger.of_port(node, rail) if _pair_key(reading) != key]
        if not others or median_relative(accused, others) < halfway:
            return False
    return True


def _pair_key(reading: Reading) -> PairKey:
    first, second = sorted(reading.nodes)
    return first, second, reading.rail


def _touches(reading: Reading, ports: Mapping[Port, object]) -> bool:
    rail = reading.rail
    return any((node, rail) in ports for node in reading.nodes)


def _crosses(ledger: Ledger, reading: Reading, uplinks: Mapping[Uplink, object]) -> bool:
    if reading.distance is not Distance.FAR or not uplinks:
        return False
    return any(rail == reading.rail and ledger.leaves(reading) & named for rail, named in uplinks)


def _confirmed(readings: Iterable[Reading]) -> int:
    return sum(reading.round > LAST_MATCHING_ROUND for reading in readings)


def median_relative(accused: Blame, readings: Sequence[Reading]) -> float:
    """Median rate of the readings as a share of the healthy rate of their distance."""
    return median(accused.relative(reading) for reading in readings)


def _explained(ledger: Ledger, accused: Blame) -> list[Reading]:
    """Readings that suspect ports, uplinks or repeatedly low pairs account for, each once."""
    repeated = [readings for readings in accused.pairs.values() if len(readings) > 1]
    found = {id(reading): reading for readings in [*accused.ports.values(), *repeated] for reading in readings}
    rails = {rail for rail, _ in accused.uplinks}
    if rails and Distance.FAR in ledger.by_distance:
        far = ledger.by_distance[Distance.FAR].readings
        found |= {id(reading): reading for reading in far if reading.rail in rails}
    return list(found.values())
