"""What the exporter tells of itself: how its collectors fare, what it dropped, and how its web server is used."""

from __future__ import annotations

from netkit.catalogue.metrics import Kind, Metric


def _row(name: str, kind: Kind, help_text: str, labels: tuple[str, ...] = (), unit: str = "") -> Metric:
    return Metric(name=name, kind=kind, help=help_text, collector="exporter", labels=labels, unit=unit)


COLLECTOR_SUCCESS = _row(
    "netkit_collector_success",
    Kind.GAUGE,
    "1 when the last round of the collector read everything that is there, 0 otherwise.",
    ("collector",),
)
COLLECTOR_DURATION = _row(
    "netkit_collector_duration_seconds",
    Kind.GAUGE,
    "Time the last round of the collector took in seconds, what still runs included.",
    ("collector",),
    "seconds",
)
COLLECTOR_LAST_SUCCESS = _row(
    "netkit_collector_last_success_timestamp_seconds",
    Kind.GAUGE,
    "When everything the collector reads was last read well, in seconds since 1970.",
    ("collector",),
    "seconds",
)
COLLECTOR_HUNG = _row(
    "netkit_collector_hung",
    Kind.GAUGE,
    "1 while the collector or one of its targets is being read for longer than its deadline.",
    ("collector",),
)
COLLECTOR_STATE = _row(
    "netkit_collector_state",
    Kind.GAUGE,
    "1 for the state the collector is in: ok, no_data, error, hung or stale; the worst of its targets counts.",
    ("collector", "state"),
)
TARGET_STATE = _row(
    "netkit_collector_target_state",
    Kind.GAUGE,
    "1 for each target (device, port, GPU) that is in state error, hung or stale.",
    ("collector", "target", "state"),
)
READ_FAULTS = _row(
    "netkit_collector_read_faults_total",
    Kind.COUNTER,
    "Values that could not be read, by reason: absent, unsupported, denied, malformed, timeout, stale.",
    ("collector", "reason"),
)
SERIES_DROPPED = _row(
    "netkit_series_dropped_total",
    Kind.COUNTER,
    "Samples that were not served: over the cap of their family, given twice, or no number.",
    ("reason",),
)
SERIES = _row("netkit_exporter_series", Kind.GAUGE, "Series served by the collectors at present.")
REFRESHES = _row("netkit_exporter_refreshes_total", Kind.COUNTER, "Rounds of reading begun since the exporter started.")
SKIPPED = _row(
    "netkit_exporter_refreshes_skipped_total",
    Kind.COUNTER,
    "Rounds of single collectors left out because the one before was not finished.",
)
BUILD_INFO = _row(
    "netkit_exporter_build_info",
    Kind.GAUGE,
    "1, with the versions of netkit and Python and the Landlock version that confines the exporter (0: none).",
    ("version", "python", "landlock_abi"),
)
LOG_LINES_DROPPED = _row(
    "netkit_exporter_log_lines_dropped_total", Kind.COUNTER, "Log lines that could not be written to standard error."
)
HTTP_REQUESTS = _row("netkit_http_requests_total", Kind.COUNTER, "Requests answered, by status code.", ("code",))
HTTP_CONNECTIONS = _row("netkit_http_connections", Kind.GAUGE, "Connections open at present.")
HTTP_SHED = _row(
    "netkit_http_shed_total",
    Kind.COUNTER,
    "Connections and requests given up: evicted, header (too slow), idle, write (reads too slowly), handshake, "
    "busy (503), rate (429), descriptors (none left).",
    ("reason",),
)
WEB_CONFIG_SUCCESS = _row(
    "netkit_web_config_last_reload_success", Kind.GAUGE, "1 when the web configuration in the file is the one in use."
)
WEB_CONFIG_TIME = _row(
    "netkit_web_config_last_reload_success_timestamp_seconds",
    Kind.GAUGE,
    "When the web configuration in use was read, in seconds since 1970.",
    unit="seconds",
)
CERTIFICATE_EXPIRY = _row(
    "netkit_web_certificate_expiry_timestamp_seconds",
    Kind.GAUGE,
    "When the server's certificate expires, in seconds since 1970.",
    unit="seconds",
)

METRICS = (
    COLLECTOR_SUCCESS,
    COLLECTOR_DURATION,
    COLLECTOR_LAST_SUCCESS,
    COLLECTOR_HUNG,
    COLLECTOR_STATE,
    TARGET_STATE,
    READ_FAULTS,
    SERIES_DROPPED,
    SERIES,
    REFRESHES,
    SKIPPED,
    BUILD_INFO,
    LOG_LINES_DROPPED,
    HTTP_REQUESTS,
    HTTP_CONNECTIONS,
    HTTP_SHED,
    WEB_CONFIG_SUCCESS,
    WEB_CONFIG_TIME,
    CERTIFICATE_EXPIRY,
)
