"""How often playbooks rank the right cause first: `python -m benchmarks.drills --seed S --scenarios 300 --json`.

Faults strike made-up nodes, netkit-exporter's collectors read them, a real Prometheus holds their series, and the
playbook of the alert is run on it, as `netkit playbook run` does. The cause to be named is the fault that was made.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.drills.fault import Fault
from benchmarks.drills.history import Line, Recorder
from benchmarks.drills.node import SMALL, WHOLE, Node
from benchmarks.drills.scenarios import Kind, Scenario, scenarios
from benchmarks.drills.stack import eventually
from netkit.catalogue.alerts import Alert, alerts
from netkit.errors import SourceError
from netkit.sources.prometheus import Prometheus
from netkit_playbooks.asking import ask
from netkit_playbooks.playbook import Playbook
from netkit_playbooks.ranking import Ranking, rank
from netkit_playbooks.shelf import playbooks
from netkit_playbooks.signals import DEVICE_LABELS, Place, signals
from tests.dashboards.free_port import free_port

HEALTHY_NODES = 4
_BLOCK_SECONDS = 7200
_READY_SECONDS = 120.0
_STRUCK = {
    "device": "mlx5_0",
    "netdev": "rail0",
    "port": "1",
    "gpu": "0",
}
"""Where faults strike, by label of the alert."""
_GPU, _NIC = "0000:13:00.0", "0000:15:00.0"
Shape = tuple[int, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the ranking said of a scenario."""

    scenario: Scenario
    playbook: str
    ranked: tuple[str, ...]
    verdict: str

    @property
    def place(self) -> int:
        """How many causes stand before the right one."""
        cause = self.scenario.kind.cause
        return self.ranked.index(cause) if cause in self.ranked else len(self.ranked)


def main() -> None:
    """Run the scenarios of a seed and print the confusion matrix."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenarios", type=int, default=300)
    parser.add_argument("--json", action="store_true", help="the result as one line of JSON, after no table")
    wanted = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = played(Path(folder), tuple(scenarios(wanted.seed, wanted.scenarios)))
    if not wanted.json:
        print(matrix(outcomes))
    summary = {"benchmark": "drills", "seed": wanted.seed, **figures(outcomes)}
    print(json.dumps(summary | {"seconds": round(time.monotonic() - started, 1)}))


def played(folder: Path, told: tuple[Scenario, ...]) -> list[Outcome]:
    """Record every scenario, keep all in one Prometheus, and rank."""
    # Blocks of a database begin at even hours: a history that lies in one block is read in one go.
    end = time.time() // _BLOCK_SECONDS * _BLOCK_SECONDS - 60
    history = folder / "history.om"
    with history.open("w") as file:
        for text in recorded(folder / "nodes", told, end):
            file.write(text)
        file.write("# EOF\n")
    with prometheus(folder, history) as url:
        source = Prometheus(url)
        return [judged(source, one, end) for one in told]


def recorded(folder: Path, told: Iterable[Scenario], end: float) -> Iterator[str]:
    """Yield the series of every scenario's cluster: the node that is struck, others that are, and healthy ones."""
    recorders: dict[tuple[str, Shape], Recorder] = {}

    def recorder(name: str, kind: Kind) -> Recorder:
        shape = (WHOLE if kind.whole else SMALL, kind.infiniband)
        if (name, shape) not in recorders:
            place = folder / f"{shape[0]}-{shape[1]}" / name
            place.mkdir(parents=True)
            node = Node(name, place, devices=shape[0], infiniband=shape[1])
            node.lay_out()
            recorders[name, shape] = Recorder(node)
        return recorders[name, shape]

    for one in told:
        wanted = families(playbook_of(one.kind.alert))
        draw = random.Random(one.seed)
        silent = silenced(one, wanted, draw)
        faults = {"n0": one.fault} | {f"n{place}": fault for place, fault in enumerate(one.beside, 1)}
        healthy = {f"n{place}": Fault() for place in range(len(faults), len(faults) + HEALTHY_NODES)}
        for name, fault in (faults | healthy).items():
            lines = recorder(name, one.kind).history(fault, wanted, draw)
            kept = [line for line in lines if name != "n0" or line.metric.name != silent]
            yield from written(kept, {"cluster": cluster_of(one), "node": name, "instance": name, "job": "netkit"}, end)
    for each in recorders.values():
        each.close()


def silenced(one: Scenario, wanted: Iterable[str], draw: random.Random) -> str:
    """Return the family an older exporter would not have; what raised the alert is there."""
    raised = alert_of(one.kind.alert).condition
    others = [name for name in sorted(wanted) if name not in raised and "collector" not in name]
    return draw.choice(others) if others and one.is_silent else ""


