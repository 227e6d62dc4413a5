"""What is wrong with recording and alerting rules: the checks of pint that need no server, and netkit's own.

https://cloudflare.github.io/pint/checks/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from netkit.catalogue.alerts import Severity, alerts
from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.promql import SCRAPE_LABELS
from netkit.catalogue.series import is_counter, known
from netkit_dashboards.lint.expression import Selector, grows_unrated, parsed, selectors
from netkit_dashboards.lint.finding import LintFinding
from netkit_dashboards.rule_file import Rendering, groups
from netkit_dashboards.shelf import panel_ids

SCRAPE_SECONDS = 30
"""The slowest scrape the rules are made for: a rate needs four of them."""
_ABSENT_HOLD_SECONDS = 2 * SCRAPE_SECONDS
_ANNOTATIONS = ("summary", "description", "runbook_url", "dashboard_url", "action")
_LABELS = ("severity", "component", "fabric_profile")
_COMPARES = re.compile(r"[<>]|==|!=|\babsent\(|\bunless\b")
_VALUE = re.compile(r"\$value|\.Value")
_PLAIN_VALUE = re.compile(r"{{ *\$value *}}")
_DURATION = re.compile(r"(\d+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
Rule = Mapping[str, Any]
Said = Iterator[str]


def _parses(rule: Rule) -> Said:
    try:
        parsed(rule["expr"])
    except ValueError as fault:
        yield f"{fault}: {rule['expr']}"


def _compares(rule: Rule) -> Said:
    always = {alert.name for alert in alerts() if alert.always}
    if "alert" in rule and rule["alert"] not in always and not _COMPARES.search(rule["expr"]):
        yield "compares nothing, so it fires whenever the series is there"


def _absent_waits(rule: Rule) -> Said:
    if "absent(" in rule["expr"] and seconds(rule.get("for", "0s")) < _ABSENT_HOLD_SECONDS:
        yield "absent() for less than two scrapes fires at every restart"


def _no_value_in_labels(rule: Rule) -> Said:
    for name, text in rule.get("labels", {}).items():
        if _VALUE.search(text):
            yield f"label {name} holds the value: every value is a new alert"


def _humanised(rule: Rule) -> Said:
    rated = re.search(r"\b(?:rate|increase)\(", rule["expr"])
    for name, text in rule.get("annotations", {}).items():
        if rated and _PLAIN_VALUE.search(text):
            yield f"{name} shows the value of a rate with all its digits"


def _annotated(rule: Rule) -> Said:
    if "alert" in rule:
        for name in _ANNOTATIONS:
            if not rule["annotations"].get(name):
                yield f"annotation {name} is missing"
        for name in _LABELS:
            if not rule["labels"].get(name):
                yield f"label {name} is missing"
        if rule["labels"].get("severity") not in set(Severity):
            yield f"severity {rule['labels'].get('severity')} is none of {', '.join(Severity)}"


def _windows(rule: Rule) -> Said:
    for one in selectors(rule["expr"]):
        if one.range_seconds is not None and one.range_seconds < 4 * SCRAPE_SECONDS:
            yield f"a window of {one.range_seconds:g} s holds fewer than four scrapes"


def _rates_of_counters(rule: Rule) -> Said:
    for one in selectors(rule["expr"]):
        if one.name in known() and {"rate", "irate", "increase"}.intersection(one.inside) and not _counted(one):
            yield f"{one.name} is no counter: its rate means nothing"


def _counted(selector: Selector) -> bool:
    return is_counter(known()[selector.name])


def _counters_rated(rule: Rule) -> Said:
    for one in selectors(rule["expr"]):
        if one.name in known() and _counted(one) and grows_unrated(one):
            yield f"{one.name} is a counter: its growth is wanted, not its value"


def _whole_counts(rule: Rule) -> Said:
    if re.search(r"increase\([^)]*\)+ *> *[1-9]\d*(?!\.?\d)(?! *\*)", rule["expr"]) and "[1h]" not in rule["expr"]:
        yield "increase() gives no whole numbers: compare with half a count more"


def _no_topk(rule: Rule) -> Said:
    if "alert" in rule and re.search(r"\b(?:topk|bottomk)\(", rule["expr"]):
        yield "topk in an alert: whoever drops out of the list resolves"


def _known_names(rule: Rule) -> Said:
    for one in selectors(rule["expr"]):
        if one.name not in known():
            yield f"{one.name} is in no catalogue"
        elif unknown := one.labels - {*known()[one.name].labels, *SCRAPE_LABELS}:
            yield f"{one.name} has no label {', '.join(sorted(unknown))}"


RULES: Mapping[str, Callable[[Rule], Said]] = MappingProxyType(
    {
        "promql/syntax": _parses,
        "alerts/comparison": _compares,
        "alerts/absent": _absent_waits,
        "alerts/template": _no_value_in_labels,
        "alerts/humanize": _humanised,
        "alerts/annotation": _annotated,
        "promql/range": _windows,
        "promql/rate": _rates_of_counters,
        "promql/counter": _counters_rated,
        "promql/whole-counts": _whole_counts,
        "promql/fragile": _no_topk,
        "promql/series": _known_names,
    }
)


def findings() -> Iterator[LintFinding]:
    """Yield what is wrong with the rules of any fabric."""
    for profile in Profile:
        yield from findings_of(groups(Rendering(profile=profile, panel_ids=panel_ids())), str(profile))


def findings_of(listed: list[dict[str, Any]], where: str) -> Iterator[LintFinding]:
    """Yield what is wrong with rule groups, one by one and between them."""
    seen: dict[tuple[str, str], str] = {}
    for group in listed:
        for rule in group["rules"]:
            name = str(rule.get("alert") or rule.get("record"))
            place = f"{where}: {group['name']}: {name}"
            for check, text in _said(rule):
                yield LintFinding(where=place, rule=check, text=text)
            if (name, rule["expr"]) in seen:
                yield LintFinding(where=place, rule="rule/duplicate", text=f"stands in {seen[name, rule['expr']]} too")
            seen[name, rule["expr"]] = place


def _said(rule: Rule) -> Iterator[tuple[str, str]]:
    broken = list(_parses(rule))
    checks = {"promql/syntax": _parses} if broken else RULES
    return ((name, text) for name, check in checks.items() for text in check(rule))


def seconds(duration: str) -> int:
    """Return a Prometheus duration such as `1h30m` in seconds."""
    return sum(int(count) * _SECONDS[unit] for count, unit in _DURATION.findall(duration))
