"""Rules under test: those of a profile, or a file somebody rendered and perhaps edited.

A rule file is `groups` of rules (https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/); a
PrometheusRule of the Prometheus operator holds the same under `spec`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netkit.catalogue.fabric_profiles import Profile
from netkit.errors import InputError
from netkit.model.text import visible
from netkit_dashboards.lint.expression import selectors
from netkit_dashboards.rule_file import Rendering, groups

Rule = dict[str, Any]
_ACCEPTED = "a rule file or PrometheusRule as `netkit rules build` writes it"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """Rules by name, and the fabric they are for."""

    profile: Profile
    alerts: Mapping[str, Rule]
    recordings: Mapping[str, Rule]

    def around(self, *names: str) -> list[Rule]:
        """Return alerts, after the recording rules they read; without annotations, which promtool would compare too."""
        listed = [{**self.alerts[name], "annotations": {}} for name in dict.fromkeys(names) if name in self.alerts]
        needed = self._needed(*(str(rule["expr"]) for rule in listed))
        return [rule for name, rule in self.recordings.items() if name in needed] + listed

    def _needed(self, *expressions: str) -> set[str]:
        read = {one.name for expression in expressions for one in selectors(expression)} & self.recordings.keys()
        return read.union(*(self._needed(str(self.recordings[name]["expr"])) for name in read))


def rendered(rendering: Rendering) -> RuleSet:
    """Return the rules as they are built."""
    return _rule_set(rendering.profile, [rule for group in groups(rendering) for rule in _rules(group)])


def read(path: Path) -> RuleSet:
    """Return the rules of a file; InputError says what of it cannot be used."""
    rules = [rule for group in _groups(path) for rule in _rules(group)]
    for text in _unusable(rules):
        raise InputError(f"{path}: {text}", _ACCEPTED)
    profiles = {str(rule.get("labels", {}).get("fabric_profile")) for rule in rules if "alert" in rule}
    if len(profiles) != 1 or not profiles <= set(Profile):
        raise InputError(
            f"{path}: fabric_profile {', '.join(sorted(profiles)) or 'missing'}", "one known on every alert"
        )
    return _rule_set(Profile(profiles.pop()), rules)


def _groups(path: Path) -> list[Any]:
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise InputError(f"{path}: {fault.strerror}", _ACCEPTED) from fault
    except (UnicodeDecodeError, yaml.YAMLError) as fault:
        raise InputError(f"{path}: no YAML", _ACCEPTED) from fault
    body = document.get("spec", document) if isinstance(document, dict) else {}
    found = body.get("groups") if isinstance(body, dict) else None
    if not isinstance(found, list):
        raise InputError(f"{path}: no groups", _ACCEPTED)
    return found


def _rules(group: Any) -> list[Any]:
    rules = group.get("rules") if isinstance(group, dict) else None
    return rules if isinstance(rules, list) else [group]


def _unusable(rules: list[Any]) -> Iterator[str]:
    for rule in rules:
        if not _is_rule(rule):
            yield visible(f"{rule!r} is no rule", 120)
        elif not _parses(rule["expr"]):
            yield visible(f"{rule.get('alert') or rule['record']}: {rule['expr']} is no PromQL", 120)


def _is_rule(rule: Any) -> bool:
    texts = isinstance(rule, dict) and isinstance(rule.get("expr"), str) and isinstance(rule.get("labels", {}), dict)
    return texts and isinstance(rule.get("alert"), str) != isinstance(rule.get("record"), str)


def _parses(expression: str) -> bool:
    try:
        selectors(expression)
    except ValueError:
        return False
    return True


def _rule_set(profile: Profile, rules: list[Rule]) -> RuleSet:
    return RuleSet(
        profile=profile,
        alerts={str(rule["alert"]): rule for rule in rules if "alert" in rule},
        recordings={str(rule["record"]): rule for rule in rules if "record" in rule},
    )
