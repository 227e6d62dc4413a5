"""A sweep finds what helps, claims nothing that noise explains, and costs no more than it may."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

import pytest

from netkit.errors import InputError
from netkit.sweep.course import FEWEST_CONFIRMATIONS, Budget, Course, Phase, SweepReport, SweepVerdict
from netkit.sweep.form import csv_form, env_form
from netkit.sweep.search import SearchKind, search_of
from netkit.sweep.space import Setting, parse_space
from tests.sweep.recorded_noise import replayed

SPACE = parse_space(["connections=1,2,4,8,16"])
Measure = Callable[[Setting], float]


def swept(
    measure: Measure, budget: Budget | None = None, seed: int = 1, kind: SearchKind = SearchKind.GRID
) -> SweepReport:
    """Run one sweep in which every measurement takes a second."""
    chosen = budget or Budget()
    now = 0.0

    def measured(setting: Setting) -> float:
        nonlocal now
        now += 1
        return measure(setting)

    course = Course(
        space=SPACE,
        measure=measured,
        search=search_of(kind, SPACE, seed, chosen.looks),
        budget=chosen,
        clock=lambda: now,
    )
    return course.run()


def test_of_a_hundred_sweeps_in_which_nothing_helps_five_at_most_claim_something() -> None:
    """Noise is what the lab gave; the same code looks, confirms and judges."""
    verdicts = [swept(replayed(seed, helps=False), seed=seed).verdict for seed in range(100)]
    assert verdicts.count(SweepVerdict.IMPROVED) <= 5, verdicts


def test_what_helped_in_the_lab_is_found_within_twenty_trials() -> None:
    """Readings of the lab replayed: nine of ten seeds at least name four connections or more."""
    reports = [swept(replayed(seed, helps=True), seed=seed) for seed in range(10)]
    won = [one for one in reports if one.verdict is SweepVerdict.IMPROVED and one.best and int(one.best[0]) >= 4]
    assert len(won) >= 9, [(one.verdict, one.best) for one in reports]
    for one in won:
        assert one.effect is not None
        assert 1 < one.effect.low < one.effect.factor < one.effect.high
        assert sum(trial.phase is not Phase.BASELINE for trial in one.trials) <= 20


def test_a_large_effect_without_noise_is_found_exactly() -> None:
    """Nothing random in it: the factor is the one that was put in."""
    report = swept(lambda setting: 100.0 * (2.0 if setting == ("8",) else 1.0))
    assert (report.verdict, report.best) == (SweepVerdict.IMPROVED, ("8",))
    assert report.effect is not None
    assert report.effect.factor == pytest.approx(2.0)
    assert report.noise < 0.01


def test_what_only_harms_ends_early_and_claims_nothing() -> None:
    """Where nothing can win, nothing is confirmed."""
    report = swept(lambda setting: 100.0 if setting == ("1",) else 80.0)
    assert report.verdict is SweepVerdict.NO_EFFECT
    assert not any(trial.phase is Phase.CONFIRM for trial in report.trials)
    assert report.effect is None


def test_an_effect_too_small_to_matter_is_no_effect() -> None:
    """One percent, sharply measured, is below the three that are worth a change."""
    report = swept(lambda setting: 101.0 if setting == ("4",) else 100.0)
    assert report.verdict is SweepVerdict.NO_EFFECT


def test_the_best_look_is_not_the_claim() -> None:
    """A setting that shone while looking and not afterwards is not claimed."""
    seen = itertools.count()
    report = swept(lambda setting: 300.0 if setting == ("4",) and next(seen) < 2 else 100.0)
    assert report.best == ("4",)
    assert report.verdict is SweepVerdict.NO_EFFECT
    assert report.effect is not None
    assert report.effect.factor == pytest.approx(1.0)


def test_drift_of_the_machine_is_not_an_effect() -> None:
    """Everything gets faster all the time; readings between two baselines do not."""
    readings = itertools.count(100)
    report = swept(lambda _setting: float(next(readings)))
    assert report.verdict is not SweepVerdict.IMPROVED


@pytest.mark.parametrize(
    ("budget", "most"),
    [(Budget(trials=6), 6), (Budget(seconds=20.0), 20), (Budget(gpus=8, gpu_seconds=120.0), 20)],
)
def test_a_budget_is_never_exceeded(budget: Budget, most: int) -> None:
    """Trials, time and GPU time; what cannot be confirmed any more is inconclusive."""
    report = swept(lambda setting: 100.0 * (2.0 if setting == ("8",) else 1.0), budget)
    assert sum(trial.phase is not Phase.BASELINE for trial in report.trials) <= most
    assert report.seconds <= budget.seconds
    assert report.gpu_seconds <= budget.gpu_seconds
    confirmed = sum(trial.phase is Phase.CONFIRM for trial in report.trials)
    assert (report.verdict is SweepVerdict.INCONCLUSIVE) is (confirmed < FEWEST_CONFIRMATIONS)


def test_no_budget_at_all_measures_nothing() -> None:
    """And says so."""
    report = swept(lambda _setting: 1.0, Budget(seconds=-1.0))
    assert report.trials == ()
    assert (report.verdict, report.best) == (SweepVerdict.INCONCLUSIVE, None)


def test_the_baseline_is_measured_again_beside_every_look() -> None:
    """Never two looks in a row."""
    report = swept(replayed(1, helps=False))
    phases = [trial.phase for trial in report.trials]
    assert all(Phase.BASELINE in pair for pair in itertools.pairwise(phases) if Phase.LOOK in pair)
    assert {trial.setting for trial in report.trials if trial.phase is Phase.LOOK} == set(SPACE.candidates)


def test_optuna_chooses_where_it_is_asked_to() -> None:
    """It finds the one setting that helps, and never proposes more looks than it has."""
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'netkit[tune]'")
    measure = lambda setting: 100.0 * (2.0 if setting == ("8",) else 1.0)  # noqa: E731
    report = swept(measure, Budget(trials=40), seed=3, kind=SearchKind.TPE)
    assert (report.verdict, report.best) == (SweepVerdict.IMPROVED, ("8",))
    assert sum(trial.phase is Phase.LOOK for trial in report.trials) <= 20


def test_without_optuna_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grid needs nothing."""
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match="pip install"):
        search_of(SearchKind.TPE, SPACE, 1, 5)
    assert search_of(SearchKind.GRID, SPACE, 1, 5).ask() in set(SPACE.candidates)


