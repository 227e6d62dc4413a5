"""Rounds until a verdict: plan a round, take its readings, decide what is still open, judge.

Pure: whoever measures (agents on real links, or the simulator) calls `next_round`, then `record`, until there is no
next round, then `verdict`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from netkit.model.probe import Answer, Distance, Fabric, FaultClass, ProbeFinding, Reading, Round, Verdict
from netkit.model.units import show_percent
from netkit.probe import findings, localise, plan
from netkit.probe.ledger import LAST_MATCHING_ROUND, Ledger
from netkit.probe.localise import Blame, PairKey, Settings, Uplink
from netkit.probe.plan import Port

_SHOWN = 5


class Investigation:
    """One probe of one gang, from the first round to the verdict."""

    def __init__(self, fabric: Fabric, settings: Settings | None = None, *, seed: int = 0) -> None:
        self.fabric = fabric
        self.settings = settings or Settings()
        self.seed = seed
        self.rounds: list[Round] = []
        self.readings: list[Reading] = []
        self._ledger = Ledger(fabric)
        self._history = plan.History()
        self._accused: Blame | None = None

    def next_round(self) -> Round | None:
        """Return the next round to measure, or None when a verdict can be given."""
        planned = self._plan(len(self.rounds) + 1)
        if planned is None or not planned.groups:
            return None
        self.rounds.append(planned)
        self._history.add(planned.groups)
        return planned

    def record(self, readings: Sequence[Reading]) -> None:
        """Take the readings of the round handed out last."""
        self.readings += readings
        self._ledger.add(readings)
        self._accused = None

    def verdict(self) -> Verdict:
        """Judge what was recorded so far."""
        if len(self.fabric.nodes) < plan.SMALLEST_COHORT:
            return _small_gang_verdict(self.fabric, list(self._ledger), self.readings, self.settings)
        return self._judge(self._blame())

    def _blame(self) -> Blame:
        if self._accused is None:
            self._accused = localise.blame(self._ledger, self.settings)
        return self._accused

    def _plan(self, number: int) -> Round | None:
        if number == 1:
            return plan.intra_round(self.fabric)
        if len(self.fabric.nodes) < plan.SMALLEST_COHORT:
            rounds = plan.small_gang_rounds(self.fabric)
            return rounds[number - 2] if number - 2 < len(rounds) else None
        if number == 2:
            return plan.near_round(self.fabric, self.seed)
        if number == LAST_MATCHING_ROUND:
            return plan.far_round(self.fabric, self.seed, self.rounds[1])
        if number > LAST_MATCHING_ROUND + self.settings.confirmations:
            return None
        suspicion = localise.open_suspicion(self._blame(), self.settings)
        return plan.confirm_round(self.fabric, number, suspicion, self._history, self.seed) if suspicion else None

    def _judge(self, accused: Blame) -> Verdict:
        ports = localise.convicted_ports(accused, self.fabric, self.settings)
        pairs = localise.convicted_pairs(accused, self.fabric, self.settings)
        uplinks = localise.convicted_uplinks(accused, self.settings)
        blamed = localise.wholes(ports, accused.ports, self.fabric)
        found = [findings.whole_finding(accused, whole, self.fabric) for whole in blamed]
        found += self._uplink_findings(accused, uplinks)
        found += [findings.pair_finding(accused, pair, readings) for pair, readings in pairs.items()]
        found += self._shortfalls(accused)
        suspects = self._unproven(accused, {port for whole in blamed for port in whole.ports}, pairs.keys())
        smallest = self._smallest_slowdown(accused)
        gaps = _unmeasured(self.readings, found)
        return _verdict(
            sorted(found, key=lambda finding: -finding.slowdown),
            smallest,
            doubts=[*_doubts(suspects, gaps), *self._blindness(smallest)],
            noise=accused,
            settings=self.settings,
            not_seen=(*self._not_known(accused), *(f"not measured: {gap}" for gap in gaps)),
        )

    def _unproven(self, accused: Blame, ports: Collection[Port], pairs: Collection[PairKey]) -> list[str]:
        """Suspects left without enough confirmations that noise does not readily explain either."""
        left: dict[str, Sequence[Reading]] = {
            f"{node} rail {rail}": seen for (node, rail), seen in accused.ports.items() if (node, rail) not in ports
        }
        for key, seen in accused.pairs.items():
            if key not in pairs:
                left["{}:{} rail {}".format(*key)] = seen
        limit = self.settings.doubtful_below / self.fabric.ports
        return [name for name, seen in left.items() if accused.chance(seen) < limit]

    def _shortfalls(self, accused: Blame) -> list[ProbeFinding]:
        """What no comparison inside the gang can show: everything slow alike."""
        best = accused.cohorts.get(Distance.NEAR) or accused.cohorts.get(Distance.FAR)
        line_rate = self.fabric.line_rate
        if best and line_rate and best.center < (1 - self.settings.uniform_shortfall) * line_rate:
            return [findings.uniform_finding(best.center, line_rate)]
        return []

    def _uplink_findings(self, accused: Blame, uplinks: Mapping[Uplink, Sequence[Reading]]) -> list[ProbeFinding]:
        """One finding per uplink, or a single one when every rail is slow across leaves and none is left to compare."""
        if self.fabric.rails > 1 and {rail for rail, _ in uplinks} == set(range(self.fabric.rails)):
            return [findings.slow_between_leaves_finding(accused, [each for seen in uplinks.values() for each in seen])]
        return [findings.uplink_finding(accused, uplink, readings) for uplink, readings in uplinks.items()]

    def _smallest_slowdown(self, accused: Blame) -> float | None:
        """Return the slowdown of one rail that the rounds planned would have shown with the power asked for."""
        if not accused.cohorts or accused.cohorts.keys() - accused.cuts.keys():
            return None
        count = self.settings.readings_for_conviction
        return max(
            cohort.smallest_slowdown(accused.cuts[distance], self.settings.power, count)
            for distance, cohort in accused.cohorts.items()
        )

    def _blindness(self, smallest: float | None) -> list[str]:
        if smallest is None:
            return ["too few usable readings to tell noise from a fault"]
        if smallest > self.settings.useless_beyond:
            return [f"readings vary so much that only slowdowns beyond {show_percent(smallest)} would have shown"]
        return []

    def _half_loaded_leaves(self) -> list[str]:
        """Leaves that were split between the two halves of the round across leaves."""
        crossing = self.rounds[2].groups if len(self.rounds) >= LAST_MATCHING_ROUND else ()
        far = [group.nodes for group in crossing if group.distance is Distance.FAR]
        firsts, seconds = ({self.fabric.leaf_of.get(nodes[side], "") for nodes in far} for side in (0, 1))
        return sorted(firsts & seconds)

    def _not_known(self, accused: Blame) -> list[str]:
        notes = []
        if accused.cohorts.keys() - accused.pair_cuts.keys():
            notes.append("one pair's own path: too few readings to tell it from a single dip")
        if not self.fabric.line_rate:
            notes.append("a slowdown of everything alike: no line rate was given to hold the readings against")
        if not self.fabric.leaf_of:
            notes.append("leaves and uplinks: nobody said which node sits under which leaf")
        notes += [
            f"half of the uplink of leaf {leaf}: its nodes sent to both sides at once, and filled it half"
            for leaf in self._half_loaded_leaves()
        ]
        return notes


def _verdict(
    found: Sequence[ProbeFinding],
    smallest: float | None,
    *,
    doubts: Sequence[str],
    noise: Blame,
    settings: Settings,
    not_seen: Sequence[str],
) -> Verdict:
    count = settings.readings_for_conviction
    levels = tuple(
        cohort.level(
            cohort.smallest_slowdown(noise.cuts[distance], settings.power, count) if distance in noise.cuts else None
        )
        for distance, cohort in sorted(noise.cohorts.items())
    )
    answer, why = _answer(found, smallest, doubts)
    return Verdict(
        answer=answer,
        why=why,
        findings=tuple(found),
        smallest_detectable_slowdown=smallest,
        noise=levels,
        not_seen=tuple(not_seen),
    )


def _answer(found: Sequence[ProbeFinding], smallest: float | None, doubts: Sequence[str]) -> tuple[Answer, str]:
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        unsure = f"; besides, {'; '.join(doubts)}" if doubts else ""
        return Answer.SLOW, found[0].summary + more + unsure
    if doubts:
        return Answer.INCONCLUSIVE, "; ".join(doubts)
    return Answer.HEALTHY, f"no rail is slow by {show_percent(smallest or 0.0)} or more"


def _doubts(suspects: Sequence[str], gaps: Sequence[str]) -> list[str]:
    doubts = []
    if suspects:
        doubts.append(f"suspected but not proven: {_some(suspects)}")
    if gaps:
        doubts.append(f"could not measure {_some(gaps)}")
    return doubts


def _unmeasured(readings: Iterable[Reading], found: Iterable[ProbeFinding]) -> list[str]:
    """Readings that are missing, or set by the processors, and that no finding explains."""
    dead = [finding for finding in found if finding.slowdown >= 1]
    gaps: dict[str, None] = {}
    for reading in readings:
        if reading.missing is not None and not any(_explains(finding, reading) for finding in dead):
            why = reading.missing.detail if reading.tool_failed else reading.missing.reason
            gaps[f"{':'.join(reading.nodes)} rail {reading.rail} ({why})"] = None
        elif reading.cpu_bound and len(reading.nodes) == 2:
            gaps[f"{':'.join(reading.nodes)} rail {reading.rail} (bound by the processors)"] = None
    return list(gaps)


def _explains(finding: ProbeFinding, reading: Reading) -> bool:
    if finding.rail is not None and finding.rail != reading.rail:
        return False
    if finding.fault_class is FaultClass.PAIR:
        return {finding.node, finding.peer} == set(reading.nodes)
    return finding.node is None or finding.node in reading.nodes


def _some(things: Sequence[str]) -> str:
    more = f" and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
    return ", ".join(things[:_SHOWN]) + more


def _small_gang_verdict(
    fabric: Fabric, pairs: Sequence[Reading], everything: Sequence[Reading], settings: Settings
) -> Verdict:
    """Judge fewer than four nodes: no cohort exists, only the line rate can be held against them."""
    nodes = len(fabric.nodes)
    if fabric.line_rate is None or not pairs:
        why = f"{nodes} node{'s' * (nodes != 1)}: too few to compare with each other"
        why += ", and no line rate was given" if nodes > 1 else ", and no pair to measure"
        return Verdict(answer=Answer.INCONCLUSIVE, why=why, findings=(), smallest_detectable_slowdown=None)
    found = _small_gang_findings(pairs, fabric.line_rate, settings.uniform_shortfall)
    gaps = _unmeasured(everything, found)
    answer, why = _answer(found, settings.uniform_shortfall, _doubts([], gaps))
    return Verdict(
        answer=answer,
        why=why,
        findings=tuple(found),
        smallest_detectable_slowdown=settings.uniform_shortfall,
        not_seen=("noise: fewer than 4 nodes give no cohort, only the line rate was held against the readings",),
    )


def _small_gang_findings(readings: Sequence[Reading], line_rate: float, shortfall: float) -> list[ProbeFinding]:
    usable = [reading for reading in readings if reading.missing is None]
    low = [reading for reading in usable if (reading.rate or 0.0) < (1 - shortfall) * line_rate]
    if low and len(low) == len(usable) and len({(r.nodes, r.rail) for r in usable}) > 1:
        return [findings.uniform_finding(sorted(r.rate or 0.0 for r in low)[len(low) // 2], line_rate)]
    found = []
    for rail in sorted({reading.rail for reading in low}):
        here = [reading for reading in low if reading.rail == rail]
        common = set.intersection(*(set(reading.nodes) for reading in here))
        pairs = {frozenset(reading.nodes) for reading in here}
        if len(common) == 1 and len(pairs) == 2:
            found.append(findings.small_gang_finding(FaultClass.RAIL, line_rate, here, node=common.pop(), rail=rail))
        elif len(pairs) == 1:
            first, second = sorted(common)
            found.append(
                findings.small_gang_finding(FaultClass.PAIR, line_rate, here, node=first, peer=second, rail=rail)
            )
        else:
            found.append(replace(findings.uniform_finding(min(r.rate or 0.0 for r in here), line_rate), rail=rail))
    return found
