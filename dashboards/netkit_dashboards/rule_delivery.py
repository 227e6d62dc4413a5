"""The forms rules are delivered in: a Prometheus rule file, or a resource of the Prometheus operator.

https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusRule
"""

from __future__ import annotations

from collections.abc import Mapping

from netkit_dashboards.delivery import MANAGED
from netkit_dashboards.fields import Json
from netkit_dashboards.forms import RuleFormat
from netkit_dashboards.rule_file import Rendering, groups
from netkit_dashboards.yaml_text import dump


def rule_files(form: RuleFormat, rendering: Rendering) -> Mapping[str, str]:
    """Return the files of a form by name."""
    if form is RuleFormat.RULES:
        return {"netkit-rules.yaml": dump({"groups": groups(rendering)})}
    return {"netkit-prometheusrule.yaml": dump(prometheus_rule(rendering))}


def prometheus_rule(rendering: Rendering) -> Json:
    """Return the resource the operator turns into a rule file."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "netkit", "labels": dict(MANAGED)},
        "spec": {"groups": groups(rendering)},
    }
