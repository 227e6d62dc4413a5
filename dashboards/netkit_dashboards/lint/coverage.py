"""Every series the exporter serves is read by a dashboard or a rule, or marked with the reason why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.series import exported
from netkit.catalogue.unused import unused
from netkit_dashboards.lint.expression import selectors
from netkit_dashboards.lint.finding import LintFinding
from netkit_dashboards.rule_file import Rendering, groups
from netkit_dashboards.shelf import boards, panel_ids


def findings() -> Iterator[LintFinding]:
    """Yield series that are neither read nor marked, and marks that are not true."""
    read = names_read()
    yield from findings_of(frozenset(exported()), read, unused(read))


def findings_of(served: frozenset[str], read: frozenset[str], marked: Mapping[str, str]) -> Iterator[LintFinding]:
    """Yield what is wrong between the names served, those read, and those marked as not read."""
    said = (
        ("metric-unused", served - read - marked.keys(), "no dashboard or rule reads it, and no mark says why"),
        ("mark-untrue", read & marked.keys(), "is marked as read by nobody, and is read"),
        ("mark-unknown", marked.keys() - served, "is marked, and the exporter does not serve it"),
    )
    for rule, names, text in said:
        for name in sorted(names):
            yield LintFinding(where=name, rule=rule, text=text)


def names_read() -> frozenset[str]:
    """Return the name of every series in an expression of a dashboard, or of a rule on any fabric."""
    asked = [query.expr for board in boards() for panel in board.panels for query in panel.queries]
    for profile in Profile:
        for group in groups(Rendering(profile=profile, panel_ids=panel_ids())):
            asked += [str(rule["expr"]) for rule in group["rules"]]  # type: ignore[attr-defined]
    return frozenset(one.name for expression in asked for one in selectors(expression))
