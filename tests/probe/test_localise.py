"""Faults of every class are named right in simulated fabrics, and healthy fabrics are left alone."""

from __future__ import annotations

import random
import time

import pytest

from netkit.model.missing import Missing, Reason
from netkit.model.probe import Answer, Distance, Fabric, FaultClass, Reading, Round, RoundKind, Verdict
from netkit.probe.investigation import Investigation
from netkit.probe.localise import Settings
from netkit.probe.plan import near_round
from netkit.probe.simulate import Faults, Noise, World, investigate

QUIET = Noise(sigma=0.015, dips=0.01)
CALM = Noise(sigma=0.005, dips=0.0)
NOISY = Noise(sigma=0.03, dips=0.05)


def fabric(nodes: int, rails: int, leaves: int = 1, line_rate: float | None = 50e9) -> Fabric:
    names = tuple(f"n{index}" for index in range(nodes))
    leaf_of = {name: f"l{index * leaves // nodes}" for index, name in enumerate(names)}
    return Fabric(nodes=names, rails=rails, leaf_of=leaf_of, line_rate=line_rate)


def probe(gang: Fabric, faults: Faults, noise: Noise = CALM, seed: int = 1) -> Verdict:
    return investigate(World(gang, faults, noise, seed), seed=seed)[0]


SHAPES = [(8, 2, 2), (16, 4, 2), (16, 4, 4), (9, 2, 2), (12, 8, 3)]


@pytest.mark.parametrize(("nodes", "rails", "leaves"), SHAPES)
def test_one_slow_rail_of_one_node_is_named(nodes: int, rails: int, leaves: int) -> None:
    """The port is named, and its slowdown is about what was injected."""
    verdict = probe(fabric(nodes, rails, leaves), Faults(ports={("n3", 1): 0.2}))
    (finding,) = verdict.findings
    assert (finding.fault_class, finding.node, finding.rail) == (FaultClass.RAIL, "n3", 1)
    assert finding.slowdown == pytest.approx(0.2, abs=0.03)
    assert "n3 rail 1" in verdict.why


@pytest.mark.parametrize(("nodes", "rails", "leaves"), SHAPES)
def test_a_node_slow_on_all_rails_is_one_finding(nodes: int, rails: int, leaves: int) -> None:
    """Two or more slow rails of one node are the node."""
    verdict = probe(fabric(nodes, rails, leaves), Faults(ports={("n3", rail): 0.2 for rail in range(rails)}))
    assert [(finding.fault_class, finding.node) for finding in verdict.findings] == [(FaultClass.NODE, "n3")]


@pytest.mark.parametrize("nodes", [4, 5, 6, 7])
@pytest.mark.parametrize("rails", [1, 2])
def test_a_slow_node_of_a_small_gang_is_not_taken_for_everybody(nodes: int, rails: int) -> None:
    """The rounds that confirm read the suspect again and again: they must not move the middle of the few others."""
    for seed in range(10):
        verdict = probe(fabric(nodes, rails), Faults(ports={("n2", rail): 0.3 for rail in range(rails)}), seed=seed)
        named = [(finding.fault_class, finding.node) for finding in verdict.findings]
        assert named == [(FaultClass.NODE if rails > 1 else FaultClass.RAIL, "n2")]


@pytest.mark.parametrize(("nodes", "rails", "leaves"), [(8, 2, 2), (16, 4, 2), (16, 4, 4), (12, 8, 3), (8, 1, 2)])
def test_a_slow_leaf_is_one_finding(nodes: int, rails: int, leaves: int) -> None:
    """All ports of a rail under one leaf are the leaf."""
    verdict = probe(fabric(nodes, rails, leaves), Faults(leaves={(0, "l1"): 0.2}))
    assert [(f.fault_class, f.rail, f.leaf) for f in verdict.findings] == [(FaultClass.LEAF, 0, "l1")]


@pytest.mark.parametrize(("nodes", "rails", "leaves"), [(8, 2, 2), (16, 4, 2), (16, 4, 4), (12, 8, 3), (8, 1, 2)])
def test_a_slow_uplink_is_told_from_its_ports(nodes: int, rails: int, leaves: int) -> None:
    """Only what leaves the leaf is slow: no port is blamed."""
    verdict = probe(fabric(nodes, rails, leaves), Faults(uplinks={(0, "l1"): 0.2}))
    assert [(finding.fault_class, finding.rail) for finding in verdict.findings] == [(FaultClass.UPLINK, 0)]
    assert "l1" in (verdict.findings[0].leaf or "")


@pytest.mark.parametrize(("nodes", "rails"), [(8, 2), (16, 4), (64, 8)])
def test_a_slow_pair_blames_neither_end(nodes: int, rails: int) -> None:
    """Two ports slow with each other only are a pair."""
    gang = fabric(nodes, rails, leaves=2)
    first, second = near_round(gang, 1).groups[2].nodes
    verdict = probe(gang, Faults(pairs={(1, frozenset({first, second})): 0.2}))
    (finding,) = verdict.findings
    assert finding.fault_class is FaultClass.PAIR
    assert {finding.node, finding.peer} == {first, second}


