"""The JSON that `netkit probe --output json` writes (schema `netkit.probe/1`), as samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from netkit.catalogue.metric_rows import nccl as rows
from netkit.errors import InputError
from netkit.model.probe import Answer
from netkit.report.probe_json import SCHEMA
from netkit_exporters.collecting import Sample
from netkit_exporters.readout import label

_MOST_FINDINGS = 100


def parse_probe(text: str) -> dict[str, Any]:
    """Return the document; InputError for any other text."""
    try:
        document = json.loads(text)
    except ValueError as fault:
        raise InputError("text", f"JSON of schema {SCHEMA}") from fault
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError("JSON of another kind", f"schema {SCHEMA}")
    return document


def probe_samples(document: Mapping[str, Any], file: str) -> Iterator[Sample]:
    """Yield verdict, findings and what could have been seen; a probe without a name has its file's."""
    name = document.get("name")
    probe = label(name) if isinstance(name, str) and name else file
    for answer in Answer:
        yield Sample(rows.VERDICT, (probe, answer.value), float(document.get("verdict") == answer.value))
    smallest = document.get("smallest_detectable_slowdown")
    if isinstance(smallest, int | float):
        yield Sample(rows.DETECTABLE, (probe,), float(smallest))
    findings = document.get("findings")
    for finding in findings[:_MOST_FINDINGS] if isinstance(findings, list) else ():
        if isinstance(finding, dict) and isinstance(finding.get("slowdown"), int | float):
            at = tuple(_said(finding.get(part)) for part in rows.FINDINGS.labels[1:])
            yield Sample(rows.FINDINGS, (probe, *at), float(finding["slowdown"]))
    yield from _started(document.get("started_at"), probe)


def _started(shown: object, probe: str) -> Iterator[Sample]:
    try:
        moment = datetime.fromisoformat(str(shown))
    except ValueError:
        return
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    yield Sample(rows.STARTED, (probe,), aware.timestamp())


def _said(value: object) -> str:
    return "" if value is None else label(str(value))
