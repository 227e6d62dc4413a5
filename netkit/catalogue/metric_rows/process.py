"""The exporter's own process, under the names every exporter uses.

https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
"""

from __future__ import annotations

from netkit.catalogue.metrics import Kind, Metric


def _row(name: str, help_text: str, unit: str = "", kind: Kind = Kind.GAUGE) -> Metric:
    return Metric(name=name, kind=kind, help=help_text, collector="process", unit=unit)


CPU_SECONDS = _row(
    "process_cpu_seconds_total", "User and system processor time used in seconds.", "seconds", Kind.COUNTER
)
RESIDENT_BYTES = _row("process_resident_memory_bytes", "Resident memory in bytes.", "bytes")
VIRTUAL_BYTES = _row("process_virtual_memory_bytes", "Virtual memory in bytes.", "bytes")
OPEN_DESCRIPTORS = _row("process_open_fds", "Open file descriptors.")
MOST_DESCRIPTORS = _row("process_max_fds", "File descriptors that may be open at most.")
THREADS = _row("process_threads", "Threads; one more for each target that hangs.")
STARTED_AT = _row("process_start_time_seconds", "When the process started, in seconds since 1970.", "seconds")

METRICS = (CPU_SECONDS, RESIDENT_BYTES, VIRTUAL_BYTES, OPEN_DESCRIPTORS, MOST_DESCRIPTORS, THREADS, STARTED_AT)
