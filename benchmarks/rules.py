"""What dashboards and rules cost a Prometheus: `python -m benchmarks.rules --ports 1000`.

A synthetic fleet's history is written into a real Prometheus (`promtool tsdb create-blocks-from openmetrics`), rules
are evaluated over it, and every question of the fabric dashboard is asked again and again. Needs prometheus and
promtool.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.fleet import Fleet, openmetrics
from netkit.sources.prometheus import Prometheus
from netkit_dashboards.finalise import dashboard
from netkit_dashboards.forms import RuleFormat
from netkit_dashboards.lint.expression import selectors
from netkit_dashboards.lint.reading import targets
from netkit_dashboards.preview.answers import Span, asked
from netkit_dashboards.preview.pages import variables
from netkit_dashboards.rule_delivery import rule_files
from netkit_dashboards.rule_file import Rendering, groups
from netkit_dashboards.shelf import boards, panel_ids

RAILS = 8
STEP = 60
HISTORY = 15 * 60
SETTLE = 20
ADDRESS = "127.0.0.1:19877"


def main() -> None:
    """Print one JSON object."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ports", type=int, default=1000)
    options.add_argument("--repeats", type=int, default=20)
    options.add_argument("--panels-only", action="store_true", help="no data that alerts alone read")
    options.add_argument("--json", action="store_true", help="accepted for the runner; the output is JSON anyway")
    given = options.parse_args()
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        sys.exit("benchmarks.rules: prometheus and promtool are not installed")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        end = time.time() // STEP * STEP
        fill(place, given.ports // RAILS, end, panels_only=given.panels_only)
        with running(place):
            print(json.dumps({"ports": given.ports // RAILS * RAILS, **measure(end, given.repeats)}))


def fill(place: Path, nodes: int, end: float, *, panels_only: bool) -> None:
    """Write the history and the rules."""
    expressions = [query.expr for panel in boards()[0].panels for query in panel.queries]
    for group in groups(Rendering(panel_ids=panel_ids())):
        rules: list[dict[str, object]] = group["rules"]  # type: ignore[assignment]
        expressions += [str(rule["expr"]) for rule in rules if "record" in rule or not panels_only]
    names = frozenset(one.name for expression in expressions for one in selectors(expression))
    fleet = Fleet(nodes=nodes, rails=RAILS, start=end - HISTORY, end=end, step=STEP, names=names)
    history = place / "history.om"
    with history.open("w") as file:
        file.writelines(openmetrics(fleet))
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(history), str(place / "data")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    history.unlink()
    for name, text in rule_files(RuleFormat.RULES, Rendering(panel_ids=panel_ids())).items():
        (place / name).write_text(text)
    (place / "prometheus.yaml").write_text("global: {evaluation_interval: 5s}\nrule_files: [netkit-rules.yaml]\n")


@contextmanager
def running(place: Path) -> Iterator[None]:
    """Run a Prometheus over the folder until the block ends."""
    command = [
        *("prometheus", f"--config.file={place / 'prometheus.yaml'}", f"--storage.tsdb.path={place / 'data'}"),
        *(f"--web.listen-address={ADDRESS}", "--storage.tsdb.retention.time=10y"),
    ]
    with (place / "prometheus.log").open("w") as log:
        started = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _until_ready(started, place / "prometheus.log")
        yield
    finally:
        started.terminate()
        started.wait(timeout=30)


def _until_ready(started: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the rules have been evaluated a few times over the history."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and started.poll() is None:
        with suppress(OSError):
            if all(rule_seconds().values()):
                time.sleep(SETTLE)
                return
        time.sleep(1)
    sys.exit(f"benchmarks.rules: prometheus is not ready: {log.read_text().splitlines()[-1:]}")


def measure(end: float, repeats: int) -> dict[str, object]:
    """Ask every question of the fabric dashboard, and how long the rules took."""
    board = boards()[0]
    source, choices = Prometheus(f"http://{ADDRESS}"), variables(board, {})
    span = Span(start=end - HISTORY, end=end)
    document = json.loads(json.dumps(dashboard(board)))
    found: dict[str, float] = {}
    for panel, target in targets(document):
        expression = asked(target["expr"], choices, STEP, span)
        took = []
        for _ in range(repeats):
            began = time.perf_counter()
            if target["instant"]:
                source.instant(expression, end)
            else:
                source.over(expression, span.start, span.end, STEP)
            took.append(time.perf_counter() - began)
        p95 = statistics.quantiles(took, n=20)[-1]
        found[panel["title"]] = max(found.get(panel["title"], 0.0), round(p95, 4))
    return {
        "history_seconds": HISTORY,
        "load": round(os.getloadavg()[0], 1),
        "panel_p95_seconds": found,
        "rule_group_seconds": rule_seconds(),
    }


def rule_seconds() -> dict[str, float]:
    """Return the last evaluation of each rule group; 0 before the first."""
    with urllib.request.urlopen(f"http://{ADDRESS}/api/v1/rules", timeout=10) as answer:
        listed = json.load(answer)["data"]["groups"]
    return {group["name"]: round(group["evaluationTime"], 4) for group in listed}


if __name__ == "__main__":
    main()
