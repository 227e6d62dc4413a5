"""The table form on a terminal: every word at any width, data never taken for markup, colour only where wanted."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest

from netkit.cli.tables import show
from netkit.model.probe import ProbeReport
from netkit.report.blocks import Cell, Column, Table
from netkit.report.plain_text import columns_of
from netkit.report.probe_table import blocks
from tests.report import sample_reports

SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(report: ProbeReport, width: int) -> str:
    out = io.StringIO()
    show(blocks(report), file=out, width=width)
    return out.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("make", sample_reports.SMALL.values(), ids=sample_reports.SMALL)
def test_nothing_is_wider_than_the_terminal_and_nothing_is_cut(make: Callable[[], ProbeReport], width: int) -> None:
    """Lines fit, no ellipsis stands for data, and every name can still be read."""
    report = make()
    text = shown(report, width)
    joined = re.sub(r"\s", "", text)

    assert max(columns_of(line) for line in text.splitlines()) <= width
    assert "…" not in text
    for node in report.fabric.nodes:
        if node.isprintable():
            assert re.sub(r"\s", "", node) in joined


@pytest.mark.fault("J02")
def test_markup_and_emoji_words_are_text() -> None:
    """What looks like rich markup in a name is printed as it is, on a terminal too."""
    out = Terminal()
    show(blocks(sample_reports.hostile()), file=out, width=120)

    assert "[/x][red]:smiley:" in SEQUENCE.sub("", out.getvalue())


@pytest.mark.fault("J01")
def test_only_colours_of_its_own_reach_the_terminal() -> None:
    """Apart from colour sequences of the table itself, no control byte comes out."""
    out = Terminal()
    show(blocks(sample_reports.hostile()), file=out, width=120)
    rest = SEQUENCE.sub("", out.getvalue())

    assert not {character for character in rest if not character.isprintable()} - {"\n"}


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR leaves no colour on a terminal; without it the verdict is coloured."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured, bare = Terminal(), Terminal()
    show(blocks(sample_reports.slow_rail()), file=coloured, width=100)
    monkeypatch.setenv("NO_COLOR", "1")
    show(blocks(sample_reports.slow_rail()), file=bare, width=100)

    assert re.search(r"\x1b\[[0-9;]*31", coloured.getvalue())
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", bare.getvalue())


def test_wide_table_becomes_one_list_a_row() -> None:
    """Where columns do not fit, each row is a short list with the column names."""
    table = Table(
        title="Wide",
        columns=(Column(title="node"), Column(title="reading", numeric=True)),
        rows=((Cell(text="n" * 30), Cell(text="9" * 30)),),
    )
    out = io.StringIO()
    show((table,), file=out, width=40)

    assert out.getvalue().splitlines()[2:] == [f" node {'n' * 30}", "   reading:", f"   {'9' * 30}"]


@pytest.mark.fault("J07")
@pytest.mark.parametrize("width", [0, 1, 5])
def test_absurdly_narrow_terminals_still_get_their_text(width: int) -> None:
    """A terminal that claims no columns gets a narrow report, not an error."""
    out = io.StringIO()
    show(blocks(sample_reports.slow_rail()), file=out, width=width)

    assert out.getvalue().lstrip().startswith("SLOW")
