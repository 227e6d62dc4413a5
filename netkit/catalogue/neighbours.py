"""Series of other programs that rules and dashboards use: Prometheus itself and kube-state-metrics.

https://prometheus.io/docs/concepts/jobs_instances/,
https://github.com/kubernetes/kube-state-metrics/blob/main/docs/metrics/cluster/node-metrics.md
"""

from __future__ import annotations

from netkit.catalogue.metrics import Kind, Metric


def _gauge(name: str, text: str, source: str, *labels: str, unit: str = "") -> Metric:
    return Metric(name=name, kind=Kind.GAUGE, help=text, collector=source, labels=labels, unit=unit)


UP = _gauge("up", "1 when the last scrape of the target worked, 0 when it did not.", "prometheus")
SCRAPE_SECONDS = _gauge("scrape_duration_seconds", "Seconds the last scrape took.", "prometheus", unit="seconds")
SCRAPE_SAMPLES = _gauge("scrape_samples_scraped", "Samples of the last scrape.", "prometheus")
ALERTS = _gauge(
    "ALERTS",
    "1 for every alert that is pending or firing.",
    "prometheus",
    "alertname",
    "alertstate",
    "severity",
    "component",
    "fabric_profile",
)
RULE_FAILURES = Metric(
    name="prometheus_rule_evaluation_failures_total",
    kind=Kind.COUNTER,
    help="Rule evaluations that failed.",
    collector="prometheus",
    labels=("rule_group",),
)
GPU_CAPACITY = _gauge(
    "kube_node_status_capacity", "Resources of a node, by name and unit.", "kube-state-metrics", "resource", "unit"
)

NEIGHBOURS = (UP, SCRAPE_SECONDS, SCRAPE_SAMPLES, ALERTS, RULE_FAILURES, GPU_CAPACITY)
