"""Cambricon devices, from the table that `cnmon` prints; what its columns are is said in `netkit.sources.cambricon`."""

from __future__ import annotations

from netkit.catalogue.metric_rows import gpu as rows
from netkit.sources.accelerators import read_cambricon
from netkit_exporters.collecting import Collector
from netkit_exporters.tool_devices import DEADLINE_SECONDS, SECONDS_BETWEEN, by_tool

COLLECTOR = Collector(
    id="cambricon",
    question="How busy and warm are the Cambricon devices?",
    open=by_tool("cnmon", read_cambricon),
    metrics=rows.ROWS,
    interval_seconds=SECONDS_BETWEEN,
    deadline_seconds=DEADLINE_SECONDS,
)
