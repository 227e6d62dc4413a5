"""How often a sweep finds what helps, and how often it claims what does not.

    python -m benchmarks.sweep --seeds 10 --nulls 1000 --json

Sweeps of connections per peer in a real lab (kernel links, four equal-cost uplinks, layer-4 hash), one for each seed:
right when four or more are named with an interval above one. Then sweeps over recorded readings of that lab in which
no setting helps: whatever those claim is false. `--record FILE` takes such readings anew.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from netkit.cli.lab_probe import lab_request
from netkit.cli.sweeping import measuring
from netkit.lab import lifecycle
from netkit.lab.shape import checked_shape
from netkit.lab.state import load
from netkit.model.units import parse_rate_bytes_per_second
from netkit.sweep.course import Budget, Course, Measure, Phase, SweepReport, SweepVerdict
from netkit.sweep.search import SearchKind, search_of
from netkit.sweep.space import Setting, parse_space
from tests.sweep.recorded_noise import replayed

SPACE = parse_space(["connections=1,2,4,8,16"])
FEWEST_RIGHT = 4


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--seconds", type=float, default=0.6, help="measured time of one reading")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--nulls", type=int, default=1000)
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.record is not None:
        options.record.write_text(json.dumps({"readings": recorded(options)}) + "\n")
        return
    figures = {"schema": "netkit.bench.sweep/1", **in_lab(options), **without_effect(options.nulls)}
    print(json.dumps(figures) if options.json else "\n".join(f"{key:26} {value}" for key, value in figures.items()))


def in_lab(options: argparse.Namespace) -> dict[str, object]:
    """Return what sweeps of a real lab found, seed by seed."""
    found: list[dict[str, object]] = []
    seconds, right = [], 0
    with _lab(options) as measure:
        for seed in range(options.seeds):
            report = _swept(measure, seed, time.monotonic)
            trials = sum(trial.phase is not Phase.BASELINE for trial in report.trials)
            best = None if report.best is None else int(report.best[0])
            effect = report.effect
            shown = None if effect is None else [round(one, 3) for one in (effect.factor, effect.low, effect.high)]
            found.append({"seed": seed, "verdict": report.verdict, "best": best, "effect": shown, "trials": trials})
            right += report.verdict is SweepVerdict.IMPROVED and (best or 0) >= FEWEST_RIGHT
            seconds.append(report.seconds)
    return {
        "rate": options.rate,
        "sweeps": len(found),
        "right": right,
        "seconds_mean": round(sum(seconds) / len(seconds), 1),
        "found": found,
    }


def without_effect(count: int) -> dict[str, object]:
    """Return how sweeps end whose readings are all of one setting."""
    verdicts = [_swept(replayed(seed, helps=False), seed, lambda: 0.0).verdict for seed in range(count)]
    return {"nulls": count, **{f"null_{one}": verdicts.count(one) for one in SweepVerdict}}


def recorded(options: argparse.Namespace) -> dict[str, list[float]]:
    """Return readings by connections per peer: thirty of each, and a baseline before every one."""
    readings: dict[str, list[float]] = {}
    with _lab(options) as measure:
        for _ in range(30):
            for candidate in SPACE.candidates:
                for setting in (SPACE.baseline, candidate):
                    readings.setdefault(setting[0], []).append(round(measure(setting)))
    return readings


@contextmanager
def _lab(options: argparse.Namespace) -> Iterator[Measure]:
    name = f"bench-{os.getpid()}"
    rate = parse_rate_bytes_per_second(options.rate)
    shape = checked_shape(nodes=8, rails=1, leaves=2, rate=rate, uplink_rate=None, uplinks=4)
    try:
        lifecycle.up(shape, name, owner=os.getpid())
        request, launcher = lab_request(load(name), seed=0, seconds=options.seconds)
        with measuring(request, launcher, SPACE) as measure:
            yield measure
    finally:
        lifecycle.down(name)


def _swept(measure: Callable[[Setting], float], seed: int, clock: Callable[[], float]) -> SweepReport:
    budget = Budget()
    search = search_of(SearchKind.GRID, SPACE, seed, budget.looks)
    return Course(space=SPACE, measure=measure, search=search, budget=budget, clock=clock).run()


if __name__ == "__main__":
    main()
