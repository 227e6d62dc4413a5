"""The Prometheus form, read back by the official parser and by promtool."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from netkit.model.probe import FaultClass, ProbeReport
from netkit.model.text import visible
from netkit.report import probe_prometheus
from netkit.report.exposition import Family, Sample, render_families
from tests.report import sample_reports


def series(report: ProbeReport) -> dict[str, list[tuple[dict[str, str], float]]]:
    text = probe_prometheus.render(report)
    families = text_string_to_metric_families(text)
    return {family.name: [(one.labels, one.value) for one in family.samples] for family in families}


@pytest.mark.parametrize("make", sample_reports.SMALL.values(), ids=sample_reports.SMALL)
def test_every_verdict_parses_without_duplicates(make: Callable[[], ProbeReport]) -> None:
    """Each family is typed once, each series occurs once, and exactly one verdict is 1."""
    report = make()
    found = series(report)
    every = [(name, tuple(sorted(labels.items()))) for name, all_of in found.items() for labels, _ in all_of]

    assert len(every) == len(set(every))
    assert [labels["verdict"] for labels, value in found["netkit_probe_verdict"] if value == 1] == [
        report.verdict.answer.value
    ]
    assert all(not math.isnan(value) for all_of in found.values() for _, value in all_of)
    types = re.findall(r"^# TYPE (\S+) gauge$", probe_prometheus.render(report), re.MULTILINE)
    assert types == list(found)


def test_values_are_in_base_units() -> None:
    """Rates are bytes per second, the slowdown a ratio, the start seconds since 1970."""
    found = series(sample_reports.slow_rail())
    ports = {
        (labels["node"], labels["rail"]): value for labels, value in found["netkit_probe_port_rate_bytes_per_second"]
    }
    labels, slowdown = found["netkit_probe_finding_slowdown_ratio"][0]

    assert ports["n3", "1"] == pytest.approx(20e6, rel=0.05)
    assert ports["n2", "1"] == pytest.approx(25e6, rel=0.05)
    assert slowdown == 0.2
    assert (labels["node"], labels["rail"], labels["class"], labels["direction"]) == ("n3", "1", "rail", "tx")
    assert found["netkit_probe_timestamp_seconds"] == [({"probe": "demo"}, 1772334765.0)]


def test_what_is_missing_is_absent_not_zero() -> None:
    """A port without a clean reading has no series; the readings it lacks are counted."""
    found = series(sample_reports.slow_rail())
    ports = {(labels["node"], labels["rail"]) for labels, _ in found["netkit_probe_port_rate_bytes_per_second"]}
    states = {labels["state"]: value for labels, value in found["netkit_probe_readings"]}

    assert ("n6", "0") not in ports
    assert ("n1", "0") not in ports
    assert states["missing"] == 2
    assert sum(states.values()) == len(sample_reports.slow_rail().readings)
    nothing = series(sample_reports.nothing_measured())
    for name in ("port_rate_bytes_per_second", "gang_busbw_bytes_per_second", "timestamp_seconds"):
        assert f"netkit_probe_{name}" not in nothing
    assert "netkit_probe_smallest_detectable_slowdown_ratio" not in nothing


@settings(max_examples=150, deadline=None)
@given(value=st.text(st.characters(), max_size=30))
def test_any_label_value_reads_back(value: str) -> None:
    """Quotes, backslashes and newlines survive the format; what cannot be seen arrives as visible escapes."""
    family = Family(name="x", help="h", samples=(Sample(labels={"l": value}, value=1.5),))
    read = list(text_string_to_metric_families(render_families([family])))

    assert read[0].samples[0].labels == {"l": visible(value)}


def test_labels_do_not_change_from_run_to_run() -> None:
    """A second run of the same gang writes the same series: seed, start and rates are values, never labels."""
    first = sample_reports.build(seed=1)
    second = replace(sample_reports.build(seed=2), started_at="2027-01-01T00:00:00+00:00", seconds=99.0)

    def names(report: ProbeReport) -> set[str]:
        return {line.rsplit(" ", 1)[0] for line in probe_prometheus.render(report).splitlines() if line[0] != "#"}

    assert names(first) == names(second)


def test_very_large_gang_writes_a_bounded_file_with_its_slowest_ports() -> None:
    """Above 16,384 ports the slowest are kept, and the culprit is among them."""
    culprit = sample_reports.finding(FaultClass.RAIL, node="n3", rail=1)
    report = sample_reports.build(
        nodes=2400,
        rails=8,
        leaves=75,
        slowing=lambda sender, receiver, rail, _: 0.8 if rail == 1 and "n3" in {sender, receiver} else 1.0,
        findings=(culprit,),
    )
    ports = series(report)["netkit_probe_port_rate_bytes_per_second"]

    assert len(ports) == 16_384
    assert {"probe": "demo", "node": "n3", "rail": "1"} in [labels for labels, _ in ports]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine")
@pytest.mark.parametrize("name", ["slow rail", "hostile", "nothing measured"])
def test_promtool_has_nothing_to_say(name: str) -> None:
    """Prometheus' own linter accepts the file."""
    text = probe_prometheus.render(sample_reports.SMALL[name]())
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text.encode(), capture_output=True, timeout=30, check=False
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, b"")
