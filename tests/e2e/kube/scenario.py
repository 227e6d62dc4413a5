"""Objects of one story each, in scenarios/: put on the control plane as a person would, judged by its own parts."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.e2e.kube.api import Api, Object
from tests.e2e.kube.processes import wait_until

SCENARIOS = Path(__file__).parent / "scenarios"
SETTLED_SECONDS = 60


def play(api: Api, name: str) -> None:
    """Apply the objects of a scenario, such as volcano/fits, in the order they stand in."""
    for wanted in yaml.safe_load_all((SCENARIOS / f"{name}.yaml").read_text()):
        api.apply(wanted)


def running(api: Api, namespace: str) -> list[Object]:
    """Return the pods of a namespace that run on a node."""
    pods = api.items(f"/api/v1/namespaces/{namespace}/pods")
    return [pod for pod in pods if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Running"]


def placed(api: Api, namespace: str) -> set[str]:
    """Return the nodes that pods of a namespace run on, by the server's own word."""
    return {pod["spec"]["nodeName"] for pod in running(api, namespace)}


def settle(api: Api, namespace: str, count: int) -> None:
    """Wait until at least this many pods of a namespace run."""
    wait_until(
        lambda: len(running(api, namespace)) >= count,
        SETTLED_SECONDS,
        lambda: f"{len(running(api, namespace))} of {count} pods of {namespace} run",
    )


def condition(found: Object, kind: str) -> Object:
    """Return one condition of an object's status; empty while nobody has set it."""
    rows = found.get("status", {}).get("conditions") or ()
    return next((row for row in rows if row["type"] == kind), {})