def test_a_space_larger_than_the_looks_is_sampled_by_seed() -> None:
    """As many settings as there are looks, other ones for another seed."""
    wide = parse_space(["a=1,2,3,4,5,6", "b=1,2,3,4,5,6"])

    def asked(seed: int) -> list[Setting]:
        search = search_of(SearchKind.GRID, wide, seed, 10)
        return list(iter(search.ask, None))

    assert len(asked(1)) == len(set(asked(1))) == 10
    assert asked(1) != asked(2)
    assert asked(1) == asked(1)


@pytest.mark.parametrize(
    "texts", [[], ["connections"], ["connections=1"], ["a=1,1"], ["a=1,"], ["a b=1,2"], ["a=1,2", "a=1,3"], ["=1,2"]]
)
def test_what_names_no_space_is_refused(texts: list[str]) -> None:
    """With what a parameter looks like."""
    with pytest.raises(InputError, match="accepted is"):
        parse_space(texts)


def test_a_winner_is_said_in_the_words_of_nccl() -> None:
    """Connections become threads and sockets; an algorithm with a protocol becomes a row of the tuner table."""
    assert env_form({"connections": "16"}).splitlines()[:2] == ["NCCL_SOCKET_NTHREADS=4", "NCCL_NSOCKS_PERTHREAD=4"]
    assert env_form({"connections": "2"}).splitlines()[:2] == ["NCCL_SOCKET_NTHREADS=2", "NCCL_NSOCKS_PERTHREAD=1"]
    assert env_form({"NCCL_IB_QPS_PER_CONNECTION": "4"}) == "NCCL_IB_QPS_PER_CONNECTION=4\n"
    row = csv_form({"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL128"})
    assert row is not None
    assert row.endswith("\nallreduce,0,18446744073709551615,ring,ll128,-1,-1,-1\n")
    assert csv_form({"connections": "4"}) is None
    assert csv_form({"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL128", "NCCL_BUFFSIZE": "1"}) is None
