"""The verdict as an Event on the gang: about what, of which kind, in how many words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from netkit.model.probe import ProbeReport
from netkit.probe.gang_event import Subject, gang_event
from tests.report.sample_reports import healthy, inconclusive, slow_rail

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
JOB = Subject(kind="Job", namespace="team-a", name="train", uid="u-1")


@pytest.mark.parametrize(
    ("report", "kind", "reason"),
    [
        (healthy(), "Normal", "ProbeHealthy"),
        (slow_rail(), "Warning", "ProbeFoundSlow"),
        (inconclusive(), "Normal", "ProbeInconclusive"),
    ],
)
def test_an_event_tells_the_verdict_of_its_gang(report: ProbeReport, kind: str, reason: str) -> None:
    """Only what is slow is a warning; the object is named so that describing it shows the event."""
    event = gang_event(report, JOB, NOW)
    assert (event["type"], event["reason"]) == (kind, reason)
    assert event["message"] == f"{report.verdict.answer}: {report.verdict.why}"
    assert event["involvedObject"] == {"kind": "Job", "namespace": "team-a", "name": "train", "uid": "u-1"}
    assert (event["metadata"]["namespace"], event["lastTimestamp"]) == ("team-a", "2026-03-01T12:00:00Z")


def test_names_and_words_fit_what_the_api_server_takes() -> None:
    """253 characters for a name, 1024 for a message; two events of one second have two names."""
    long = replace(healthy(), verdict=replace(healthy().verdict, why="w" * 5000))
    events = [gang_event(long, replace(JOB, name="a-" * 126), NOW) for _ in range(2)]
    assert all(len(event["metadata"]["name"]) <= 253 and len(event["message"]) <= 1024 for event in events)
    assert len({event["metadata"]["name"] for event in events}) == 2
    assert all(not event["metadata"]["name"].split(".")[0].endswith("-") for event in events)
