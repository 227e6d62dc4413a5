"""What is delivered to Kubernetes has the shape its definitions demand.

The schemas are our own, written from the documented fields of ConfigMap (core/v1), GrafanaDashboard
(grafana.integreatly.org/v1beta1), PrometheusRule and ServiceMonitor (monitoring.coreos.com/v1), unknown fields refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from netkit_dashboards.rendered import rendered

HOME = Path(__file__).parents[2]
DURATION = {"type": "string", "pattern": r"^(0|(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?)$", "minLength": 1}
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
NAME = {"type": "string", "maxLength": 253, "pattern": r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"}


def thing(version: str, kind: str, required: str, **more: Any) -> dict[str, Any]:
    metadata = {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {"name": NAME, "namespace": NAME, "labels": TEXTS, "annotations": TEXTS},
    }
    head = {"apiVersion": {"const": version}, "kind": {"const": kind}, "metadata": metadata}
    return closed({**head, **more}, ["apiVersion", "kind", "metadata", required])


def closed(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required or [],
    }


def listed(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": items}


RULE = closed(
    {
        "alert": {"type": "string"},
        "record": {"type": "string", "pattern": r"^[a-zA-Z_:][a-zA-Z0-9_:]*$"},
        "expr": {"type": "string", "minLength": 1},
        "for": DURATION,
        "keep_firing_for": DURATION,
        "labels": TEXTS,
        "annotations": TEXTS,
    },
    ["expr"],
) | {"oneOf": [{"required": ["alert"]}, {"required": ["record"]}]}
RELABELLING = closed(
    {
        "sourceLabels": listed({"type": "string"}),
        "separator": {"type": "string"},
        "targetLabel": {"type": "string"},
        "regex": {"type": "string"},
        "replacement": {"type": "string"},
        "action": {"enum": ["replace", "Replace", "keep", "drop", "labelmap", "labeldrop", "labelkeep"]},
    }
)
TEXT = {"type": "string", "minLength": 1}
SELECTOR = {"type": "object", "properties": {"matchLabels": TEXTS}, "minProperties": 1}
ENDPOINT = closed(
    {
        "port": TEXT,
        "path": {"type": "string", "pattern": "^/"},
        "scheme": {"enum": ["http", "https"]},
        "interval": DURATION,
        "scrapeTimeout": DURATION,
        "honorLabels": {"type": "boolean"},
        "relabelings": listed(RELABELLING),
        "metricRelabelings": listed(RELABELLING),
    },
    ["port"],
)
MONITOR = closed(
    {
        "selector": SELECTOR,
        "namespaceSelector": {"type": "object"},
        "jobLabel": TEXT,
        "targetLabels": listed(TEXT),
        "endpoints": listed(ENDPOINT),
        "podMetricsEndpoints": listed(ENDPOINT),
    },
    ["selector"],
)
SCHEMAS = {
    "ConfigMap": thing("v1", "ConfigMap", "data", data=TEXTS | {"minProperties": 1}),
    "GrafanaDashboard": thing(
        "grafana.integreatly.org/v1beta1",
        "GrafanaDashboard",
        "spec",
        spec=closed(
            {
                "json": TEXT,
                "folder": TEXT,
                "resyncPeriod": DURATION,
                "instanceSelector": SELECTOR,
            },
            ["instanceSelector", "json"],
        ),
    ),
    "PrometheusRule": thing(
        "monitoring.coreos.com/v1",
        "PrometheusRule",
        "spec",
        spec=closed({"groups": listed(closed({"name": TEXT, "interval": DURATION, "rules": listed(RULE)}, ["name"]))}),
    ),
    "ServiceMonitor": thing("monitoring.coreos.com/v1", "ServiceMonitor", "spec", spec=MONITOR),
    "PodMonitor": thing("monitoring.coreos.com/v1", "PodMonitor", "spec", spec=MONITOR),
}


def documents() -> list[tuple[str, dict[str, Any]]]:
    texts = {name: text for name, text in rendered().items() if name.startswith("kubernetes/")}
    texts["service-monitor.yaml"] = (HOME / "exporters" / "deploy" / "service-monitor.yaml").read_text()
    found = [(name, one) for name, text in texts.items() for one in yaml.safe_load_all(text)]
    return [(name, one) for name, one in found if one["kind"] in SCHEMAS]


@pytest.mark.parametrize(
    "document", [pytest.param(one, id=f"{name} {one['metadata']['name']}") for name, one in documents()]
)
def test_a_resource_has_its_shape(document: dict[str, Any]) -> None:
    """Every field is one the definition knows, of the type it demands."""
    jsonschema.Draft7Validator(SCHEMAS[document["kind"]]).validate(document)


def with_rails(path: Path) -> dict[str, Any]:
    """A monitor with its commented example of rails taken in."""
    text = re.sub(r"(?m)^( *)# (metricRelabelings:|  - )", r"\1\2", path.read_text())
    found: dict[str, Any] = next(
        one for one in yaml.safe_load_all(text) if one and one["kind"] in ("ServiceMonitor", "PodMonitor")
    )
    return found


@pytest.mark.parametrize("name", ["service-monitor.yaml", "daemonset-gpu.yaml"])
@pytest.mark.parametrize(
    ("device", "rail"), [("mlx5_0", "0"), ("mlx5_7", "7"), ("mlx5_8", None), ("mlx5_bond_0", None)]
)
def test_the_example_of_rails_does_what_it_says(name: str, device: str, rail: str | None) -> None:
    """Taken in as it stands in the comment, it has its shape, and gives a device the number of its rail."""
    monitor = with_rails(HOME / "exporters" / "deploy" / name)
    jsonschema.Draft7Validator(SCHEMAS[monitor["kind"]]).validate(monitor)
    endpoints = monitor["spec"].get("endpoints") or monitor["spec"]["podMetricsEndpoints"]
    (rule,) = endpoints[0]["metricRelabelings"]
    found = re.fullmatch(rule["regex"], device)

    assert (rule["sourceLabels"], rule["targetLabel"]) == (["device"], "rail")
    assert (found and found[1]) == rail


def test_every_kind_is_delivered() -> None:
    """The schemas are not about things nobody writes."""
    kinds = {document["kind"] for _, document in documents()}

    assert kinds >= {"ConfigMap", "GrafanaDashboard", "PrometheusRule"}
    assert kinds & {"ServiceMonitor", "PodMonitor"}


def test_a_wrong_shape_is_refused() -> None:
    """The schemas can fail."""
    rule = next(one for _, one in documents() if one["kind"] == "PrometheusRule")
    rule["spec"]["groups"][0]["rules"][0]["expression"] = "up"

    with pytest.raises(jsonschema.ValidationError, match="expression"):
        jsonschema.Draft7Validator(SCHEMAS["PrometheusRule"]).validate(rule)


def test_configmaps_fit_and_carry_json() -> None:
    """Small enough for the annotation of `kubectl apply`, with the label the sidecar looks for."""
    maps = [one for _, one in documents() if one["kind"] == "ConfigMap"]

    assert len(maps) == 7
    for one in maps:
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        ((name, text),) = one["data"].items()
        assert json.loads(text)["uid"] == re.sub(r"\.json$", "", name)
        assert len(text.encode()) < 256 * 1024
