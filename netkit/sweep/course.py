"""The course of a sweep: look at settings, the baseline measured between, then confirm the best with fresh readings.

Looking chooses and claims nothing: the best of many noisy looks is partly luck. What is claimed comes from readings
taken afterwards, of that one setting, each between two of the baseline. A sweep ends early when even the best
case of what it saw is too small to matter, and when its budget ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean

from netkit.sweep.effect import Effect, best_case, confirmations_needed, effect_of, noise_of
from netkit.sweep.search import Search
from netkit.sweep.space import Setting, Space

FEWEST_CONFIRMATIONS = 5
MOST_CONFIRMATIONS = 10
_NEAREST = 4
"""Baselines around a look that it is compared with."""


class SweepVerdict(StrEnum):
    """What may be said."""

    IMPROVED = "improved"
    NO_EFFECT = "no_effect"
    INCONCLUSIVE = "inconclusive"


class Phase(StrEnum):
    """Why something was measured."""

    BASELINE = "baseline"
    LOOK = "look"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a sweep may cost. `trials` counts measurements of settings other than the baseline."""

    trials: int = 20
    seconds: float = math.inf
    gpu_seconds: float = math.inf
    gpus: int = 0
    """How many are held while measuring."""
    smallest_effect: float = 0.03
    """A gain below this share is not worth a change."""

    @property
    def looks(self) -> int:
        """Trials that may go into looking; the rest confirms."""
        return max(1, self.trials // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One measurement: bytes per second, or whatever is better when larger."""

    number: int
    phase: Phase
    setting: Setting
    reading: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What was measured, and what follows."""

    space: Space
    trials: tuple[Trial, ...]
    best: Setting | None
    effect: Effect | None
    verdict: SweepVerdict
    why: str
    noise: float
    """Relative spread of one reading of the baseline."""
    seconds: float
    gpu_seconds: float


Measure = Callable[[Setting], float]
Clock = Callable[[], float]


@dataclass(slots=True, kw_only=True)
class Course:
    """One sweep on its way."""

    space: Space
    measure: Measure
    search: Search
    budget: Budget
    clock: Clock
    progress: Callable[[Trial], None] = lambda _trial: None
    _trials: list[Trial] = field(default_factory=list)
    _begun: float = 0.0

    def run(self) -> SweepReport:
        """Measure until there is a verdict or no budget; what `measure` raises ends the sweep."""
        self._begun = self.clock()
        self._look()
        best = self._best()
        if best is None:
            return self._report(
                None, None, SweepVerdict.INCONCLUSIVE, "the budget ended before any setting was measured"
            )
        setting, ratio = best
        looks = len(self._readings(Phase.LOOK, setting))
        most = best_case(ratio, self._noise, looks, min(_NEAREST, len(self._baselines)))
        if most < 1 + self.budget.smallest_effect:
            why = f"even the best setting seen is at most {most:.2f} times the baseline"
            return self._report(setting, None, SweepVerdict.NO_EFFECT, why)
        return self._confirmed(setting, ratio)

    def _look(self) -> None:
        for _ in range(self.budget.looks):
            setting = self.search.ask() if self._affords(2) else None
            if setting is None:
                break
            self._take(Phase.BASELINE, self.space.baseline)
            look = self._take(Phase.LOOK, setting)
            self.search.tell(setting, self._ratio(look))
        if self._trials and self._affords(1):
            self._take(Phase.BASELINE, self.space.baseline)

    def _best(self) -> tuple[Setting, float] | None:
        """Return the setting whose looks reached most on average, and the log of that ratio."""
        looked = dict.fromkeys(trial.setting for trial in self._trials if trial.phase is Phase.LOOK)
        ratios = {one: fmean(map(self._ratio, self._readings(Phase.LOOK, one))) for one in looked}
        return max(ratios.items(), key=lambda item: item[1]) if ratios else None

    def _confirmed(self, setting: Setting, ratio: float) -> SweepReport:
        left = self.budget.trials - sum(trial.phase is not Phase.BASELINE for trial in self._trials)
        # The best of many looks is flattered: half of what it showed is what can be counted on.
        expected = max(ratio / 2, math.log1p(self.budget.smallest_effect))
        wanted = min(max(confirmations_needed(self._noise, expected), FEWEST_CONFIRMATIONS), MOST_CONFIRMATIONS, left)
        ratios: list[float] = []
        for fresh in self._confirmations(setting, wanted):
            ratios.append(fresh)
            if len(ratios) >= FEWEST_CONFIRMATIONS and effect_of(ratios).high < 1 + self.budget.smallest_effect:
                break
        if len(ratios) < FEWEST_CONFIRMATIONS:
            why = f"{len(ratios)} readings to confirm with, {FEWEST_CONFIRMATIONS} are needed: the budget ended"
            return self._report(setting, None, SweepVerdict.INCONCLUSIVE, why)
        effect = effect_of(ratios)
        return self._report(setting, effect, *self._judged(effect))

    def _confirmations(self, setting: Setting, wanted: int) -> Iterator[float]:
        """Yield log ratios of fresh readings, each between two of the baseline: steady drift cancels."""
        for _ in range(wanted):
            if not self._affords(3):
                return
            order = (
                (Phase.BASELINE, self.space.baseline),
                (Phase.CONFIRM, setting),
                (Phase.BASELINE, self.space.baseline),
            )
            before, own, after = (math.log(self._take(phase, one).reading) for phase, one in order)
            yield own - (before + after) / 2

    def _judged(self, effect: Effect) -> tuple[SweepVerdict, str]:
        worth = 1 + self.budget.smallest_effect
        shown = f"{effect.factor:.2f} times the baseline, between {effect.low:.2f} and {effect.high:.2f}"
        if effect.low > 1 and effect.factor >= worth:
            return SweepVerdict.IMPROVED, shown
        if effect.high < worth:
            return SweepVerdict.NO_EFFECT, f"{shown}: too little to matter"
        return SweepVerdict.INCONCLUSIVE, f"{shown}: noise explains it"

    def _take(self, phase: Phase, setting: Setting) -> Trial:
        begun = self.clock()
        reading = self.measure(setting)
        trial = Trial(
            number=len(self._trials) + 1,
            phase=phase,
            setting=setting,
            reading=reading,
            seconds=self.clock() - begun,
        )
        self._trials.append(trial)
        self.progress(trial)
        return trial

    def _affords(self, measurements: int) -> bool:
        """Tell whether so many more, as long as the longest so far, stay within the budget."""
        longest = max((trial.seconds for trial in self._trials), default=0.0)
        after = self.clock() - self._begun + measurements * longest
        held = (sum(trial.seconds for trial in self._trials) + measurements * longest) * self.budget.gpus
        return after <= self.budget.seconds and held <= self.budget.gpu_seconds

    def _readings(self, phase: Phase, setting: Setting) -> list[Trial]:
        return [trial for trial in self._trials if trial.phase is phase and trial.setting == setting]

    @property
    def _baselines(self) -> list[Trial]:
        return self._readings(Phase.BASELINE, self.space.baseline)

    @property
    def _noise(self) -> float:
        return noise_of([trial.reading for trial in self._baselines])

    def _ratio(self, trial: Trial) -> float:
        nearest = sorted(self._baselines, key=lambda one: abs(one.number - trial.number))[:_NEAREST]
        return math.log(trial.reading) - fmean(math.log(one.reading) for one in nearest)

    def _report(self, best: Setting | None, effect: Effect | None, verdict: SweepVerdict, why: str) -> SweepReport:
        return SweepReport(
            space=self.space,
            trials=tuple(self._trials),
            best=best,
            effect=effect,
            verdict=verdict,
            why=why,
            noise=self._noise,
            seconds=self.clock() - self._begun,
            gpu_seconds=sum(trial.seconds for trial in self._trials) * self.budget.gpus,
        )
