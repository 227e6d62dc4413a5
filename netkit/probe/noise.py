"""How much healthy readings vary, estimated from the run itself, and how low a reading must be to mean something.

A cohort is all readings of one distance class. Its centre comes from the medians of small homogeneous groups
(one rail under one leaf, or between two leaves), so that a slow leaf, uplink or rail does not drag it down; faults
only ever slow a reading, so the upper quartile of the group medians is healthy while a quarter of the groups are.
The spread comes from the upper half of the readings for the same reason. The chance that a healthy reading is as
low as x is the larger of the Gaussian tail and the share actually seen in the readings nothing explains: single
dips are part of the noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, median, median_high

from netkit.model.probe import Distance, NoiseLevel, Reading
from netkit.probe.ledger import DistanceReadings, Ledger

# Below this the clock and the token bucket, not the network, set the spread.
_SIGMA_FLOOR = 0.002
# 1 / Φ⁻¹(3/4): a median absolute deviation as a standard deviation.
_MAD_TO_SIGMA = 1.4826
# A group is slow, and left out of the centre, below this many of its own standard errors and this share.
_SLOW_GROUP_ERRORS = 5.0
_SLOW_GROUP_SHARE = 0.03
# A distance class whose best paths lose this share against readings under a leaf is slow as a whole.
_SLOW_ACROSS_LEAVES = 0.08
# Readings below the core by this many sigma are counted as dips.
_DIP_SIGMAS = 4.0
# From this many healthy readings on the plain median is the centre; below, lean on the healthy side.
_ENOUGH = 16
_STANDARD = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """The healthy readings of one distance class: centre in bytes/s, relative sigma, rates in ascending order."""

    distance: Distance
    center: float
    sigma: float
    ordered: Sequence[float]

    def tail(self, relative: float) -> float:
        """Chance that a healthy reading is at or below `relative` (1.0 is the centre)."""
        seen = (bisect_right(self.ordered, relative * self.center) + 0.5) / (len(self.ordered) + 1)
        return max(_STANDARD.cdf((relative - 1) / self.sigma), seen)

    def core_cut(self, chance: float, smallest_effect: float) -> float:
        """Return the cut that the Gaussian core alone would set, dips and sample size ignored."""
        return min(1 - smallest_effect, 1 + self.sigma * _STANDARD.inv_cdf(min(chance, 0.5)))

    def cut(self, chance: float, smallest_effect: float, own: int = 0) -> float | None:
        """Return the highest relative rate that is low by `smallest_effect` and at most as likely as `chance`.

        `own` readings of the suspect itself are among the cohort's and do not count against it. None when there
        are too few readings to say anything at that level.
        """
        allowed = math.floor(chance * (len(self.ordered) - own + 1) - 0.5) + own
        if allowed < own or not self.ordered:
            return None
        cut = self.core_cut(chance, smallest_effect)
        if allowed < len(self.ordered) and self.ordered[allowed] <= cut * self.center:
            cut = math.nextafter(self.ordered[allowed] / self.center, 0)
        return cut

    def smallest_slowdown(self, cut: float, power: float, readings: int) -> float:
        """Slowdown of which all `readings` readings fall below `cut` with probability `power`."""
        sigmas = _STANDARD.inv_cdf(power ** (1 / readings))
        return 1 - cut / (1 + sigmas * self.sigma)

    def level(self, smallest_slowdown: float | None) -> NoiseLevel:
        """Return what a report says of this cohort."""
        low = bisect_right(self.ordered, (1 - _DIP_SIGMAS * self.sigma) * self.center)
        return NoiseLevel(
            distance=self.distance,
            center=self.center,
            sigma=self.sigma,
            dips=low / len(self.ordered) if self.ordered else 0.0,
            readings=len(self.ordered),
            smallest_slowdown=smallest_slowdown,
        )


def cohorts(ledger: Ledger) -> dict[Distance, Cohort]:
    """Estimate one cohort per distance class from everything measured."""
    return {distance: _cohort(distance, entry) for distance, entry in ledger.by_distance.items()}


def with_reference(levels: Mapping[Distance, Cohort]) -> dict[Distance, Cohort]:
    """Hold readings across leaves against those under a leaf when no path across leaves is healthy."""
    near, far = levels.get(Distance.NEAR), levels.get(Distance.FAR)
    if near and far and far.center < (1 - _SLOW_ACROSS_LEAVES) * near.center:
        return {**levels, Distance.FAR: replace(near, distance=Distance.FAR)}
    return dict(levels)


def without(cohort: Cohort, explained: Iterable[Reading]) -> Cohort:
    """Return the cohort less the readings that a suspect accounts for: they are not noise."""
    ordered = list(cohort.ordered)
    for reading in explained:
        if reading.distance is cohort.distance and reading.rate is not None:
            index = bisect_left(ordered, reading.rate)
            if index < len(ordered) and ordered[index] == reading.rate:
                del ordered[index]
    return replace(cohort, sigma=_upper_sigma(ordered, cohort.center), ordered=ordered)


def _cohort(distance: Distance, entry: DistanceReadings) -> Cohort:
    ordered = sorted(entry.rates)
    center = _center(list(entry.groups.values()) or [ordered], ordered)
    return Cohort(distance=distance, center=center, sigma=_upper_sigma(ordered, center), ordered=ordered)


def _center(groups: Sequence[Sequence[float]], ordered: Sequence[float]) -> float:
    medians = [median_high(group) for group in groups]
    reference = sorted(medians)[min(len(medians) * 3 // 4, len(medians) - 1)]
    sigma = _upper_sigma(ordered, reference)
    healthy = [
        rate
        for group, middle in zip(groups, medians, strict=True)
        if not _is_slow_group(middle / reference, sigma, len(group))
        for rate in group
    ]
    return (median if len(healthy) >= _ENOUGH else median_high)(healthy)


def _is_slow_group(relative: float, sigma: float, size: int) -> bool:
    return relative < 1 - max(_SLOW_GROUP_SHARE, _SLOW_GROUP_ERRORS * sigma / math.sqrt(size))


def _upper_sigma(ordered: Sequence[float], center: float) -> float:
    """Relative standard deviation from the readings above the centre, which no fault can reach."""
    start = bisect_right(ordered, center)
    above = len(ordered) - start
    spread = _MAD_TO_SIGMA * (ordered[start + above // 2] / center - 1) if above else 0.0
    # The median of few deviations scatters: widen it, or eight readings would claim to know the noise.
    return max(_SIGMA_FLOOR, spread * (1 + 1 / above) if above else 0.0)
