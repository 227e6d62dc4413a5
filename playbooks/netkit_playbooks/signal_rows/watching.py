"""Signals of the exporters and of Prometheus itself."""

from __future__ import annotations

from netkit.catalogue.metric_rows import exporter, rdma
from netkit.catalogue.neighbours import ALERTS, RULE_FAILURES, SCRAPE_SECONDS, UP
from netkit_playbooks.signals import Pick, Scope, Signal, grown

_JOB = {"job": "netkit"}


def _collectors(name: str, text: str, states: str) -> Signal:
    return Signal(
        id=name,
        text=text,
        series=exporter.COLLECTOR_STATE,
        like={"state": states},
        pick=Pick.SUM,
        narrow=False,
    )


SIGNALS = (
    Signal(
        id="exporter-up", text="1 where the last scrape of the exporter worked", series=UP, equal=_JOB, narrow=False
    ),
    Signal(
        id="exporter-known",
        text="exporters Prometheus scrapes on this node",
        series=UP,
        equal=_JOB,
        pick=Pick.COUNT,
        otherwise=0.0,
        narrow=False,
    ),
    Signal(
        id="other-targets-up",
        text="1 where another target on this node answers Prometheus",
        series=UP,
        unlike=_JOB,
        narrow=False,
    ),
    Signal(
        id="exporters-up-elsewhere",
        text="exporters of other nodes that answer",
        series=UP,
        equal=_JOB,
        pick=Pick.SUM,
        scope=Scope.OTHERS,
    ),
    Signal(
        id="exporters-known",
        text="exporters Prometheus scrapes",
        series=UP,
        equal=_JOB,
        pick=Pick.COUNT,
        scope=Scope.FLEET,
        otherwise=0.0,
    ),
    Signal(
        id="exporters-up",
        text="exporters that answer",
        series=UP,
        equal=_JOB,
        pick=Pick.SUM,
        scope=Scope.FLEET,
        otherwise=0.0,
    ),
    Signal(id="scrape-seconds", text="seconds the last scrape took", series=SCRAPE_SECONDS, equal=_JOB, narrow=False),
    _collectors("collectors-failing", "collectors that read with errors", "error"),
    _collectors("collectors-hung", "collectors that hang or are stale: the driver does not answer", "hung|stale"),
    Signal(
        id="ports-seen",
        text="RDMA ports seen by all exporters",
        series=rdma.PORT_INFO,
        pick=Pick.COUNT,
        scope=Scope.FLEET,
        otherwise=0.0,
    ),
    Signal(
        id="watchdog-firing",
        text="1 while the watchdog fires, as it always should",
        series=ALERTS,
        equal={"alertname": "Watchdog", "alertstate": "firing"},
        scope=Scope.FLEET,
        otherwise=0.0,
    ),
    grown(
        "rule-failures",
        "rule evaluations that failed in an hour",
        RULE_FAILURES,
        "1h",
        pick=Pick.SUM,
        scope=Scope.FLEET,
    ),
)
