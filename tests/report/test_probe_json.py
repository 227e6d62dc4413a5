"""The JSON form: the promised keys, valid and ASCII whatever the strings, never a number that is none."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netkit.model.probe import FaultClass, ProbeReport
from netkit.report import probe_json
from tests.report import sample_reports

# Lone surrogates included: os.fsdecode makes them from any bytes.
ANY_TEXT = st.text(st.characters(), max_size=40)


def refuse(constant: str) -> float:
    raise AssertionError(f"{constant} is not JSON")


def loaded(report: ProbeReport) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(probe_json.render(report), parse_constant=refuse)
    return result


@pytest.mark.parametrize("make", sample_reports.SMALL.values(), ids=sample_reports.SMALL)
def test_every_verdict_reads_back_as_written(make: Callable[[], ProbeReport]) -> None:
    """Parsing the text gives back the document, apart from halves of characters."""
    report = make()

    expected = json.loads(json.dumps(probe_json.document(report)).replace("\\ud800", "\\\\ud800"))

    assert loaded(report) == expected


def test_promised_keys_hold_the_report() -> None:
    """The keys others read are there, in base units."""
    report = sample_reports.slow_rail()
    document = loaded(report)
    reading = document["readings"][0]

    assert document["schema"] == "netkit.probe/1"
    assert document["verdict"] == "slow"
    assert document["rounds"] == len(report.rounds)
    assert document["smallest_detectable_slowdown"] == 0.06
    assert [document["findings"][0][key] for key in ("class", "node", "rail", "direction", "slowdown")] == [
        "rail",
        "n3",
        1,
        "tx",
        0.2,
    ]
    assert reading["rate_bytes_per_second"] == min(
        reading["forward_bytes_per_second"], reading["reverse_bytes_per_second"]
    )
    assert document["fabric"]["leaf_of"]["n7"] == "leaf1"
    assert document["plan"][0]["kind"] == "intra"
    assert {"why", "gang", "noise", "not_seen", "transport", "name", "tool_version", "started_at"} <= set(document)
    assert {"seconds", "seed", "warnings"} <= set(document)


def test_missing_reading_has_a_reason_and_no_rate() -> None:
    """A reading that failed is null with its reason: never 0."""
    lost = [one for one in loaded(sample_reports.slow_rail())["readings"] if one["missing"]]

    assert len(lost) == 2
    assert all(one["rate_bytes_per_second"] is None and one["spread"] is None for one in lost)
    assert lost[0]["missing"] == {"reason": "timeout", "where": "n6 rail 0", "detail": "no frame within 12 s"}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_becomes_null(number: float) -> None:
    """NaN and the infinities are no JSON: they are written as null, wherever they stand."""
    report = sample_reports.healthy()
    readings = tuple(replace(one, forward=number, spread=number) for one in report.readings)
    noise = tuple(replace(level, center=number) for level in report.verdict.noise)
    verdict = replace(report.verdict, noise=noise, smallest_detectable_slowdown=number)
    document = loaded(replace(report, readings=readings, verdict=verdict, seconds=number))

    assert document["seconds"] is None
    assert document["smallest_detectable_slowdown"] is None
    assert document["noise"][0]["center_bytes_per_second"] is None
    assert document["readings"][0]["forward_bytes_per_second"] is None


@pytest.mark.fault("J03")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=ANY_TEXT, why=ANY_TEXT, leaf=ANY_TEXT)
def test_any_string_stays_valid_ascii_json(name: str, why: str, leaf: str) -> None:
    """Control characters, lone surrogates, anything: the text is ASCII, parses, and can be written as UTF-8."""
    nasty = sample_reports.finding(FaultClass.LEAF, leaf=leaf, summary=why, evidence=(name,))
    report = sample_reports.build(nodes=(name, "b"), rails=1, findings=(nasty,), why=why)
    text = probe_json.render(report)

    assert text.isascii()
    assert not set(text) - {"\n"} & {chr(code) for code in range(32)}
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")
