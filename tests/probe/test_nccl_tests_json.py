"""Reading the file nccl-tests writes with -J: exact numbers, texts that stand for numbers, and nothing of `env`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netkit.errors import InputError
from netkit.model.collective import Collective, CollectiveReport, Placement
from netkit.probe.backends.nccl_tests import parse_text
from netkit.report import collective_json, collective_plain
from tests.probe import nccl_tests_logs as logs
from tests.probe.nccl_tests_logs import Sample

DATA = Path(__file__).parent.parent / "data" / "nccl_tests"


def changed(change: Callable[[dict[str, Any]], object], sample: Sample | None = None) -> CollectiveReport:
    """Return the report of a document after `change` has edited it."""
    document = json.loads(logs.as_json(sample or Sample()))
    change(document)
    (report,) = parse_text(json.dumps(document))
    return report


def test_document_says_the_same_as_the_text() -> None:
    """Operation, ranks, nodes, hosts, version, sizes and placements; the numbers carry more digits."""
    (report,) = parse_text((DATA / "v2_19_json.json").read_text())
    (text,) = parse_text(logs.modern_text())

    assert (report.collective, report.ranks, report.nodes) == (Collective.ALL_REDUCE, 16, 2)
    assert (report.complete, report.corrupt, report.problems) == (True, False, ())
    assert (report.hosts, report.nccl_version) == (text.hosts, text.nccl_version)
    assert [(row.bytes, row.placement) for row in report.rows] == [(row.bytes, row.placement) for row in text.rows]
    for exact, rounded in zip(report.rows, text.rows, strict=True):
        assert exact.busbw_bytes_per_second == pytest.approx(rounded.busbw_bytes_per_second, abs=6e6)
        assert exact.wrong == 0


def test_environment_is_nowhere() -> None:
    """`env` is a dump of the process's environment: no part of it reaches the report or any of its forms."""
    reports = [("a.json", report) for report in parse_text(logs.as_json(Sample()))]

    for shown in (repr(reports), collective_json.render(reports), collective_plain.render(reports)):
        assert "hunter2" not in shown
        assert "SYNTHETIC_TOKEN" not in shown


@pytest.mark.fault("I02")
@pytest.mark.parametrize("value", ["nan", "inf", None, True, [], "12,5"])
def test_text_in_place_of_a_number_is_no_number(value: object) -> None:
    """One placement of one size has no row, the rest stands, and the report is incomplete."""
    report = changed(lambda document: document["results"][2]["in_place"].update(bus_bw=value))

    assert len(report.rows) == 11
    assert not report.complete
    assert "where a number belongs" in report.problems[0]


@pytest.mark.fault("I02")
def test_bare_infinity_is_not_json_and_not_a_number() -> None:
    """C prints `inf` without quotes; the other rows are still read."""
    text = logs.as_json(Sample()).replace('"bus_bw":0.0', '"bus_bw":inf,"was":0.0', 1)

    (report,) = parse_text(text)

    assert len(report.rows) == 11
    assert "printed inf" in report.problems[0]


@pytest.mark.fault("I02")
def test_wrong_values_are_corruption() -> None:
    """From the rows, from the count, and from `okay` as text."""
    assert changed(lambda _document: None, Sample(wrong=2)).corrupt
    assert changed(lambda document: document["out_of_bounds"].update(count=3)).corrupt
    assert changed(lambda document: document["out_of_bounds"].update(okay="false")).corrupt
    assert changed(lambda document: document["out_of_bounds"].update(okay=False)).corrupt


def test_unchecked_values_are_not_zero() -> None:
    """`nwrong` null: nobody looked."""
    report = changed(lambda _document: None, Sample(checked=False))

    assert {row.wrong for row in report.rows} == {None}
    assert report.complete


@pytest.mark.fault("I03")
@pytest.mark.parametrize("key", ["out_of_bounds", "average_bus_bandwidth", "end_time"])
def test_a_document_without_its_end_is_incomplete(key: str) -> None:
    """A run that stopped by itself has all three."""
    report = changed(lambda document: document.pop(key))

    assert not report.complete
    assert len(report.rows) == 12


def test_one_placement_may_be_missing() -> None:
    """Trace replay writes null out of place."""
    report = changed(lambda document: [result.update(out_of_place=None) for result in document["results"]])

    assert {row.placement for row in report.rows} == {Placement.IN_PLACE}


def test_one_device_is_listed_for_each_process() -> None:
    """With two GPUs a process the list has half as many entries as there are ranks."""

    def halve(document: dict[str, Any]) -> None:
        document["config"]["ngpus"] = 2
        document["config"]["devices"] = document["config"]["devices"][::2]

    assert changed(halve).ranks == 16


def test_minimum_bandwidth_check_is_a_remark() -> None:
    """NCCL_TESTS_MIN_BW not reached: said, and the data is still whole."""
    report = changed(lambda document: document["average_bus_bandwidth"].update(okay="false"))

    assert report.complete
    assert "NCCL_TESTS_MIN_BW" in report.problems[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["results"].append(None),
        lambda document: document["results"].append({"size": "x", "count": 1}),
        lambda document: document["results"].append({"size": -8, "count": 1}),
        lambda document: document["results"].pop(),
        lambda document: document["results"][3].update(size=8),
        lambda document: document["config"].update(devices=[{"rank": 3, "hostname": "a"}]),
    ],
)
def test_malformed_parts_are_noticed(change: Callable[[dict[str, Any]], object]) -> None:
    """No part of the wrong kind is skipped in silence."""
    report = changed(change)

    assert not report.complete
    assert report.problems


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(config=None),
        lambda document: document.update(args=[]),
        lambda document: document.update(args="x"),
        lambda document: document.update(nccl_version="x"),
        lambda document: document.update(errors=None),
        lambda document: document["config"].update(devices=7),
    ],
)
def test_rows_stand_without_the_preamble(change: Callable[[dict[str, Any]], object]) -> None:
    """What the preamble would say is unknown or follows from the rows."""
    report = changed(change)

    assert len(report.rows) == 12
    assert report.collective is Collective.ALL_REDUCE


@pytest.mark.parametrize("text", ['{"results": {}}', '{"a": 1}', "{" * 100_000, '{"results": ' + "[" * 100_000])
def test_other_json_is_refused_in_one_line(text: str) -> None:
    """Not this benchmark's, however deep."""
    with pytest.raises(InputError, match="nccl-tests"):
        parse_text(text)


def test_old_version_codes_have_another_base() -> None:
    """2708 is 2.7.8, 22907 is 2.29.7."""
    assert changed(lambda document: document.update(nccl_version=2708)).nccl_version == "2.7.8"
    assert changed(lambda document: document.update(nccl_version=22907)).nccl_version == "2.29.7"
