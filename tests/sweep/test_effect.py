"""What may be said of paired readings: intervals that hold as often as they promise."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.sweep.effect import CONFIDENCE, best_case, confirmations_needed, effect_of, noise_of, student_quantile

TABLE = (
    # chance, degrees of freedom, quantile: any printed table of Student's t
    (0.99, 1, 31.821),
    (0.99, 2, 6.965),
    (0.99, 4, 3.747),
    (0.99, 9, 2.821),
    (0.99, 11, 2.718),
    (0.975, 5, 2.571),
    (0.95, 30, 1.697),
)


@pytest.mark.parametrize(("chance", "freedom", "quantile"), TABLE)
def test_quantiles_are_those_of_a_printed_table(chance: float, freedom: int, quantile: float) -> None:
    """Within half a percent."""
    assert student_quantile(chance, freedom) == pytest.approx(quantile, rel=0.005)


def test_an_interval_holds_the_truth_as_often_as_it_promises() -> None:
    """Two thousand times ten pairs with a known effect: misses are about two in a hundred, on both sides."""
    rng = random.Random(7)
    truth = math.log(1.2)
    misses = 0
    for _ in range(2000):
        found = effect_of([truth + rng.gauss(0, 0.2) for _ in range(10)])
        misses += not found.low <= 1.2 <= found.high
    assert misses / 2000 == pytest.approx(1 - CONFIDENCE, abs=0.012)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20))
def test_an_effect_lies_within_its_interval(ratios: list[float]) -> None:
    """However odd the ratios; readings that agree exactly still leave some room."""
    found = effect_of(ratios)
    assert found.low < found.factor < found.high
    assert found.readings == len(ratios)


def test_noise_is_told_from_drift() -> None:
    """A slow rise of a half adds nothing that readings beside each other do not show."""
    rng = random.Random(3)
    steady = [100 * math.exp(rng.gauss(0, 0.05)) for _ in range(400)]
    drifting = [one * (1 + 0.5 * index / 400) for index, one in enumerate(steady)]
    assert noise_of(steady) == pytest.approx(0.05, rel=0.15)
    assert noise_of(drifting) == pytest.approx(noise_of(steady), rel=0.05)


def test_more_noise_asks_for_more_readings_and_leaves_more_possible() -> None:
    """A smaller effect too."""
    assert confirmations_needed(0.2, 0.1) > confirmations_needed(0.1, 0.1) > confirmations_needed(0.1, 0.3)
    assert best_case(0.0, 0.2, 2, 4) > best_case(0.0, 0.1, 2, 4) > best_case(0.0, 0.1, 8, 4) > 1.0
