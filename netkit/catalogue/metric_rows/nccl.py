"""Series of collectives: probes and benchmarks that were run, NCCL's own Inspector and RAS, netkit's probe."""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_PROBE = Area(collector="nccl", prefix="nccl_", privilege="a folder of result files (--nccl-results)")
_OF_A_SIZE = ("probe", "collective", "size", "nodes", "ranks")

BUSBW = _PROBE.gauge(
    "bus_bandwidth_bytes_per_second",
    "Bytes per second of bus bandwidth, sent and received alike, in the last run of this benchmark, out of place.",
    *_OF_A_SIZE,
)
EXPECTED = _PROBE.gauge(
    "expected_bus_bandwidth_bytes_per_second",
    "Bytes per second of bus bandwidth, each way, that the platform reaches at this size (--platform).",
    *_OF_A_SIZE,
)
TRANSPORT = _PROBE.gauge(
    "transport_info", "Always 1: how the last run went between nodes; Socket means it fell back.", "probe", "transport"
)
RUNS = _PROBE.counter(
    "probe_runs_total",
    "Runs seen on this node since the exporter started, by result: success, corrupt, incomplete.",
    "probe",
    "result",
)
LAST_SUCCESS = _PROBE.gauge(
    "probe_last_success_timestamp_seconds",
    "Seconds since 1970 when the last run without a fault was written.",
    "probe",
    unit="seconds",
)
INSPECTED = _PROBE.gauge(
    "inspector_bus_bandwidth_bytes_per_second",
    "Bytes per second of bus bandwidth, sent and received alike, of the last collective of this size in a job.",
    *("collective", "size", "nodes", "ranks", "gpu"),
)
INSPECTED_SECONDS = _PROBE.gauge(
    "inspector_duration_seconds",
    "Seconds the last collective of this size took on this node.",
    *("collective", "size", "nodes", "ranks", "gpu"),
    unit="seconds",
)
RAS_COMMUNICATORS = _PROBE.gauge("ras_communicators", "Communicators of the job.")
RAS_RANKS = _PROBE.gauge("ras_ranks", "Ranks of the job by what RAS says of them.", "state")
RAS_TIMEOUTS = _PROBE.gauge("ras_timeouts", "Ranks that did not answer RAS in time when it was asked last.")
RAS_WRITTEN = _PROBE.gauge("ras_timestamp_seconds", "Seconds since 1970 when RAS was asked last.", unit="seconds")
# The names under which `netkit probe --output prometheus` writes the same.
_NETKIT = Area(collector="nccl", prefix="probe_", labels=("probe",), privilege=_PROBE.privilege)
VERDICT = _NETKIT.gauge("verdict", "1 for the verdict of the last netkit probe, 0 for the others.", "verdict")
DETECTABLE = _NETKIT.gauge(
    "smallest_detectable_slowdown_ratio",
    "Share of its rate a link must lose to be seen by the last probe, 0 to 1.",
)
FINDINGS = _NETKIT.gauge(
    "finding_slowdown_ratio",
    "Share of its healthy rate that a blamed component has lost, 0 to 1.",
    *("id", "class", "node", "rail", "leaf", "peer", "direction", "severity"),
)
STARTED = _NETKIT.gauge("timestamp_seconds", "Seconds since 1970 when the last probe started.", unit="seconds")

ROWS = (
    *(BUSBW, EXPECTED, TRANSPORT, RUNS, LAST_SUCCESS, INSPECTED, INSPECTED_SECONDS),
    *(RAS_COMMUNICATORS, RAS_RANKS, RAS_TIMEOUTS, RAS_WRITTEN, VERDICT, DETECTABLE, FINDINGS, STARTED),
)
