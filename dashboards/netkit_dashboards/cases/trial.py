"""Every case of every alert, against the rules of one fabric: one run of promtool."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from netkit.catalogue.alerts import Alert, alerts
from netkit.catalogue.fabric_profiles import Profile
from netkit_dashboards.cases.alerts import GUARD, Case, group, timing
from netkit_dashboards.cases.promtool import judge
from netkit_dashboards.cases.rule_set import RuleSet
from netkit_dashboards.lint.finding import LintFinding
from netkit_dashboards.yaml_text import dump


def alerts_of(profile: Profile) -> tuple[Alert, ...]:
    """Return the alerts of a fabric."""
    return tuple(alert for alert in alerts() if profile in alert.profiles)


def findings(rules: RuleSet) -> Iterator[LintFinding]:
    """Yield what does not hold; SourceError when promtool is missing or cannot judge."""
    wanted = alerts_of(rules.profile)
    for alert in wanted:
        if alert.name not in rules.alerts:
            yield LintFinding(where=f"{rules.profile}: {alert.name}", rule="missing", text="the rules do not have it")
    said = failures(rules, [alert for alert in wanted if alert.name in rules.alerts])
    for (name, case), text in said.items():
        yield LintFinding(where=f"{rules.profile}: {name}", rule=case, text=_short(text))


def failures(rules: RuleSet, listed: Iterable[Alert], cases: Iterable[Case] = Case) -> Mapping[tuple[str, Case], str]:
    """Return what promtool says against the cases of alerts, by name and case."""
    asked = {f"{alert.name} {case}": (alert.name, case) for alert in listed for case in cases}
    with tempfile.TemporaryDirectory(prefix="netkit-rules-") as folder:
        said = judge([_written(Path(folder), rules, alert, cases) for alert in listed])
    return {asked[name]: text for name, text in said.items()}


def _written(folder: Path, rules: RuleSet, alert: Alert, cases: Iterable[Case]) -> Path:
    """Write an alert's rules and cases; those of all alerts at once would read every rule in every case."""
    listed = {"groups": [{"name": "case", "rules": rules.around(GUARD, alert.name)}]}
    groups = [{"name": f"{alert.name} {case}", **_asked(rules, alert, case)} for case in cases]
    test = {
        "rule_files": [f"{alert.name}.rules.yaml"],
        "evaluation_interval": f"{timing(alert, rules.profile).step}s",
        "tests": groups,
    }
    (folder / f"{alert.name}.rules.yaml").write_text(dump(listed), encoding="utf-8")
    path = folder / f"{alert.name}.test.yaml"
    path.write_text(dump(test), encoding="utf-8")
    return path


def _asked(rules: RuleSet, alert: Alert, case: Case) -> dict[str, Any]:
    """Return a case without questions about alerts the rules lack: those are one finding, not one a case."""
    found = group(alert, case, rules.profile)
    there = [one for one in found["alert_rule_test"] if one["alertname"] in rules.alerts]
    return {**found, "alert_rule_test": there}


def _short(text: str) -> str:
    """Return what promtool says on one line: what was expected, what came."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return " ".join(line for line in lines if line)[:400]
