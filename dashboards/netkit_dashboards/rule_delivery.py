"""The forms rules are delivered in: a Prometheus rule file, or a resource of the Prometheus operator.

https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusRule
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from netkit.catalogue.mappings import Mapped, Other, mapped
from netkit_dashboards.alertmanager import alertmanager
from netkit_dashboards.delivery import MANAGED
from netkit_dashboards.fields import Json
from netkit_dashboards.forms import RuleFormat
from netkit_dashboards.rule_file import Rendering, groups
from netkit_dashboards.yaml_text import dump


def rule_files(form: RuleFormat, rendering: Rendering) -> Mapping[str, str]:
    """Return the files of a form by name."""
    return _FORMS[form](rendering)


def _rules(rendering: Rendering) -> Mapping[str, str]:
    return {"netkit-rules.yaml": _note(rendering) + dump({"groups": groups(rendering)})}


def _resource(rendering: Rendering) -> Mapping[str, str]:
    return {"netkit-prometheusrule.yaml": _note(rendering) + dump(prometheus_rule(rendering))}


def _note(rendering: Rendering) -> str:
    return f"# {rendering.places.placeholders}\n" if rendering.places.placeholders else ""


def _alertmanager(_rendering: Rendering) -> Mapping[str, str]:
    return {"netkit-alertmanager-example.yaml": dump(alertmanager())}


def _mappings(_rendering: Rendering) -> Mapping[str, str]:
    return {f"netkit-mapping-{other}.yaml": dump({"groups": [mapping_group(other)]}) for other in Other}


def mapping_group(other: Other) -> Json:
    """Return the recording rules that give one exporter's series netkit's names."""
    return {"name": f"netkit.mapping.{other}", "rules": [_mapping(one) for one in mapped(other)]}


def _mapping(one: Mapped) -> Json:
    rule: Json = {"record": one.row.name, "expr": one.expression}
    return rule | ({"labels": dict(one.constant)} if one.constant else {})


def prometheus_rule(rendering: Rendering) -> Json:
    """Return the resource the operator turns into a rule file."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "netkit", "labels": dict(MANAGED)},
        "spec": {"groups": groups(rendering)},
    }


_FORMS: Mapping[RuleFormat, Callable[[Rendering], Mapping[str, str]]] = MappingProxyType(
    {
        RuleFormat.RULES: _rules,
        RuleFormat.PROMETHEUS_RULE: _resource,
        RuleFormat.ALERTMANAGER: _alertmanager,
        RuleFormat.MAPPINGS: _mappings,
    }
)
