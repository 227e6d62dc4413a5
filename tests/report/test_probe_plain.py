"""The plain form: verdict and culprit in the first line, nothing cut off, nothing a terminal would obey."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.model.probe import FaultClass, ProbeReport
from netkit.report import probe_plain
from netkit.report.blocks import Banner, Cell, Column, Listing, Prose, Table, Tone
from netkit.report.plain_text import plain_text
from tests.report import sample_reports


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (sample_reports.slow_rail, "SLOW: n3 rail 1 is 20% slow when sending"),
        (sample_reports.slow_node, "SLOW: node n3 is 45% slow both ways"),
        (sample_reports.slow_leaf, "SLOW: leaf1 rail 1 is 30% slow both ways"),
        (sample_reports.slow_uplink, "SLOW: uplink of leaf1 rail 1 is 40% slow both ways"),
        (sample_reports.slow_pair, "SLOW: n3 with n5 rail 1 is 50% slow both ways"),
        (sample_reports.uniformly_slow, "SLOW: every port is 30% slow both ways, against the line rate"),
        (sample_reports.healthy, "HEALTHY: every port keeps up with its peers"),
        (sample_reports.inconclusive, "INCONCLUSIVE: 3 nodes: too few to compare with each other"),
        (sample_reports.large, "SLOW: node gpu-10-21 is 30% slow both ways; 10 more findings"),
    ],
)
def test_first_line_holds_verdict_and_culprit(make: Callable[[], ProbeReport], first: str) -> None:
    """Whoever reads one line reads which component, how slow and which side."""
    assert probe_plain.render(make()).splitlines()[0] == first


def test_emulated_run_says_so_at_once() -> None:
    """The second line of an emulated run says that it is no statement about links; a real one never does."""
    assert probe_plain.render(sample_reports.emulated()).splitlines()[1].startswith("EMULATED: ")
    assert "EMULATED" not in probe_plain.render(sample_reports.slow_rail())


@pytest.mark.parametrize("make", sample_reports.SMALL.values(), ids=sample_reports.SMALL)
def test_findings_bring_evidence_and_next_steps_in_full(make: Callable[[], ProbeReport]) -> None:
    """Every word of evidence and every step is there, whatever the line breaks."""
    report = make()
    flat = " ".join(probe_plain.render(report).split())

    for finding in report.verdict.findings:
        for item in (*finding.evidence, *finding.next):
            if item.isprintable():
                assert " ".join(item.split()) in flat
    assert "Traceback" not in flat


@pytest.mark.fault("J01")
def test_hostile_names_are_shown_not_obeyed() -> None:
    """Escape sequences, control bytes and bidirectional marks in names come out as visible escapes."""
    text = probe_plain.render(sample_reports.hostile())

    assert not {character for character in text if not character.isprintable()} - {"\n"}
    assert r"n\x1b]52;c;cm0gLXJm\x07" in text
    assert r"abc\u202edcba" in text


@pytest.mark.fault("J02")
def test_markup_in_names_is_text() -> None:
    """Square brackets and colon words are data."""
    assert "[/x][red]:smiley:" in probe_plain.render(sample_reports.hostile())


def test_table_keeps_long_cells_whole_and_lines_up() -> None:
    """A value longer than a line is never cut; columns stand under each other, numbers to the right."""
    table = Table(
        title="t",
        columns=(Column(title="name"), Column(title="n", numeric=True)),
        rows=((Cell(text="a" * 100), Cell(text="1")), (Cell(text="日本"), Cell(text="234"))),
    )
    lines = plain_text((table,)).splitlines()

    assert lines[2] == f"  name{' ' * 96}    n"
    assert lines[3] == f"  {'a' * 100}    1"
    assert lines[4] == f"  日本{' ' * 96}  234"


@settings(max_examples=100, deadline=None)
@given(words=st.lists(st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=120), max_size=30))
def test_wrapping_loses_no_word(words: list[str]) -> None:
    """Prose and lists wrap between words only: joined again they are what went in."""
    text = " ".join(words)
    blocks = (Prose(text=text), Listing(title="List", items=(text,) if text else ()))
    shown = plain_text(blocks).split()

    assert shown == [*words, "List", *(["-", *words] if words else [])]


def test_banner_is_one_line_however_long() -> None:
    """The first line can be cut out by `head -1`."""
    assert plain_text((Banner(word="SLOW", text="x " * 200 + "end", tone=Tone.BAD),)).count("\n") == 1


def test_port_that_met_only_blamed_partners_is_not_called_slow() -> None:
    """A healthy port that happened to meet slow partners only is marked as a lower bound, not as slow."""
    text = probe_plain.render(sample_reports.slow_leaf())
    rows = {line.split()[0]: line for line in text.splitlines() if line.startswith("  n")}

    assert "~ 70%" in rows["n2"]
    assert "!70%" in rows["n9"]
    assert "~" not in rows["n0"]
    assert "!" not in rows["n0"]


def test_slow_report_without_a_finding_still_says_why() -> None:
    """A verdict of slow that names nobody shows its reason in the first line."""
    report = sample_reports.slow_rail()
    report = replace(report, verdict=replace(report.verdict, findings=(), why="rates halved in every round"))

    assert probe_plain.render(report).splitlines()[0] == "SLOW: rates halved in every round"


def test_large_gang_lists_only_what_stands_out() -> None:
    """8,192 ports are not a table for a head: the blamed and the missing are, with how many there are in all."""
    report = sample_reports.large()
    text = probe_plain.render(report)

    assert "Ports that stand out: 26 of 8,192" in text
    assert len(text.splitlines()) < 250
    for finding in report.verdict.findings:
        assert finding.fault_class in {FaultClass.RAIL, FaultClass.NODE}
        assert str(finding.node) in text
