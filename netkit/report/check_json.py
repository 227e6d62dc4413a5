"""A doctor's report as JSON, schema `netkit.check/1`."""

from __future__ import annotations

import json
from typing import Any

from netkit.doctor.judge import CheckReport
from netkit.model.check import Outcome, Result, Rule

SCHEMA = "netkit.check/1"
EXPLAIN_SCHEMA = "netkit.explain/1"


def render(report: CheckReport, *, one_line: bool = False) -> str:
    """Return the report as one JSON object, ending in a newline."""
    return _dump(document(report), one_line=one_line)


def document(report: CheckReport) -> dict[str, Any]:
    """Return the report as plain dicts and lists."""
    return {
        "schema": SCHEMA,
        "nodes": list(report.nodes),
        "results": [_result(one) for one in report.results],
        "counts": dict(report.counts),
    }


def _result(one: Result) -> dict[str, Any]:
    return {
        "node": one.node,
        "rule": one.rule,
        "subject": one.subject,
        "outcome": one.outcome.value,
        "severity": one.severity.value,
        "summary": one.summary,
        "evidence": list(one.evidence),
        "remedy": one.remedy if one.outcome in {Outcome.FINDING, Outcome.SILENCED} else "",
        "playbook": one.playbook,
    }


def render_rule(rule: Rule, *, one_line: bool = False) -> str:
    """Return the explanation of one rule as one JSON object, ending in a newline."""
    fields = ("id", "name", "severity", "question", "reads", "passes", "why", "remedy", "source", "caution", "playbook")
    return _dump({"schema": EXPLAIN_SCHEMA, **{name: getattr(rule, name) for name in fields}}, one_line=one_line)


def _dump(value: dict[str, Any], *, one_line: bool) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"
