"""Advice as JSON, schema `netkit.tune/1`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from netkit.model.advice import Advice, AdviceReport, Conflict, Unseen

SCHEMA = "netkit.tune/1"


def render(report: AdviceReport, *, one_line: bool = False) -> str:
    """Return the report as one JSON object, ending in a newline."""
    return json.dumps(document(report), ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"


def document(report: AdviceReport) -> dict[str, Any]:
    """Return the report as plain dicts and lists; with several nodes a setting starts with its node."""
    several = len(report.nodes) > 1
    return {
        "schema": SCHEMA,
        "advice": [_advice(one, several=several) for one in report.advice],
        "unseen": [_unseen(one, several=several) for one in report.unseen],
    }


def _advice(one: Advice, *, several: bool) -> dict[str, Any]:
    return {
        "id": one.id,
        "target": one.target.value,
        "setting": f"{one.node}: {one.setting}" if several else one.setting,
        "now": one.now,
        "proposed": one.proposed,
        "reason": one.reason,
        "evidence": list(one.evidence),
        "source": one.source,
        "effect": one.effect,
        "risk": one.risk,
        "apply": one.apply,
        "rollback": one.rollback,
        "conflicts": _conflicts(one.conflicts),
    }


def _unseen(one: Unseen, *, several: bool) -> dict[str, Any]:
    subject = f"{one.node}: {one.subject}" if several else one.subject
    return {"id": one.id, "subject": subject, "why": one.why, "published": _conflicts(one.published)}


def _conflicts(found: Sequence[Conflict]) -> list[dict[str, str]]:
    return [{"profile": one.profile, "value": one.value, "source": one.source} for one in found]
