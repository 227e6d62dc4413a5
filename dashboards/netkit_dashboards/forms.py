"""The forms dashboards and rules can be written in, as named on the command line."""

from __future__ import annotations

from enum import StrEnum


class BoardFormat(StrEnum):
    """What `netkit dashboards build` can write."""

    JSON = "json"
    CONFIGMAP = "configmap"
    GRAFANA_DASHBOARD = "grafanadashboard"
    PROVISIONING = "provisioning"


class RuleFormat(StrEnum):
    """What `netkit rules build` can write."""

    RULES = "rules"
    PROMETHEUS_RULE = "prometheusrule"
    ALERTMANAGER = "alertmanager"
    """An example of routes and inhibitions."""
    MAPPINGS = "mappings"
    """Recording rules that give other exporters' series netkit's names."""


class Theme(StrEnum):
    """Which colours a preview has; `auto` follows the reader's system."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"
