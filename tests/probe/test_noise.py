"""Noise is estimated from the run itself, and a cut is never bolder than the readings allow."""

from __future__ import annotations

import random

import pytest

from netkit.model.probe import Distance, Fabric, Reading
from netkit.probe.ledger import Ledger
from netkit.probe.noise import cohorts, with_reference, without


def ledger_of(rates: list[float], distance: Distance = Distance.NEAR, rails: int = 1) -> Ledger:
    ledger = Ledger(Fabric(nodes=("a", "b"), rails=rails))
    ledger.add(
        Reading(round=2, rail=index % rails, nodes=("a", "b"), distance=distance, forward=rate, reverse=rate)
        for index, rate in enumerate(rates)
    )
    return ledger


@pytest.mark.parametrize("sigma", [0.005, 0.015, 0.04])
def test_sigma_is_recovered_though_slow_readings_are_among_them(sigma: float) -> None:
    """A fifth of the readings 30 percent low moves neither the centre nor the spread by much."""
    rng = random.Random(5)
    rates = [100 * rng.gauss(1, sigma) * (0.7 if index % 5 == 0 else 1) for index in range(4000)]
    cohort = cohorts(ledger_of(rates))[Distance.NEAR]
    assert cohort.center == pytest.approx(100, rel=0.5 * sigma)
    assert cohort.sigma == pytest.approx(sigma, rel=0.3)


def test_a_slow_rail_does_not_drag_the_centre_down() -> None:
    """Half of all readings belong to a rail that is slow as a whole."""
    rates = [value for _ in range(40) for value in (100.0, 60.0)]
    assert cohorts(ledger_of(rates, rails=2))[Distance.NEAR].center == 100.0


def test_dips_raise_the_chance_that_a_low_reading_is_noise() -> None:
    """The tail counts what was really seen below, not only what a bell curve would allow."""
    rng = random.Random(5)
    smooth = [100 * rng.gauss(1, 0.01) for _ in range(1000)]
    dipping = [rate * (0.85 if index % 20 == 0 else 1) for index, rate in enumerate(smooth)]
    assert cohorts(ledger_of(smooth))[Distance.NEAR].tail(0.88) < 0.001
    assert cohorts(ledger_of(dipping))[Distance.NEAR].tail(0.88) == pytest.approx(0.05, rel=0.1)


def test_the_cut_moves_below_the_dips_when_they_are_frequent() -> None:
    """At a chance smaller than the share of dips, a dip must not count as low."""
    rng = random.Random(5)
    dipping = [100 * rng.gauss(1, 0.01) * (0.85 if index % 20 == 0 else 1) for index in range(1000)]
    cohort = cohorts(ledger_of(dipping))[Distance.NEAR]
    cut = cohort.cut(0.01, 0.04)
    assert cut is not None
    assert cut < 0.86


def test_too_few_readings_give_no_cut_at_all() -> None:
    """Three readings cannot support a chance of one in a hundred."""
    assert cohorts(ledger_of([100.0, 101.0, 99.0]))[Distance.NEAR].cut(0.01, 0.04) is None


def test_explained_readings_are_not_noise() -> None:
    """Taking out the readings of a suspect leaves only the others."""
    ledger = ledger_of([100.0] * 20 + [70.0, 70.0])
    cohort = cohorts(ledger)[Distance.NEAR]
    low = [reading for reading in ledger if reading.forward == 70.0]
    assert list(without(cohort, low).ordered) == [100.0] * 20


def test_readings_across_leaves_are_held_against_near_ones_when_all_are_slow() -> None:
    """Without one healthy path across leaves, the readings under a leaf are the reference."""
    ledger = ledger_of([100.0] * 8)
    ledger.add(
        Reading(round=3, rail=0, nodes=("a", "b"), distance=Distance.FAR, forward=80.0, reverse=80.0)
        for _ in "12345678"
    )
    assert with_reference(cohorts(ledger))[Distance.FAR].center == 100.0


def test_rates_set_by_the_processors_are_left_out() -> None:
    """A reading bound by the processors says nothing of a link."""
    ledger = ledger_of([100.0] * 4)
    ledger.add(
        [Reading(round=2, rail=0, nodes=("a", "b"), distance=Distance.NEAR, forward=9.0, reverse=9.0, cpu_bound=True)]
    )
    assert len(list(ledger)) == 4
