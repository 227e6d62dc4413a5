"""How often a probe of a real lab names the right component: kernel links, real TCP, one fault at a time.

    python -m benchmarks.lab --nodes 16 --rails 4 --rate 50mbit --runs 20 --json

Runs alternate between one faulty rail (drawn from the seed: node, rail, direction) and a healthy lab, on the same
namespaces. A finding is right when class, node and rail are right; a faulty run that names anything else besides
counts that as false.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time

from netkit.cli.lab_probe import lab_request
from netkit.lab import lifecycle
from netkit.lab.faults import Fault, Place, Where
from netkit.lab.shape import checked_shape
from netkit.lab.state import load
from netkit.model.probe import Direction, FaultClass, ProbeReport
from netkit.model.units import parse_rate_bytes_per_second
from netkit.probe.run import run_probe


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--rails", type=int, default=4)
    parser.add_argument("--rate", default="50mbit")
    parser.add_argument("--slowdown", type=float, default=0.2)
    parser.add_argument("--runs", type=int, default=20, help="faulty runs; as many healthy ones")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options)
    print(json.dumps(figures) if options.json else "\n".join(f"{key:26} {value}" for key, value in figures.items()))


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Return the figures over all runs."""
    name = f"bench-{os.getpid()}"
    rate = parse_rate_bytes_per_second(options.rate)
    shape = checked_shape(nodes=options.nodes, rails=options.rails, leaves=2, rate=rate, uplink_rate=None)
    right = false = healthy_findings = inconclusive = direction_right = 0
    seconds, smallest, misses = [], [], []
    try:
        lifecycle.up(shape, name, owner=os.getpid())
        for seed in range(options.seed, options.seed + options.runs):
            fault = _drawn_fault(options, seed)
            lifecycle.set_fault(name, fault)
            report = _probe(name, seed)
            lifecycle.clear_faults(name, None)
            hits = [f for f in report.verdict.findings if _is(fault, f.fault_class, f.node, f.rail)]
            right += len(hits)
            false += len(report.verdict.findings) - len(hits)
            direction_right += sum(finding.direction == fault.direction for finding in hits)
            if len(hits) != 1 or len(report.verdict.findings) != 1:
                misses.append(f"seed {seed}: {fault}: {report.verdict.why}")
            healthy = _probe(name, seed)
            healthy_findings += len(healthy.verdict.findings)
            inconclusive += str(healthy.verdict.answer) == "inconclusive"
            if str(healthy.verdict.answer) != "healthy":
                misses.append(f"seed {seed}: healthy lab: {healthy.verdict.why}")
            seconds += [report.seconds, healthy.seconds]
            smallest += [r.verdict.smallest_detectable_slowdown or 1.0 for r in (report, healthy)]
    finally:
        lifecycle.down(name)
    return {
        "schema": "netkit.bench.lab/1",
        **{key: getattr(options, key) for key in ("nodes", "rails", "rate", "slowdown", "runs", "seed")},
        "precision": right / (right + false) if right + false else None,
        "recall": right / options.runs,
        "direction_right": direction_right / right if right else None,
        "healthy_findings": healthy_findings,
        "healthy_inconclusive": inconclusive,
        "probe_seconds_mean": sum(seconds) / len(seconds),
        "probe_seconds_max": max(seconds),
        "smallest_slowdown_mean": sum(smallest) / len(smallest),
        "misses": misses,
        "at": time.strftime("%Y-%m-%d"),
    }


def _drawn_fault(options: argparse.Namespace, seed: int) -> Fault:
    rng = random.Random(f"{seed}:lab")
    where = Where(place=Place.NODE, node=f"n{rng.randrange(options.nodes)}", rail=rng.randrange(options.rails))
    return Fault(where=where, direction=rng.choice(list(Direction)), slowdown=options.slowdown)


def _is(fault: Fault, fault_class: FaultClass, node: str | None, rail: int | None) -> bool:
    return (fault_class, node, rail) == (FaultClass.RAIL, fault.where.node, fault.where.rail)


def _probe(name: str, seed: int) -> ProbeReport:
    request, launcher = lab_request(load(name), seed=seed)
    return run_probe(request, launcher)


if __name__ == "__main__":
    main()
