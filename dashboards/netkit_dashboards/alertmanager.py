"""An example for Alertmanager: who is woken by what, and which alerts say nothing new beside others.

https://prometheus.io/docs/alerting/latest/configuration/#inhibit_rule
"""

from __future__ import annotations

from netkit.catalogue.alerts import Severity, alerts
from netkit_dashboards.fields import Json

_PORT_DOWN = "RdmaPortDown"
_BURN = "FabricCongestionBurnFast"
_DOWN = "NetkitExporterDown"
_SEVERE = "PfcPausedByFabricSevere"
_ABSENT = "NetkitSourceMetricAbsent"
_FABRIC_WIDE = ("RdmaTransmitDiscards", "PfcPausedByFabric", "PfcSlowReceiver")


def alertmanager() -> Json:
    """Return the example; receivers are to be filled in."""
    return {
        "route": {
            "receiver": "tickets",
            "group_by": ["cluster", "component", "alertname"],
            "group_wait": "30s",
            "group_interval": "5m",
            "repeat_interval": "4h",
            "routes": [
                {"receiver": "dead-man", "matchers": ["alertname = Watchdog"], "repeat_interval": "1m"},
                {"receiver": "pages", "matchers": [f"severity = {Severity.CRITICAL}"], "repeat_interval": "1h"},
            ],
        },
        "inhibit_rules": [
            _inhibits(_BURN, _FABRIC_WIDE, ["cluster"]),
            _inhibits(_PORT_DOWN, _of_ports(), ["cluster", "node", "device"]),
            _inhibits(_SEVERE, ("PfcPausedByFabric",), ["cluster", "node", "device"]),
            _inhibits(
                "NcclBusBandwidthCollapsed", ("NcclBusBandwidthLow",), ["cluster", "probe", "collective", "size"]
            ),
            _inhibits(_ABSENT, ("NetkitNodeNotCovered", "NetkitCollectorFailing"), []),
            _inhibits(_DOWN, ("NetkitNodeNotCovered", "NetkitCollectorFailing", "GpuMissing"), ["cluster", "node"]),
        ],
        "receivers": [{"name": name} for name in ("tickets", "pages", "dead-man")],
    }


def _of_ports() -> tuple[str, ...]:
    """Return what a port that is down brings with it."""
    shared = ("link", "transport")
    found = (one.name for one in alerts() if one.component in shared and "port" in one.identity)
    return tuple(name for name in found if name != _PORT_DOWN)


def _inhibits(source: str, targets: tuple[str, ...], equal: list[str]) -> Json:
    return {
        "source_matchers": [f"alertname = {source}"],
        "target_matchers": [f'alertname =~ "{"|".join(targets)}"'],
        "equal": equal,
    }