def written(lines: Iterable[Line], more: Mapping[str, str], end: float) -> Iterator[str]:
    """Yield the samples of a node."""
    for line in lines:
        yield from line.text(more, end)


@contextmanager
def prometheus(folder: Path, history: Path) -> Iterator[str]:
    """A Prometheus that holds a history and scrapes nothing."""
    data, config, port = folder / "data", folder / "prometheus.yaml", free_port()
    blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(history), str(data)]
    subprocess.run(blocks, check=True, stdout=subprocess.DEVNULL)
    config.write_text("global: {scrape_interval: 1h}\n")
    command = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.retention.time=10y",
        "--log.level=error",
    ]
    url = f"http://127.0.0.1:{port}"
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        assert eventually(lambda: answers(url), _READY_SECONDS), (folder / "prometheus.log").read_text()
        yield url
    finally:
        process.terminate()
        process.wait()


def answers(url: str) -> bool:
    """Tell whether a Prometheus answers."""
    try:
        return bool(Prometheus(url).instant("vector(1)", time.time()))
    except SourceError:
        return False


def judged(source: Prometheus, one: Scenario, at: float) -> Outcome:
    """Run the playbook of the alert on what the series say."""
    page = playbook_of(one.kind.alert)
    alert = alert_of(one.kind.alert)
    struck = _STRUCK | {"pci_bus_id": _NIC if alert.component == "host" else _GPU}
    narrowed = {label: struck[label] for label in alert.identity if label in DEVICE_LABELS and label in struck}
    place = Place(node="n0", cluster=cluster_of(one), narrowed=narrowed)
    asked = [signals()[name] for name in page.wanted if name in signals()]
    ranking: Ranking = rank(page, ask(source, asked, place, at))
    return Outcome(
        scenario=one,
        playbook=page.id,
        ranked=tuple(each.cause.id for each in ranking.ranked),
        verdict=str(ranking.verdict),
    )


def families(page: Playbook) -> frozenset[str]:
    """Return the series a playbook asks for, by name."""
    asked = [signals()[name] for name in page.wanted if name in signals()]
    series = [one.series for one in asked] + [one.per for one in asked if one.per]
    series += [one.given.series for one in asked if one.given]
    return frozenset({one.name for one in series} | {"netkit_collector_success"})


def alert_of(name: str) -> Alert:
    """Return an alert of the catalogue."""
    return next(alert for alert in alerts() if alert.name == name)


def playbook_of(alert: str) -> Playbook:
    """Return the playbook an alert names."""
    return playbooks()[alert_of(alert).playbook]


def cluster_of(one: Scenario) -> str:
    """Return the cluster of a scenario: every one has its own."""
    return f"s{one.number}"


def figures(outcomes: Iterable[Outcome]) -> dict[str, object]:
    """Return how often the right cause came first, among the first three, and was named; and what was confused."""
    listed = list(outcomes)
    places = Counter(one.place for one in listed)
    confused = Counter(
        (one.playbook, one.scenario.kind.fault, one.scenario.kind.cause, one.ranked[0]) for one in listed if one.place
    )
    return {
        "scenarios": len(listed),
        "kinds": len({one.scenario.kind for one in listed}),
        "first": round(places[0] / len(listed), 4),
        "first_three": round(sum(places[place] for place in range(3)) / len(listed), 4),
        "named": round(sum(one.verdict == "named" and one.place == 0 for one in listed) / len(listed), 4),
        "named_wrongly": sum(one.verdict == "named" and one.place > 0 for one in listed),
        "confused": [
            dict(zip(("playbook", "fault", "cause", "ranked_first", "count"), (*what, count), strict=True))
            for what, count in confused.most_common()
        ],
    }


def matrix(outcomes: Iterable[Outcome]) -> str:
    """Return the confusion matrix, a table for each playbook: the true cause against the one ranked first."""
    counted: dict[str, Counter[tuple[str, str]]] = {}
    for one in outcomes:
        counted.setdefault(one.playbook, Counter())[one.scenario.kind.cause, one.ranked[0]] += 1
    return "\n".join(_table(page, cells) for page, cells in sorted(counted.items()))


def _table(page: str, cells: Counter[tuple[str, str]]) -> str:
    said = sorted({first for _, first in cells})
    rows = [
        f"| {cause} | {' | '.join(str(cells[cause, first]) for first in said)} |"
        for cause in sorted({cause for cause, _ in cells})
    ]
    return "\n".join((f"| {page} | {' | '.join(said)} |", "|---" * (len(said) + 1) + "|", *rows, ""))


if __name__ == "__main__":
    main()
