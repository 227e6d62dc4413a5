"""A probe as plain text: for pipes, logs and tickets."""

from __future__ import annotations

from netkit.model.probe import ProbeReport
from netkit.report.plain_text import plain_text
from netkit.report.probe_table import blocks


def render(report: ProbeReport) -> str:
    """Return the report as text; the first line holds the verdict and, when something is slow, what it is."""
    return plain_text(blocks(report))
