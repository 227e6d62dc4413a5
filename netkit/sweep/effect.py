"""What readings say about a setting: a factor with an interval, from log ratios to the baseline and Student's t.

Each ratio is of one reading of the setting to the two of the baseline before and after it, so that drift cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, fmean, stdev

CONFIDENCE = 0.98
"""Of the interval, both sides together: a claim of improvement is wrong in one of a hundred sweeps without effect."""
_LOWEST_SIGMA = 0.002
"""Readings that agree better than this agree by the grain of the clock."""
_STANDARD = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How many times the baseline a setting reaches: 1.0 is no effect; `low` and `high` bound it."""

    factor: float
    low: float
    high: float
    readings: int


def effect_of(ratios: Sequence[float]) -> Effect:
    """Return the effect that independent log ratios show; two or more."""
    middle, count = fmean(ratios), len(ratios)
    error = max(stdev(ratios), _LOWEST_SIGMA) / math.sqrt(count)
    reach = student_quantile(0.5 + CONFIDENCE / 2, count - 1) * error
    return Effect(factor=math.exp(middle), low=math.exp(middle - reach), high=math.exp(middle + reach), readings=count)


def noise_of(readings: Sequence[float]) -> float:
    """Return the relative spread of readings of one setting; the root of squared differences of neighbours.

    Neighbours, because drift is not noise: what lies far apart in time differs for other reasons.
    """
    logs = [math.log(one) for one in readings]
    squares = [(after - one) ** 2 / 2 for one, after in pairwise(logs)]
    return max(math.sqrt(fmean(squares)), _LOWEST_SIGMA) if squares else _LOWEST_SIGMA


def confirmations_needed(noise: float, effect: float) -> int:
    """Return how many readings, each between two of the baseline, show a log ratio with nine chances in ten."""
    both = _STANDARD.inv_cdf(0.5 + CONFIDENCE / 2) + _STANDARD.inv_cdf(0.9)
    return math.ceil(1.5 * (both * noise / effect) ** 2)


def best_case(ratio: float, noise: float, looks: int, baselines: int) -> float:
    """Return the largest factor that so many looks still leave possible."""
    reach = _STANDARD.inv_cdf(0.5 + CONFIDENCE / 2) * noise * math.sqrt(1 / looks + 1 / baselines)
    return math.exp(ratio + reach)


def student_quantile(chance: float, freedom: int) -> float:
    """Return the quantile of Student's t, exact for 1 and 2 degrees and by expansion above.

    Abramowitz and Stegun, 26.7.5: good to half a percent from 3 degrees on at the chances used here.
    """
    if freedom == 1:
        return math.tan(math.pi * (chance - 0.5))
    if freedom == 2:
        return (2 * chance - 1) * math.sqrt(2 / (4 * chance * (1 - chance)))
    z = _STANDARD.inv_cdf(chance)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / float(freedom) ** power for power, term in enumerate(terms))