@pytest.mark.fault("H17")
@pytest.mark.parametrize(("nodes", "rails", "leaves"), [(2, 2, 1), (3, 1, 1), *SHAPES])
def test_a_uniform_shortfall_blames_no_node(nodes: int, rails: int, leaves: int) -> None:
    """Fifteen percent less everywhere is an environment, not bad hardware."""
    verdict = probe(fabric(nodes, rails, leaves), Faults(uniform=0.15))
    assert [(finding.fault_class, finding.node) for finding in verdict.findings] == [(FaultClass.UNIFORM, None)]


def test_a_uniform_shortfall_without_a_line_rate_is_said_to_be_invisible() -> None:
    """Nobody gave a line rate: healthy comes with the note that this could not be seen."""
    verdict = probe(fabric(8, 2, 2, line_rate=None), Faults(uniform=0.5))
    assert verdict.answer is Answer.HEALTHY
    assert any("line rate" in note for note in verdict.not_seen)


@pytest.mark.parametrize("noise", [QUIET, NOISY], ids=["quiet", "noisy"])
@pytest.mark.parametrize("nodes", [8, 64, 232])
def test_healthy_fabrics_have_no_findings(nodes: int, noise: Noise) -> None:
    """Twenty healthy runs, nothing named."""
    for seed in range(20):
        assert probe(fabric(nodes, 8, leaves=2), Faults(), noise, seed).findings == ()


def test_weak_faults_of_a_large_fabric_are_found_exactly() -> None:
    """Ten ports ten percent slow among 8,192, nothing else named, in six rounds."""
    gang = fabric(1024, 8)
    rng = random.Random(2)
    bad = {(node, rng.randrange(8)): 0.1 for node in rng.sample(gang.nodes, 10)}
    verdict, investigation = investigate(World(gang, Faults(ports=bad), QUIET, 2), seed=2)
    assert {(finding.node, finding.rail) for finding in verdict.findings} == bad.keys()
    assert len(investigation.rounds) <= 6


def test_in_strong_noise_it_says_what_it_cannot_see_instead_of_guessing() -> None:
    """A ten percent fault below the smallest detectable slowdown is not blamed on anyone."""
    gang = fabric(1024, 8)
    verdict = probe(gang, Faults(ports={("n3", 1): 0.1}), NOISY)
    assert verdict.smallest_detectable_slowdown is not None
    assert verdict.smallest_detectable_slowdown > 0.1
    assert all((finding.node, finding.rail) == ("n3", 1) for finding in verdict.findings)


@pytest.mark.parametrize("sigma", [0.005, 0.015, 0.03, 0.04])
def test_slowdowns_of_the_size_it_claims_to_see_are_seen(sigma: float) -> None:
    """The smallest detectable slowdown is a promise: at that size at least 95 percent are found."""
    gang, found, runs = fabric(256, 8), 0, 60
    for seed in range(runs):
        claim = probe(gang, Faults(), Noise(sigma=sigma, dips=0.01), seed).smallest_detectable_slowdown
        assert claim is not None
        verdict = probe(gang, Faults(ports={("n7", 3): claim}), Noise(sigma=sigma, dips=0.01), seed)
        found += any((finding.node, finding.rail) == ("n7", 3) for finding in verdict.findings)
    assert found >= 0.95 * runs - 2


def test_ten_thousand_nodes_are_planned_and_decoded_within_two_seconds() -> None:
    """Plan and decode of 10,240 x 8 in processor time, the simulation left out."""
    gang = fabric(10_240, 8)
    world = World(gang, Faults(ports={("n5", 2): 0.1}), QUIET, 4)
    investigation, simulating, started = Investigation(gang, seed=4), 0.0, time.process_time()
    while (planned := investigation.next_round()) is not None:
        before = time.process_time()
        readings = world.measure(planned)
        simulating += time.process_time() - before
        investigation.record(readings)
    verdict = investigation.verdict()
    assert time.process_time() - started - simulating < 2.0
    assert [(finding.node, finding.rail) for finding in verdict.findings] == [("n5", 2)]


class Unplugged(World):
    """A simulated fabric in which some ports or groups give no reading."""

    def __init__(self, gang: Fabric, dead: set[tuple[str, int]], cpu_bound: bool = False) -> None:
        super().__init__(gang, Faults(), CALM, 1)
        self.dead = dead
        self.cpu_bound = cpu_bound

    def measure(self, planned: Round) -> list[Reading]:
        return [self._broken(reading) for reading in super().measure(planned)]

    def _broken(self, reading: Reading) -> Reading:
        if not any((node, reading.rail) in self.dead for node in reading.nodes):
            return reading
        where = f"{reading.nodes[0]} rail {reading.rail} -> {reading.nodes[1]}"
        return Reading(
            round=reading.round,
            rail=reading.rail,
            nodes=reading.nodes,
            distance=reading.distance,
            forward=1e9 if self.cpu_bound else None,
            reverse=1e9 if self.cpu_bound else None,
            cpu_bound=self.cpu_bound,
            missing=None if self.cpu_bound else Missing(reason=Reason.TIMEOUT, where=where),
        )


