"""Hygon devices, from the table that `hy-smi` prints; what its columns are is said in `netkit.sources.hygon`."""

from __future__ import annotations

from netkit.catalogue.metric_rows import gpu as rows
from netkit.sources.accelerators import read_hygon
from netkit_exporters.collecting import Collector
from netkit_exporters.tool_devices import DEADLINE_SECONDS, SECONDS_BETWEEN, by_tool

COLLECTOR = Collector(
    id="hygon",
    question="How busy and warm are the Hygon devices?",
    open=by_tool("hy-smi", read_hygon),
    metrics=rows.ROWS,
    interval_seconds=SECONDS_BETWEEN,
    deadline_seconds=DEADLINE_SECONDS,
)
