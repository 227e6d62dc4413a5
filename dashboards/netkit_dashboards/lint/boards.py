"""Every rule on every dashboard."""

from __future__ import annotations

import json
from collections.abc import Iterator

from netkit_dashboards.finalise import dashboard
from netkit_dashboards.lint import grafana_rules, netkit_rules
from netkit_dashboards.lint.finding import LintFinding
from netkit_dashboards.lint.reading import Document
from netkit_dashboards.shelf import boards

RULES = {**grafana_rules.RULES, **netkit_rules.RULES}


def findings() -> Iterator[LintFinding]:
    """Yield what is wrong with the dashboards."""
    for board in boards():
        yield from findings_of(json.loads(json.dumps(dashboard(board))))


def findings_of(board: Document) -> Iterator[LintFinding]:
    """Yield what is wrong with one dashboard, given as JSON; one that is no PromQL is not looked into further."""
    for name, check in RULES.items():
        try:
            said = list(check(board))
        except ValueError:
            continue  # an expression that does not parse: target-promql says so
        for where, text in said:
            yield LintFinding(where=f"{board['uid']}: {where}", rule=name, text=text)
