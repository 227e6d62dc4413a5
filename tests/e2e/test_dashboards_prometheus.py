"""No dead panel: a real Prometheus scrapes the real exporter, and every question of every dashboard has an answer.

Recorded nodes stand still, so what only a moving fault shows comes from a synthetic fleet's history, written into the
same Prometheus; which of the two answered is kept apart.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.fleet import Fleet, openmetrics
from netkit.catalogue.metric_rows import link
from netkit.catalogue.rules import CONGESTED_3D, CONGESTED_5M
from netkit.sources.prometheus import Prometheus
from netkit_dashboards.finalise import dashboard
from netkit_dashboards.forms import RuleFormat, Theme
from netkit_dashboards.lint.reading import Document, targets
from netkit_dashboards.preview.answers import Span, asked
from netkit_dashboards.preview.pages import pages, variables
from netkit_dashboards.rule_delivery import rule_files
from netkit_dashboards.rule_file import Rendering
from netkit_dashboards.shelf import boards, panel_ids
from tests.dashboards.free_port import free_port
from tests.e2e.browser import Page, running
from tests.e2e.page_checks import FAULTS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed"),
]
NODES = Path(__file__).parents[1] / "nodes"
RECORDED = ("healthy-hgx", "roce-two-rails", "mlx5-counters", "saturated-infiniband")
DAY, HOUR_MINUTES = 1440, 60
"""Minutes."""
CONGESTED_SHARE = 0.02
FLAPS = link.DOWNS.name
_HEIGHT = "document.documentElement.scrollHeight"
STEP = 15
HISTORY = 40 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A running Prometheus, and when the synthetic history in it ends."""

    url: str
    history_end: float


def scrape_config(ports: dict[str, int], own: int) -> dict[str, Any]:
    jobs = [
        {
            "targets": [f"127.0.0.1:{port}"],
            "labels": {"node": name, "cluster": "recorded", "node_pool": "recorded"},
        }
        for name, port in ports.items()
    ]
    itself = {"targets": [f"127.0.0.1:{own}"], "labels": {"cluster": "c1"}}
    rail = {"source_labels": ["device"], "regex": r"\D*(?:\d+\D+)*?(\d+)", "target_label": "rail"}
    return {
        "global": {"scrape_interval": "1s", "evaluation_interval": "2s"},
        "rule_files": ["netkit-rules.yaml"],
        "scrape_configs": [
            {"job_name": "netkit", "honor_labels": True, "static_configs": jobs, "metric_relabel_configs": [rail]},
            {"job_name": "prometheus", "static_configs": [itself]},
        ],
    }


def backfill(folder: Path, end: float) -> None:
    """Write history; in two files, for promtool reads a file whole for every two hours of it."""
    fleet = Fleet(nodes=2, rails=8, start=end - HISTORY, end=end, step=STEP, ill=1)
    for lines in (openmetrics(fleet), days_before(end)):
        history = folder / "history.om"
        with history.open("w") as file:
            file.writelines(lines)
        command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(history), str(folder / "data")]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        history.unlink()


def days_before(end: float) -> Iterator[str]:
    """Three days of cluster `long`: ports congested two hundredths of the time, a link that flapped five hours ago."""
    yield f"# TYPE {CONGESTED_5M.name} gauge\n"
    inside = 'cluster="long",job="netkit",instance="fleet"'
    for minute in range(0, 3 * DAY, 4):
        yield f"{CONGESTED_5M.name}{{{inside}}} {CONGESTED_SHARE} {end - 60 * (3 * DAY - minute)}\n"
    yield f"# TYPE {FLAPS.removesuffix('_total')} counter\n"
    inside = 'cluster="long",job="netkit",instance="n1:9879",node="n1",rail="0",device="mlx5_0",netdev="eth0"'
    for minute in range(0, 6 * HOUR_MINUTES, 4):
        yield f"{FLAPS}{{{inside}}} {2 if minute >= HOUR_MINUTES else 0} {end - 60 * (6 * HOUR_MINUTES - minute)}\n"
    yield "# EOF\n"


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def wait_for(urls: list[str], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    left = list(urls)
    while left and time.monotonic() < deadline:
        left = [url for url in left if not is_ready(url)]
        time.sleep(0.3)
    assert not left, f"did not answer: {left}"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Exporters of recorded nodes, a Prometheus that scrapes them, with history and rules; half a minute of life."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "data").mkdir()
    ports = {name: free_port() for name in RECORDED}
    own = free_port()
    for name, text in rule_files(RuleFormat.RULES, Rendering(panel_ids=panel_ids())).items():
        (folder / name).write_text(text)
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(scrape_config(ports, own)))
    end = time.time() // STEP * STEP
    backfill(folder, end)
    started = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "netkit_exporters", "serve", "--listen", f"127.0.0.1:{port}"),
                *("--snapshot", str(NODES / f"{name}.jsonl"), "--platform", "hgx-h100", "--refresh", "1s"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, port in ports.items()
    ]
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{own}",
        "--storage.tsdb.retention.time=10y",
    ]
    started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    try:
        wait_for([f"http://127.0.0.1:{port}/metrics" for port in ports.values()], 60)
        wait_for([f"http://127.0.0.1:{own}/-/ready"], 60)
        time.sleep(20)
        yield Watched(url=f"http://127.0.0.1:{own}", history_end=end)
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=20)


