"""Every series that can be exported, as a list for people and programs: what `netkit exporter metrics` prints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from netkit.catalogue.metric_rows import exporter
from netkit.catalogue.metrics import Metric
from netkit_exporters.discovery import chosen, collectors

SCHEMA = "netkit.metrics/1"


def rows(asked: Iterable[str] | None = None) -> tuple[Metric, ...]:
    """Return the rows of these collectors, or of all of them and of the exporter itself, by name."""
    found = collectors() if asked is None else chosen(asked)
    given = [metric for collector in found for metric in collector.metrics]
    own = exporter.METRICS if asked is None else ()
    return tuple(sorted({*given, *own}, key=lambda metric: metric.name))


def metric_list(output: str, asked: Iterable[str] | None = None) -> str:
    """Return the list as `plain` text, one `json` object, or `jsonl` with an object a line."""
    found = rows(asked)
    if output == "plain":
        return "".join(_plain(found))
    listed = [_object(metric) for metric in found]
    if output == "jsonl":
        return "".join(json.dumps({"schema": SCHEMA, **one}) + "\n" for one in listed)
    return json.dumps({"schema": SCHEMA, "metrics": listed}, indent=2) + "\n"


def _object(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "type": str(metric.kind),
        "unit": metric.unit,
        "labels": list(metric.labels),
        "help": metric.help,
        "collector": metric.collector,
        "privilege": metric.privilege,
    }


def _plain(found: Iterable[Metric]) -> Iterator[str]:
    for metric in found:
        labels = f"{{{', '.join(metric.labels)}}}" if metric.labels else ""
        needs = f" Needs {metric.privilege}." if metric.privilege else ""
        yield f"{metric.name}{labels}\n    {metric.kind} of {metric.collector}: {metric.help}{needs}\n"
