"""Which setting to try next: all of them in turn where that is affordable, else Optuna's tree-structured estimator.

Optuna (https://optuna.readthedocs.io, ask-and-tell interface) is an optional part: `pip install 'netkit[tune]'`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Protocol

from netkit.errors import InputError
from netkit.sweep.space import Setting, Space

_MOST_ROUNDS = 2
"""Looking longer at few settings leaves less to confirm with."""


class Search(Protocol):
    """Proposes settings, and hears how each did: the log of its ratio to the baseline."""

    def ask(self) -> Setting | None:
        """Return the next setting to look at; None when there is none left."""

    def tell(self, setting: Setting, ratio: float) -> None:
        """Hear what the setting last asked for reached."""


class SearchKind(StrEnum):
    """How settings are chosen."""

    GRID = "grid"
    TPE = "tpe"


def search_of(kind: SearchKind, space: Space, seed: int, looks: int) -> Search:
    """Return a search that proposes at most `looks` settings; InputError where what it needs is not installed."""
    return Grid(space, seed, looks) if kind is SearchKind.GRID else Estimator(space, seed, looks)


class Grid:
    """Every setting in an order of its own, and once more in another where there are looks for all."""

    def __init__(self, space: Space, seed: int, looks: int) -> None:
        self._left = self._proposals(list(space.candidates), random.Random(seed), looks)  # noqa: S311 - an order, no secret

    @staticmethod
    def _proposals(candidates: list[Setting], rng: random.Random, looks: int) -> Iterator[Setting]:
        rounds = min(max(1, looks // len(candidates)), _MOST_ROUNDS)
        for _ in range(rounds):
            rng.shuffle(candidates)
            yield from candidates[:looks]

    def ask(self) -> Setting | None:
        """Return the next one."""
        return next(self._left, None)

    def tell(self, setting: Setting, ratio: float) -> None:
        """A grid learns nothing."""


class Estimator:
    """Optuna's TPE over categories; the baseline, should it be proposed, is answered without measuring."""

    def __init__(self, space: Space, seed: int, looks: int) -> None:
        try:
            import optuna
        except ImportError as absent:
            raise InputError(
                "--search tpe without Optuna", "pip install 'netkit[tune]', or --search grid, which needs nothing"
            ) from absent
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space, self._left = space, looks
        self._study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        self._trial: Any = None

    def ask(self) -> Setting | None:
        """Return what Optuna proposes; None when the looks are used up."""
        while self._left > 0:
            self._left -= 1
            self._trial = self._study.ask()
            setting = tuple(self._trial.suggest_categorical(one.name, one.values) for one in self._space.parameters)
            if setting != self._space.baseline:
                return setting
            self._study.tell(self._trial, 0.0)
        return None

    def tell(self, setting: Setting, ratio: float) -> None:  # noqa: ARG002 - Optuna knows its own trial
        """Pass the result on."""
        self._study.tell(self._trial, ratio)
