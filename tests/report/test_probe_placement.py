"""GPUs with the wrong NIC stand beside what was measured, in every form."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from netkit.model.finding import Severity
from netkit.model.probe import PlacementFinding, ProbeReport
from netkit.report import probe_html, probe_json, probe_plain
from tests.report import sample_reports

MOVED = PlacementFinding(
    node="n6",
    gpus=("gpu0", "gpu1"),
    severity=Severity.WARNING,
    summary="n6: gpu0 shares its NICs <script>",
    evidence=("gpu0: mlx5_1 at PIX",),
    next=("netkit topo --snapshot n6.jsonl",),
)


@pytest.fixture
def report() -> ProbeReport:
    return replace(sample_reports.slow_rail(), placement=(MOVED,))


def test_the_first_line_names_both_culprits(report: ProbeReport) -> None:
    """Slow rail and mis-paired node in one glance."""
    first = probe_plain.render(report).splitlines()[0]
    assert "n6 has gpu0, gpu1 mis-paired" in first
    assert first.startswith("SLOW")


def test_json_lists_them_under_placement(report: ProbeReport) -> None:
    """A field of its own; the findings of the measurement are unchanged."""
    document = json.loads(probe_json.render(report))
    assert [(entry["node"], entry["gpus"]) for entry in document["placement"]] == [("n6", ["gpu0", "gpu1"])]
    assert document["findings"] == json.loads(probe_json.render(sample_reports.slow_rail()))["findings"]


def test_the_page_shows_them_escaped(report: ProbeReport) -> None:
    """A card with the next step; data stays data."""
    page = probe_html.render(report)
    assert "netkit topo --snapshot n6.jsonl" in page
    assert "<script>" not in page
