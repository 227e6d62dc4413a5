"""How often advice names the setting a single fault changed, mends it, and undoes it: every tunable mutant."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace

from tests.checks.mutants import Mutant, mutants
from tests.checks.scenes import Scene, scene
from tests.tuning.advised import advised
from tests.tuning.applied import apply
from tests.tuning.mutated import named, tunable


def main() -> None:
    """Advise about every tunable mutant and print one row for each rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--json", action="store_true", help="accepted as of every benchmark; the table comes either way"
    )
    parser.parse_args()
    parent = scene(fellows=3)
    every = list(mutants(parent))
    rows: dict[str, Counter[str]] = {}
    for mutant in filter(tunable, every):
        rows.setdefault(mutant.rule, Counter()).update(tried(parent, mutant))
    print("| rule | mutants | setting named | nothing left after | undone exactly |\n|---|---|---|---|---|")
    for rule, tally in sorted(rows.items()):
        print(f"| {rule} | {tally['tried']} | {tally['named']} | {tally['mended']} | {tally['undone']} |")
    total: Counter[str] = sum(rows.values(), Counter())
    print(json.dumps({"benchmark": "advice", "mutants": len(every), **total}))


def tried(parent: Scene, mutant: Mutant) -> list[str]:
    """Return what advice achieved about one fault."""
    broken = mutant.make(parent if mutant.rule.startswith("J") else replace(parent, fellows=()))
    report = advised(broken)
    mended = apply(broken, report)
    achieved = {
        "tried": True,
        "named": named(mutant, report.advice),
        "mended": not advised(mended).advice,
        "undone": apply(mended, report, undo=True) == broken,
    }
    return [word for word, true in achieved.items() if true]


if __name__ == "__main__":
    main()