def clusters(watched: Watched, target: Document, choices: dict[str, str]) -> set[str]:
    """Which of the two clusters answers a target; what carries no cluster counts for both."""
    source = Prometheus(watched.url)
    now = time.time()
    found = set()
    for cluster in ("recorded", "c1"):
        span = Span(start=now - 120 if cluster == "recorded" else watched.history_end - 1200, end=now)
        narrowed = {**choices, "cluster": cluster} if "cluster" in choices else choices
        expression = asked(target["expr"], narrowed, STEP, span)
        answers = source.over(expression, span.start, span.end, STEP)
        if any(answer.points for answer in answers):
            found.add(cluster)
    return found


@pytest.mark.parametrize("board", boards(), ids=lambda board: board.id)
def test_every_question_of_a_dashboard_has_an_answer(watched: Watched, board: Any) -> None:
    """Every target returns a series: from the real exporters, or in the history of the fleet with a fault."""
    document = json.loads(json.dumps(dashboard(board)))
    choices = variables(board, {})
    dead = [
        f"{panel['title']} {target['refId']}: {target['expr']}"
        for panel, target in targets(document)
        if not clusters(watched, target, choices)
    ]

    assert not dead, "\n".join(dead)


def test_the_real_exporters_answer_what_recordings_hold(watched: Watched) -> None:
    """What a recording's files give (RDMA, PCIe, pairing) is asked with the names and labels the exporter serves."""
    wanted = {
        "netkit-fabric": {"Ports down", "Nodes covered", "Received by ports", "Congestion notifications by rail"},
        "netkit-node": {"Port state", "RDMA devices", "Throughput of line rate"},
        "netkit-gpu": {"GPU-NIC pairing", "PCIe links below their width"},
        "netkit-links": {"Firmware of devices"},
        "netkit-meta": {"Exporters that answer", "Series served", "Time of collectors"},
    }
    silent = []
    for board in boards():
        document = json.loads(json.dumps(dashboard(board)))
        choices = variables(board, {})
        for panel, target in targets(document):
            if panel["title"] in wanted.get(board.uid, ()):
                answered = "recorded" in clusters(watched, target, choices)
                silent += [] if answered else [f"{board.uid} {panel['title']} {target['refId']}"]

    assert not silent, "\n".join(silent)


def test_the_faulty_node_pages(watched: Watched) -> None:
    """Alerts fire on the history's faulty node, through real rules in a real Prometheus."""
    answers = Prometheus(watched.url).instant('ALERTS{alertstate="firing",cluster="c1",node="n1"}', time.time())

    assert {answer.labels["alertname"] for answer in answers} >= {"PfcStormPauseDisabled", "GpuXidHardware"}


def test_long_windows_read_the_days_before(watched: Watched) -> None:
    """What is averaged over three days and counted over six hours comes from history, and pages."""
    source, now = Prometheus(watched.url), time.time()
    (average,) = source.instant(f'{CONGESTED_3D.name}{{cluster="long"}}', now)
    answers = source.over(f'{CONGESTED_5M.name}{{cluster="long"}}', now - 60 * 3 * DAY, now, 3600)
    firing = source.instant('ALERTS{cluster="long",alertname="RdmaLinkFlapping",alertstate="firing"}', now)

    assert average.points[-1][1] == pytest.approx(CONGESTED_SHARE)
    assert len(answers[0].points) >= 71
    assert len(firing) == 1


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with running(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.mark.parametrize("theme", [Theme.LIGHT, Theme.DARK])
def test_pages_can_be_read_at_night(watched: Watched, browser: Page, tmp_path: Path, theme: Theme) -> None:
    """Every dashboard of the fleet with a fault: nothing cut, no panel without data, text and lines that stand out."""
    span = f"{round((time.time() - watched.history_end + HISTORY) / 60)}m"
    faults = []
    for name, text in pages(watched.url, span, {"cluster": "c1"}, theme).items():
        (tmp_path / name).write_text(text)
        browser.open(tmp_path / name, width=1280, height=900, scheme="light")
        browser.open(tmp_path / name, width=1280, height=browser.evaluate(_HEIGHT), scheme="light")
        (tmp_path / f"{name}.{theme}.png").write_bytes(browser.screenshot())
        faults += [f"{name}: {fault}" for fault in browser.evaluate(FAULTS)]
        assert browser.complaints == []

    assert faults == []
