"""How well, how fast and in how many rounds the decoder names slow rails of a simulated fabric.

    python -m benchmarks.localise --nodes 1024 --rails 8 --bad 10 --slowdown 0.1 --sigma 0.015 --dips 0.01 \
        --seed 7 --runs 100 --json

Every run draws its own faulty (node, rail) ports, noise and dips from seed + run number. `seconds` is the mean
processor time of planning and decoding alone, the simulation of the readings left out. `rounds` is the most any run
took, `tests` the mean number of pair tests. A finding counts as right only when class, node and rail are all right;
anything else it names is false.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from dataclasses import dataclass
from math import sqrt

from netkit.model.probe import Answer, Fabric, FaultClass
from netkit.probe.investigation import Investigation
from netkit.probe.plan import Port
from netkit.probe.simulate import Faults, Noise, World

_WILSON_95 = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one simulated probe did."""

    rounds: int
    tests: int
    right: int
    false: int
    missed: int
    answer: Answer
    smallest: float | None
    seconds: float


def run_once(options: argparse.Namespace, seed: int) -> Run:
    """Probe one simulated fabric."""
    nodes = tuple(f"n{index}" for index in range(options.nodes))
    rng = random.Random(f"{seed}:faults")
    bad: dict[Port, float] = {
        (node, rng.randrange(options.rails)): options.slowdown for node in rng.sample(nodes, options.bad)
    }
    fabric = Fabric(nodes=nodes, rails=options.rails, line_rate=50e9)
    world = World(fabric, Faults(ports=bad), Noise(sigma=options.sigma, dips=options.dips), seed)
    simulating = 0.0
    started = time.process_time()
    investigation = Investigation(fabric, seed=seed)
    while (planned := investigation.next_round()) is not None:
        before = time.process_time()
        readings = world.measure(planned)
        simulating += time.process_time() - before
        investigation.record(readings)
    verdict = investigation.verdict()
    seconds = time.process_time() - started - simulating
    named = [
        (finding.node, finding.rail) if finding.fault_class is FaultClass.RAIL else None for finding in verdict.findings
    ]
    right = sum(port in bad for port in named)
    return Run(
        rounds=len(investigation.rounds),
        tests=sum(len(planned.groups) for planned in investigation.rounds[1:]),
        right=right,
        false=len(named) - right,
        missed=len(bad) - right,
        answer=verdict.answer,
        smallest=verdict.smallest_detectable_slowdown,
        seconds=seconds,
    )


def summarise(options: argparse.Namespace, runs: list[Run]) -> dict[str, object]:
    """Return the figures over all runs, with 95% Wilson intervals for precision and recall."""
    right, false, missed = (sum(getattr(run, name) for run in runs) for name in ("right", "false", "missed"))
    smallest = [run.smallest for run in runs if run.smallest is not None]
    return {
        "schema": "netkit.bench.localise/1",
        **{name: getattr(options, name) for name in ("nodes", "rails", "bad", "slowdown", "sigma", "dips", "seed")},
        "runs": len(runs),
        "rounds": max(run.rounds for run in runs),
        "rounds_mean": sum(run.rounds for run in runs) / len(runs),
        "tests": sum(run.tests for run in runs) / len(runs),
        "precision": right / (right + false) if right + false else None,
        "precision_interval": wilson(right, right + false),
        "recall": right / (right + missed) if right + missed else None,
        "recall_interval": wilson(right, right + missed),
        "false_findings_per_run": false / len(runs),
        "answers": {str(answer): sum(run.answer is answer for run in runs) for answer in Answer},
        "smallest_detectable_slowdown_mean": sum(smallest) / len(smallest) if smallest else None,
        "seconds": sum(run.seconds for run in runs) / len(runs),
        "seconds_max": max(run.seconds for run in runs),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def wilson(hits: int, trials: int) -> tuple[float, float] | None:
    """Return the 95% Wilson score interval of a share, None without trials."""
    if not trials:
        return None
    share, z2 = hits / trials, _WILSON_95**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _WILSON_95 / (1 + z2 / trials) * sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1024)
    parser.add_argument("--rails", type=int, default=8)
    parser.add_argument("--bad", type=int, default=10, help="how many nodes have one slow rail")
    parser.add_argument("--slowdown", type=float, default=0.1)
    parser.add_argument("--sigma", type=float, default=0.015)
    parser.add_argument("--dips", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not 0 <= options.bad <= options.nodes or options.runs < 1 or options.rails < 1:
        parser.error("--bad must lie between 0 and --nodes; --runs and --rails must be at least 1")
    figures = summarise(options, [run_once(options, options.seed + number) for number in range(options.runs)])
    if options.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name:36} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
