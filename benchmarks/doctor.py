"""How many single faults the doctor finds, under which rule, and how long a node and a gang take: every mutant."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import replace

from netkit.checks import checks, holding
from netkit.doctor.context import Wishes, context_of
from netkit.doctor.contract import Member
from netkit.doctor.judge import judge
from netkit.model.finding import Severity
from tests.checks.mutants import Trial, mutants
from tests.checks.scenes import Scene, answers, healthy, scene


def main() -> None:
    """Judge every mutant and print one row for each rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000, help="members of the gang that is timed")
    parser.add_argument(
        "--json", action="store_true", help="accepted as of every benchmark; the table comes either way"
    )
    wanted = parser.parse_args()
    parent = scene(fellows=3)
    rows = found_by_rule(parent)
    total: Counter[str] = sum(rows.values(), Counter())
    loud = [one for one in answers(parent) if one.outcome == "finding" and one.severity is not Severity.INFO]
    summary = {
        "mutants": total.total(),
        "found": total.total() - total["missed"],
        "right_rule": total["right"],
        "findings_in_the_parent": len(loud),
        "node_seconds": round(seconds_of_a_node(parent), 4),
        "gang_nodes": wanted.nodes,
        "gang_seconds": round(seconds_of_a_gang(wanted.nodes), 3),
    }
    print("| rule | mutants | found | under this rule |\n|---|---|---|---|")
    for rule, tally in sorted(rows.items()):
        print(f"| {rule} | {tally.total()} | {tally.total() - tally['missed']} | {tally['right']} |")
    print(json.dumps({"benchmark": "doctor", **summary}))


def found_by_rule(parent: Scene) -> dict[str, Counter[str]]:
    """Return, for each rule, how its mutants ended: right, other, missed."""
    trial = Trial(parent)
    rows: dict[str, Counter[str]] = {}
    for one in mutants(parent):
        rows.setdefault(one.rule, Counter())[trial.judge(one)] += 1
    return rows


def seconds_of_a_node(parent: Scene) -> float:
    """Return the fastest of five runs of all node rules, reading left out."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        answers(replace(parent, fellows=()))
        times.append(time.perf_counter() - start)
    return min(times)


def seconds_of_a_gang(nodes: int) -> float:
    """Return how long the gang rules take over this many snapshots that are read already."""
    one = healthy()
    snapshots = [replace(one, host=replace(one.host, name=f"n{number}")) for number in range(nodes)]
    checks()
    start = time.perf_counter()
    members = [
        Member(name=str(node.host.name), snapshot=node, context=context_of(node, Wishes())) for node in snapshots
    ]
    judge(holding(["J"]), members, {})
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