@pytest.mark.parametrize(("nodes", "rails"), [(4, 1), (8, 2), (16, 4)])
def test_a_port_that_nobody_can_reach_carries_no_traffic(nodes: int, rails: int) -> None:
    """Five partners without one connection are a dead rail, not a missing reading."""
    verdict, _ = investigate(Unplugged(fabric(nodes, rails), {("n2", 0)}), seed=1)
    (finding,) = verdict.findings
    assert (finding.node, finding.rail, finding.slowdown) == ("n2", 0, 1.0)
    assert "carries no traffic" in finding.summary


@pytest.mark.fault("H06")
def test_one_missing_value_makes_the_run_inconclusive() -> None:
    """Fewer readings than planned are never averaged over silently."""

    class OneGap(Unplugged):
        def _broken(self, reading: Reading) -> Reading:
            return super()._broken(reading) if reading.round == 3 else reading

    verdict, _ = investigate(OneGap(fabric(8, 1), {("n2", 0)}), seed=1)
    assert verdict.answer is Answer.INCONCLUSIVE
    assert "n2" in verdict.why


def test_readings_bound_by_the_processors_blame_nobody() -> None:
    """A node whose processors set the rate is not a slow link; the run says it could not measure it."""
    verdict, _ = investigate(Unplugged(fabric(8, 2), {("n2", 0)}, cpu_bound=True), seed=1)
    assert verdict.findings == ()
    assert verdict.answer is Answer.INCONCLUSIVE
    assert "processors" in verdict.why


def test_no_readings_at_all_are_inconclusive() -> None:
    """Nothing measured is not healthy."""
    investigation = Investigation(fabric(8, 2))
    while investigation.next_round() is not None:
        investigation.record([])
    assert investigation.verdict().answer is Answer.INCONCLUSIVE


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_gangs_without_a_cohort_need_a_line_rate(nodes: int) -> None:
    """Fewer than four nodes cannot be compared with each other."""
    verdict = probe(fabric(nodes, 2, line_rate=None), Faults())
    assert verdict.answer is Answer.INCONCLUSIVE
    assert "too few" in verdict.why


def test_two_nodes_cannot_tell_which_end_is_slow() -> None:
    """With two nodes a low rail is a pair."""
    verdict = probe(fabric(2, 4), Faults(ports={("n0", 2): 0.3}))
    assert [(finding.fault_class, finding.rail) for finding in verdict.findings] == [(FaultClass.PAIR, 2)]


def test_three_nodes_can_tell_which_node_is_slow() -> None:
    """With three nodes the one common to both low pairs is named."""
    verdict = probe(fabric(3, 2), Faults(ports={("n1", 0): 0.3}))
    assert [(f.fault_class, f.node, f.rail) for f in verdict.findings] == [(FaultClass.RAIL, "n1", 0)]


def test_one_direction_is_told_from_both() -> None:
    """A port slow only when sending is low in one direction with every partner."""

    class SendsSlowly(World):
        def measure(self, planned: Round) -> list[Reading]:
            return [self._one_way(reading) for reading in super().measure(planned)]

        def _one_way(self, reading: Reading) -> Reading:
            if "n2" not in reading.nodes or reading.rail != 0:
                return reading
            slow, fast = 0.8 * self.line_rate, self.line_rate
            forward, reverse = (slow, fast) if reading.nodes[0] == "n2" else (fast, slow)
            return Reading(
                round=reading.round,
                rail=0,
                nodes=reading.nodes,
                distance=reading.distance,
                forward=forward,
                reverse=reverse,
            )

    gang = fabric(8, 2, 2)
    verdict, _ = investigate(SendsSlowly(gang, Faults(), CALM, 1), seed=1)
    (finding,) = verdict.findings
    assert finding.direction == "tx"
    assert "when sending" in finding.summary


def test_settings_bound_what_is_worth_reporting() -> None:
    """A three percent slowdown is real but below the smallest effect asked for."""
    gang = fabric(64, 8)
    faults = Faults(ports={("n3", 1): 0.06})
    loud = Settings(smallest_effect=0.10)
    world = World(gang, faults, Noise(sigma=0.002, dips=0.0), 1)
    assert investigate(world, loud, seed=1)[0].findings == ()
    world = World(gang, faults, Noise(sigma=0.002, dips=0.0), 1)
    assert len(investigate(world, seed=1)[0].findings) == 1


def test_intra_rounds_hold_single_nodes_and_far_ones_cross() -> None:
    """The investigation starts inside the nodes and then pairs them near and far."""
    investigation = Investigation(fabric(8, 2, 2))
    kinds = []
    for _ in range(3):
        planned = investigation.next_round()
        assert planned is not None
        kinds.append((planned.kind, planned.groups[0].distance))
    assert kinds == [
        (RoundKind.INTRA, Distance.INTRA),
        (RoundKind.MATCHING, Distance.NEAR),
        (RoundKind.MATCHING, Distance.FAR),
    ]
