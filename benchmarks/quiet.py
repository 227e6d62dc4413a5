"""Pages on days when nothing is wrong: `python -m benchmarks.quiet --node-days 1000 --json`.

Busy and healthy nodes are simulated day by day (`benchmarks.weather`), and promtool evaluates the rendered rules of
each fabric over them, minute by minute. What fires at severity critical is a page, at warning a ticket. Needs promtool.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.weather import DAY
from benchmarks.weather_series import MINUTE, series
from netkit.catalogue.alerts import Severity
from netkit.catalogue.fabric_profiles import Profile
from netkit_dashboards.cases.promtool import program
from netkit_dashboards.cases.rule_set import rendered
from netkit_dashboards.lint.expression import selectors
from netkit_dashboards.rule_file import Rendering
from netkit_dashboards.shelf import panel_ids
from netkit_dashboards.yaml_text import dump

Rules = list[dict[str, Any]]
_FIRED = 'count by (alertname, severity) (count_over_time(ALERTS{{alertstate="firing",severity!="none"}}[{minutes}m]))'
_GOT = re.compile(r'{alertname="(\w+)", severity="(\w+)"} ([\d.E+]+)')


def main() -> None:
    """Print one JSON object a fabric."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--node-days", type=int, default=1000, help="of each fabric")
    options.add_argument("--profile", type=Profile, action="append", help="one fabric; repeatable; default: all")
    options.add_argument("--nodes", type=int, default=10, help="simulated together; they are each other's fleet")
    options.add_argument("--days", type=int, default=2, help="simulated in one run of promtool")
    options.add_argument("--rails", type=int, default=2)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--pages-only", action="store_true", help="leave out rules that only give tickets")
    options.add_argument("--json", action="store_true", help="accepted for the runner; the output is JSON anyway")
    given = options.parse_args()
    program()
    for profile in given.profile or Profile:
        print(json.dumps(measure(profile, given)), flush=True)


def measure(profile: Profile, given: argparse.Namespace) -> dict[str, object]:
    """Simulate one fabric."""
    began = time.monotonic()
    rules = rules_of(profile, pages_only=given.pages_only)
    runs = -(-given.node_days // (given.nodes * given.days))
    fired: Counter[tuple[str, str]] = Counter()
    for run in range(runs):
        fired += simulate(profile, rules, given.nodes, given.rails, given.days, given.seed + run)
    return {
        "profile": profile,
        "node_days": runs * given.nodes * given.days,
        "rails": given.rails,
        "seed": given.seed,
        "pages": {name: count for (name, severity), count in fired.items() if severity == Severity.CRITICAL},
        "tickets": {name: count for (name, severity), count in fired.items() if severity == Severity.WARNING},
        "seconds": round(time.monotonic() - began),
    }


def rules_of(profile: Profile, *, pages_only: bool = False) -> Rules:
    """Return the rules of a fabric without annotations; of pages alone, with the recording rules they read."""
    rules = rendered(Rendering(profile=profile, panel_ids=panel_ids()))
    wanted = [
        name for name, rule in rules.alerts.items() if not pages_only or rule["labels"]["severity"] == Severity.CRITICAL
    ]
    return [{"name": "all", "rules": rules.around(*wanted)}]


def simulate(profile: Profile, rules: Rules, nodes: int, rails: int, days: int, seed: int) -> Counter[tuple[str, str]]:
    """Return how many series of each alert fired in one run, by name and severity."""
    names = frozenset(one.name for group in rules for rule in group["rules"] for one in selectors(rule["expr"]))
    question = {
        "expr": _FIRED.format(minutes=days * DAY),
        "eval_time": f"{days * DAY - 1}m",
        "exp_samples": [{"labels": '{alertname="nothing"}', "value": 1}],
    }
    test = {
        "interval": f"{MINUTE}s",
        "input_series": list(series(profile, names, nodes=nodes, rails=rails, days=days, seed=seed)),
        "promql_expr_test": [question],
    }
    with tempfile.TemporaryDirectory(prefix="netkit-quiet-") as folder:
        place = Path(folder)
        (place / "rules.yaml").write_text(dump({"groups": rules}), encoding="utf-8")
        document = {"rule_files": ["rules.yaml"], "evaluation_interval": f"{MINUTE}s", "tests": [test]}
        # JSON is YAML, and read and written ten times as fast.
        (place / "test.yaml").write_text(json.dumps(document), encoding="utf-8")
        return _fired(place / "test.yaml")


def _fired(path: Path) -> Counter[tuple[str, str]]:
    """Ask promtool for what cannot be there, so that it always says what is."""
    done = subprocess.run([program(), "test", "rules", str(path)], check=False, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if 'exp: {alertname="nothing"}' not in said:
        sys.exit(f"benchmarks.quiet: promtool could not judge: {said.strip().splitlines()[-1]}")
    return Counter({(name, severity): round(float(count)) for name, severity, count in _GOT.findall(said)})


if __name__ == "__main__":
    main()
