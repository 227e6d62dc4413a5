"""Rows of the catalogue as Prometheus rule groups.

https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/ and `alerting_rules/`. `keep_firing_for`
needs Prometheus 2.42 or newer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from netkit.catalogue.alerts import Alert, alerts
from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.rules import RECORDINGS, Recording
from netkit_dashboards.durations import UNITS, shown

Group = dict[str, object]
_JUMP_LABELS = ("cluster", "node", "device")
"""Labels of an alert that are variables of the dashboards too."""
SHORTEST_WINDOW_SECONDS = 45
"""What a scaled window still spans: three readings of the collectors that read every 15 s."""
_WINDOW = re.compile(r"\[(\d+)([smhd])\]")
_SECONDS = dict(UNITS)


PLACEHOLDER_GRAFANA = "https://grafana.example.com"
PLACEHOLDER_PLAYBOOKS = "https://playbooks.example.com/netkit"
"""Links that lead nowhere until somebody says where they should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where people find dashboards and playbooks: bases of the links in annotations."""

    grafana: str = PLACEHOLDER_GRAFANA
    playbooks: str = PLACEHOLDER_PLAYBOOKS

    @property
    def placeholders(self) -> str:
        """Which options of `netkit rules build` nobody gave, for a note to the reader; empty when both were."""
        held = {"--grafana-url": self.grafana, "--playbook-url": self.playbooks}
        missing = [option for option, base in held.items() if base in (PLACEHOLDER_GRAFANA, PLACEHOLDER_PLAYBOOKS)]
        return f"links lead to a placeholder on example.com: build with {' and '.join(missing)}" if missing else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """How rules are rendered."""

    profile: Profile = Profile.DCQCN_PFC
    time_scale: float = 1.0
    """Factor on `for`, `keep_firing_for` and windows: below 1 for drills."""
    places: Places = Places()
    panel_ids: Mapping[tuple[str, str], int]
    """Id of each panel, by uid of the dashboard and title of the panel."""


def groups(rendering: Rendering) -> list[Group]:
    """Return the recording rules, then the alerts of each component."""
    found = [
        _group(
            "netkit.recording", (recording_rule(one, rendering.time_scale) for one in recordings_of(rendering.profile))
        )
    ]
    listed = [alert for alert in alerts() if rendering.profile in alert.profiles]
    listed.sort(key=lambda alert: alert.component)
    for component, members in groupby(listed, key=lambda alert: alert.component):
        found.append(_group(f"netkit.{component}", (alerting_rule(alert, rendering) for alert in members)))
    return found


def recordings_of(profile: Profile) -> tuple[Recording, ...]:
    """Return what is recorded on a fabric."""
    return tuple(recording for recording in RECORDINGS if profile in recording.profiles)


def scaled(expression: str, scale: float) -> str:
    """Return an expression whose windows are that much shorter, never below `SHORTEST_WINDOW_SECONDS`.

    A window shorter than that from the start stays what it is.
    """

    def shorter(found: re.Match[str]) -> str:
        seconds = int(found[1]) * _SECONDS[found[2]]
        return f"[{shown(min(seconds, max(SHORTEST_WINDOW_SECONDS, seconds * scale)))}]"

    return expression if scale == 1 else _WINDOW.sub(shorter, expression)


def recording_rule(recording: Recording, scale: float = 1.0) -> dict[str, object]:
    """Return one recording rule."""
    rule: dict[str, object] = {"record": recording.name, "expr": scaled(recording.expression, scale)}
    return rule | ({"labels": dict(recording.fixed)} if recording.fixed else {})


def alerting_rule(alert: Alert, rendering: Rendering) -> dict[str, object]:
    """Return one alerting rule."""
    rule: dict[str, object] = {
        "alert": alert.name,
        "expr": scaled(alert.expression(rendering.profile), rendering.time_scale),
    }
    for key, seconds in (("for", alert.hold), ("keep_firing_for", alert.keep)):
        if seconds:
            rule[key] = shown(max(1, seconds * rendering.time_scale))
    return rule | {
        "labels": dict(alert.labels(rendering.profile)),
        "annotations": _annotations(alert, rendering),
    }


def _annotations(alert: Alert, rendering: Rendering) -> dict[str, str]:
    return {
        "summary": alert.summary,
        "description": alert.description,
        "action": alert.action,
        "runbook_url": f"{rendering.places.playbooks}/{alert.playbook}",
        "dashboard_url": _dashboard_url(alert, rendering),
    }


def _dashboard_url(alert: Alert, rendering: Rendering) -> str:
    panel = rendering.panel_ids[alert.dashboard, alert.panel]
    jump = "".join(
        f"&var-{name}={{{{ $labels.{name} | urlquery }}}}" for name in _JUMP_LABELS if name in alert.identity
    )
    return f"{rendering.places.grafana}/d/{alert.dashboard}?viewPanel=panel-{panel}{jump}"


def _group(name: str, rules: Iterable[dict[str, object]]) -> Group:
    return {"name": name, "rules": list(rules)}
