"""What every form says in the same words: shares, states of ports, yardsticks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from netkit.model.missing import Missing, Reason
from netkit.model.probe import Distance, FaultClass, ProbeReport
from netkit.report.probe_facts import PortState, blamed_ports, gang_yardstick, healthy_rates, port_facts, rail_facts
from netkit.report.probe_words import explanation, spans, yardstick
from tests.report import sample_reports


@pytest.mark.parametrize(
    ("numbers", "shown"), [([], ""), ([3], "3"), ([0, 1, 2, 5], "0-2, 5"), ([5, 4, 7, 5], "4-5, 7")]
)
def test_runs_of_numbers_are_short(numbers: list[int], shown: str) -> None:
    """Rails in a row become a span."""
    assert spans(numbers) == shown


def test_slow_port_is_low_and_its_partners_are_not() -> None:
    """A port is credited with its best partner, so only the culprit is low."""
    facts = port_facts(sample_reports.slow_rail())
    low = {port for port, one in facts.items() if one.share is not None and one.share < 0.94}

    assert low == {("n3", 1)}


def test_states_of_ports_are_kept_apart() -> None:
    """Missing and CPU-bound ports carry no verdict of slow, and no rate where there is none."""
    facts = port_facts(sample_reports.slow_rail())

    assert facts["n6", 0].state is PortState.MISSING
    assert facts["n6", 0].rate is None
    assert "no frame within 12 s" in facts["n6", 0].note
    assert facts["n1", 0].state is PortState.CPU_BOUND
    assert facts["n3", 1].state is PortState.MEASURED


def test_dead_port_keeps_its_blame() -> None:
    """A link that is down has no reading at all, and the finding that blames it still marks the port."""
    report = sample_reports.slow_rail()
    down = Missing(reason=Reason.TIMEOUT, where="n3 rail 1")
    readings = tuple(
        replace(one, forward=None, reverse=None, missing=down) if "n3" in one.nodes else one for one in report.readings
    )
    facts = port_facts(replace(report, readings=readings))["n3", 1]

    assert facts.state is PortState.MISSING
    assert facts.finding is not None


@pytest.mark.parametrize(
    ("fault_class", "ports"),
    [
        (FaultClass.RAIL, {("n3", 1)}),
        (FaultClass.NODE, {("n3", 0), ("n3", 1)}),
        (FaultClass.LEAF, {(f"n{number}", 1) for number in (4, 5, 6, 7)}),
        (FaultClass.UPLINK, set()),
        (FaultClass.PAIR, set()),
        (FaultClass.UNIFORM, set()),
    ],
)
def test_each_class_blames_its_own_ports(fault_class: FaultClass, ports: set[tuple[str, int]]) -> None:
    """A leaf blames all its ports on that rail; an uplink, a pair and a uniform slowness blame none."""
    report = sample_reports.build(findings=(sample_reports.finding(fault_class),))

    assert set(blamed_ports(report)) == ports


def test_clean_rail_of_a_blamed_node_is_not_marked() -> None:
    """A node that is slow on one of its two rails keeps the other one unblamed."""
    report = sample_reports.build(
        slowing=lambda sender, receiver, rail, _: 0.7 if rail == 0 and "n3" in {sender, receiver} else 1.0,
        findings=(sample_reports.finding(FaultClass.NODE),),
    )
    facts = port_facts(report)

    assert facts["n3", 0].finding is not None
    assert facts["n3", 1].finding is None


@pytest.mark.parametrize(
    ("summary", "why", "explained"),
    [
        ("n3 rail 1 is 20% slow", "n3 rail 1 is 20% slow", ""),
        (
            "n3 rail 1 is 20% slow",
            "n3 rail 1 is 20% slow; besides, could not measure n6",
            "Besides, could not measure n6",
        ),
        ("s", "two clocks disagree", "Two clocks disagree"),
    ],
)
def test_reason_is_shown_only_where_it_says_more(summary: str, why: str, explained: str) -> None:
    """What the headline says already is not said twice; doubts are never dropped."""
    found = sample_reports.finding(FaultClass.RAIL, summary=summary)

    assert explanation(sample_reports.build(findings=(found,), why=why)) == explained


def test_uniform_slowness_is_measured_against_the_line_rate() -> None:
    """When everything is slow, the run's own rates are no yardstick."""
    report = sample_reports.uniformly_slow()
    shares = [one.share for one in port_facts(report).values() if one.share is not None]

    assert yardstick(report) == "the line rate"
    assert healthy_rates(report)[Distance.FAR] == report.fabric.line_rate
    assert max(shares) < 0.75


def test_without_anything_healthy_there_is_no_share() -> None:
    """No cohort and no line rate: rates are shown, and no percentage is made up."""
    report = sample_reports.inconclusive()

    assert healthy_rates(report) == {}
    assert gang_yardstick(report) is None
    assert all(one.share is None and one.rate is not None for one in port_facts(report).values())


@pytest.mark.parametrize("make", [sample_reports.slow_rail, sample_reports.nothing_measured])
def test_rail_counts_add_up(make: Callable[[], ProbeReport]) -> None:
    """Readings of all rails are all pair readings; a rail without any rate has no lowest one."""
    report = make()
    facts = rail_facts(report)

    assert sum(one.readings for one in facts) == sum(len(one.nodes) == 2 for one in report.readings)
    assert all((one.lowest is None) == (one.missing == one.readings) for one in facts)
