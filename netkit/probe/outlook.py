"""What a probe would do and could see, known before it runs: rounds, groups, seconds, smallest slowdown."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from netkit.model.probe import Distance
from netkit.probe.ledger import LAST_MATCHING_ROUND
from netkit.probe.localise import Settings
from netkit.probe.noise import Cohort
from netkit.probe.plan import SMALLEST_COHORT


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """A probe foreseen. `rounds` are (kind, groups, when) in order; `smallest_slowdown` is None without a cohort."""

    rounds: tuple[tuple[str, int, str], ...]
    seconds_at_most: float
    sigma: float
    smallest_slowdown: float | None
    notes: tuple[str, ...]

    @property
    def rounds_at_most(self) -> int:
        """How many rounds there can be."""
        return len(self.rounds)


def outlook(*, nodes: int, rails: int, sigma: float, round_seconds: float, settings: Settings | None = None) -> Outlook:
    """Foresee a probe of `nodes` x `rails` whose readings vary by `sigma` (relative standard deviation)."""
    settings = settings or Settings()
    rounds = _rounds(nodes, settings)
    return Outlook(
        rounds=rounds,
        seconds_at_most=len(rounds) * round_seconds,
        sigma=sigma,
        smallest_slowdown=_smallest_slowdown(nodes, rails, sigma, settings),
        notes=_notes(nodes),
    )


def _rounds(nodes: int, settings: Settings) -> tuple[tuple[str, int, str], ...]:
    inside = ("intra", nodes, "every node alone, and the whole gang at once")
    if nodes < SMALLEST_COHORT:
        return (inside, *(("pair", 1, "held against the line rate") for _ in range(3 if nodes > 1 else 0)))
    confirm = ("confirm", 0, "suspects with fresh clean partners, while there are any")
    return (
        inside,
        ("near", nodes // 2, "pairs under one leaf"),
        ("far", nodes // 2, "pairs across leaves"),
        *(confirm for _ in range(settings.confirmations)),
    )


def _smallest_slowdown(nodes: int, rails: int, sigma: float, settings: Settings) -> float | None:
    if nodes < SMALLEST_COHORT:
        return None
    # The cohort that a run of this size would have: quantiles of the noise itself, no dips.
    count = min(nodes // 2 * rails, 4096)
    quantile = NormalDist(1.0, sigma).inv_cdf
    ideal = Cohort(
        distance=Distance.NEAR,
        center=1.0,
        sigma=sigma,
        ordered=[quantile((index + 0.5) / count) for index in range(count)],
    )
    readings = settings.readings_for_conviction
    cut = ideal.cut((settings.family_wise / (nodes * rails)) ** (1 / readings), settings.smallest_effect)
    return None if cut is None else ideal.smallest_slowdown(cut, settings.power, readings)


def _notes(nodes: int) -> tuple[str, ...]:
    if nodes < SMALLEST_COHORT:
        return (f"fewer than {SMALLEST_COHORT} nodes have no cohort: readings are held against the line rate only",)
    notes = [f"rounds after {LAST_MATCHING_ROUND} are run only while something is suspected"]
    if nodes % 2:
        notes.append("an odd number of nodes: one sits out of each matching, and is matched first in the next")
    return tuple(notes)
