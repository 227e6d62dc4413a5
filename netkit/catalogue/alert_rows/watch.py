"""Alerts on the watching itself: an exporter that is down, slow or blind makes every other alert silent."""

from __future__ import annotations

from netkit.catalogue.alerts import GONE, MINUTE, NODE, Alert, Severity, Supply
from netkit.catalogue.metric_rows import exporter, rdma
from netkit.catalogue.neighbours import GPU_CAPACITY, SCRAPE_SECONDS, UP
from netkit.catalogue.promql import select

_JOB = {"job": "netkit"}
_TARGET = ("cluster", "node", "instance")

ALERTS = (
    Alert(
        name="NetkitExporterDown",
        component="netkit",
        severity=Severity.WARNING,
        condition=f"{select(UP, _JOB)} == 0",
        identity=_TARGET,
        hold=5 * MINUTE,
        summary="netkit-exporter of {{ $labels.node }} does not answer",
        description="Nothing is known of this node's network; its other alerts are silent because they are blind.",
        action="Look at the exporter's pod or unit, then at the node itself.",
        playbook="netkit-exporter-down",
        dashboard="netkit-meta",
        panel="Exporters that answer",
        source="NVSentinel runbook: a wedged driver fails scrapes for days while the exporter looks healthy",
        trial=(Supply(series=UP, quiet=1.0, firing=0.0),),
    ),
    Alert(
        name="NetkitExporterSlow",
        component="netkit",
        severity=Severity.WARNING,
        condition=f"{select(SCRAPE_SECONDS, _JOB)} > $limit",
        identity=_TARGET,
        limit=8,
        hold=10 * MINUTE,
        summary="Scrapes of {{ $labels.node }} take {{ $value | humanizeDuration }}",
        description="The exporter answers from memory within milliseconds: the node or its network is overloaded.",
        action="Look at processor pressure of the node and at the way from Prometheus to it.",
        playbook="netkit-exporter-down",
        dashboard="netkit-meta",
        panel="Scrape duration",
        trial=(Supply(series=SCRAPE_SECONDS, quiet=7.9, firing=9.0),),
    ),
    Alert(
        name="NetkitCollectorFailing",
        component="netkit",
        severity=Severity.WARNING,
        condition=f"{exporter.COLLECTOR_SUCCESS.name} == 0",
        identity=("cluster", "node", "collector"),
        hold=10 * MINUTE,
        summary="Collector {{ $labels.collector }} fails on {{ $labels.node }}",
        description="What it reads is missing or stale; alerts on it are silent.",
        action="Read the exporter's log and netkit_collector_target_state on this node.",
        playbook="netkit-exporter-down",
        dashboard="netkit-meta",
        panel="Collectors that fail",
        source="yuuki/rdma_exporter has the same series",
        trial=(Supply(series=exporter.COLLECTOR_SUCCESS, quiet=1.0, firing=0.0),),
    ),
    Alert(
        name="NetkitNodeNotCovered",
        component="netkit",
        severity=Severity.WARNING,
        condition=(
            f"max by (cluster, node) ({select(GPU_CAPACITY, {'resource': 'nvidia_com_gpu'})}) > 0"
            f" unless on (cluster, node) {exporter.BUILD_INFO.name}"
        ),
        identity=NODE,
        hold=15 * MINUTE,
        summary="GPU node {{ $labels.node }} has no netkit-exporter",
        description="It has {{ $value }} GPUs, and nothing is known of its network.",
        action="Look at tolerations and node selector of the DaemonSet.",
        playbook="netkit-exporter-down",
        dashboard="netkit-meta",
        panel="GPU nodes without an exporter",
        requires="kube-state-metrics",
        trial=(
            Supply(series=GPU_CAPACITY, quiet=8.0, firing=8.0, labels={"resource": "nvidia_com_gpu"}),
            Supply(series=exporter.BUILD_INFO, quiet=1.0, firing=GONE),
        ),
    ),
    Alert(
        name="NetkitSourceMetricAbsent",
        component="netkit",
        severity=Severity.CRITICAL,
        condition=f"absent({rdma.PORT_INFO.name})",
        identity=(),
        hold=15 * MINUTE,
        summary="No RDMA port is seen anywhere",
        description="netkit_rdma_port_info has no series at all: scraping, relabelling or the exporters broke.",
        action="Look at the scrape targets of Prometheus first.",
        playbook="netkit-exporter-down",
        dashboard="netkit-meta",
        panel="Series served",
        source="LLMKube issue 1356: rules for another vendor's names never fired and never failed",
        absent=True,
        trial=(Supply(series=rdma.PORT_INFO, quiet=1.0, firing=GONE),),
    ),
    Alert(
        name="Watchdog",
        component="netkit",
        severity=Severity.NONE,
        condition="vector(1)",
        identity=(),
        summary="Alerting works",
        description="Always fires; whoever stops hearing it knows that alerting is broken.",
        action="Nothing while it fires. When it stops: look at Prometheus and Alertmanager.",
        playbook="watchdog",
        dashboard="netkit-meta",
        panel="Alerts firing by severity",
        always=True,
    ),
)
