"""What an alert is, as a row: the condition, how long it must hold, whom it wakes, and the case that shows it.

Rows stand in `netkit/catalogue/alert_rows/<area>.py`; `netkit rules build` turns them into Prometheus rules. A row
carries the series that make it fire, so that its unit cases are generated and never forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from string import Template
from types import MappingProxyType

from netkit.catalogue.fabric_profiles import ALL, Profile
from netkit.catalogue.metrics import Kind, Metric

OWN = "own"
"""`source` of a threshold that nobody has published: a default to be calibrated."""
GONE = float("nan")
"""The value of a series that is not there."""
MINUTE = 60
HOUR = 3600
LINKS_KEEP = 30 * MINUTE
"""Links and congestion come and go: an alert stays for this long after its condition ended."""
PORT = ("cluster", "node", "rail", "device", "port")
DEVICE = ("cluster", "node", "rail", "device")
NODE = ("cluster", "node")
CLUSTER = ("cluster",)


class Severity(StrEnum):
    """What an alert asks of people."""

    CRITICAL = "critical"
    """Wake somebody."""
    WARNING = "warning"
    """A ticket."""
    NONE = "none"
    """Nothing: it must always fire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """A series of an alert's case: its value (of a counter: growth a second) just below the condition and above it."""

    series: Metric
    quiet: float
    firing: float
    labels: Mapping[str, str] = field(default_factory=dict)
    peers: int = 0
    """Further nodes that carry the quiet value all the time, where the condition compares with the fleet."""

    @property
    def grows(self) -> bool:
        """Whether the values are growth a second."""
        return self.series.kind is Kind.COUNTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alerting rule; durations are seconds."""

    name: str
    component: str
    severity: Severity
    condition: str
    """PromQL; `$limit` stands for the threshold of the profile."""
    identity: tuple[str, ...]
    """Labels of the alert; whatever else the series carry is left behind, so that a new pod is not a new alert."""
    limit: float | None = None
    limits: Mapping[Profile, float] = field(default_factory=dict)
    """Where a profile's threshold differs from `limit`."""
    profiles: frozenset[Profile] = ALL
    hold: int = 0
    """`for`."""
    keep: int = 0
    """`keep_firing_for`."""
    summary: str
    description: str
    action: str
    playbook: str
    """Id of the playbook to run."""
    dashboard: str
    """Uid of the dashboard with the panel that shows the condition."""
    panel: str
    """Title of that panel."""
    source: str = OWN
    """Who published the threshold."""
    requires: str = ""
    """What must be exported beyond the defaults; empty for nothing."""
    absent: bool = False
    """Whether it speaks when its series are missing, as a guard does."""
    always: bool = False
    """Whether it fires whatever is the case."""
    trial: tuple[Supply, ...] = ()

    def limit_of(self, profile: Profile) -> float | None:
        """Return the threshold on this fabric."""
        return self.limits.get(profile, self.limit)

    def expression(self, profile: Profile) -> str:
        """Return the rule's expression for a fabric, grouped by the alert's own labels."""
        limit = self.limit_of(profile)
        text = Template(self.condition).substitute({} if limit is None else {"limit": f"{limit:g}"})
        return f"max by ({', '.join(self.identity)}) ({text})" if self.identity else text

    def labels(self, profile: Profile) -> Mapping[str, str]:
        """Return the rule's labels; `rail` is whatever the condition's series carry."""
        rail = {"rail": "{{ $labels.rail }}"} if "rail" in self.identity else {}
        fixed = {"severity": self.severity, "component": self.component, "fabric_profile": profile}
        return MappingProxyType({**{name: str(value) for name, value in fixed.items()}, **rail})


@cache
def alerts() -> tuple[Alert, ...]:
    """Return every alert of the folder, by area."""
    from netkit.catalogue import alert_rows

    names = sorted(module.name for module in iter_modules(alert_rows.__path__))
    return tuple(alert for name in names for alert in import_module(f"{alert_rows.__name__}.{name}").ALERTS)
