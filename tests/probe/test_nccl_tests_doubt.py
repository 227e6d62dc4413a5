"""nccl-tests logs that cannot be believed as they stand: damaged, mixed, corrupt, forged, without their end."""

from __future__ import annotations

import hashlib
import json

import pytest

from netkit.errors import ProbeError
from netkit.probe.backends.nccl_tests import parse_text
from tests.probe import nccl_tests_logs as logs
from tests.probe.nccl_tests_logs import Sample, first_row, lines_with, read, read_file

SIZES = list(Sample().sizes)


@pytest.mark.fault("I02")
@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "N/A"])
def test_a_value_that_is_no_number_is_never_one(text: str) -> None:
    """That placement of that size has no row; the other rows stand, and the report is incomplete."""
    good = logs.modern_row(Sample(), SIZES[2])
    at = good.index(good.split()[7])
    width = len(good.split()[7])

    report = read(lines_with(2, good[:at] + f"{text:>{width}s}" + good[at + width :]))

    assert len(report.rows) == 11
    assert not report.complete
    assert f"printed {text} where a number belongs" in report.problems[0]


@pytest.mark.fault("I02")
def test_wrong_values_are_corruption() -> None:
    """`#wrong` above zero and FAILED make the report corrupt, though it is complete."""
    report = read_file("wrong_values.log")

    assert report.corrupt
    assert report.complete
    assert {row.wrong for row in report.rows} == {3}


@pytest.mark.fault("I02")
def test_closing_line_alone_is_enough_for_corruption() -> None:
    """Old versions count no elements in the table; their closing line says FAILED."""
    lines = [line.replace(": 0 OK", ": 3 FAILED") for line in logs.old(Sample(ranks=8))]

    report = read(lines)

    assert report.corrupt
    assert {row.wrong for row in report.rows} == {None}


def test_counts_too_wide_for_their_column_are_read_from_the_right() -> None:
    """Many wrong elements push the in-place half to the right; the numbers stay in their columns."""
    row = logs.modern_row(Sample(), SIZES[3]).replace("       0  ", " 1.23457e+06  ")
    lines = [line.replace(": 0 OK", ": 1234570 FAILED") for line in lines_with(3, row)]

    report = read(lines)

    assert report.corrupt
    assert report.complete, report.problems
    assert [one.wrong for one in report.rows if one.bytes == SIZES[3]] == [1234570, 0]


@pytest.mark.fault("I03")
@pytest.mark.parametrize("missing", ["Out of bounds", "Avg bus"])
def test_no_summary_is_incomplete(missing: str) -> None:
    """The benchmark prints both closing lines last; without them nobody knows how much is missing."""
    report = read([line for line in logs.modern(Sample()) if missing not in line])

    assert not report.complete
    assert len(report.rows) == 12


@pytest.mark.fault("I04")
def test_decimal_comma_is_rejected_clearly() -> None:
    """A locale with a comma is named; its rows are no numbers."""
    first = first_row(logs.modern(Sample()))
    lines = [line.replace(".", ",") if index >= first else line for index, line in enumerate(logs.modern(Sample()))]

    report = read(lines)

    assert report.rows == ()
    assert not report.complete
    assert "decimal comma" in report.problems[0]


@pytest.mark.fault("I04")
@pytest.mark.parametrize("at", [5, 20, 33, 50, 66, 75, 90, 115])
def test_a_row_broken_by_another_ranks_line_is_dropped_not_guessed(at: int) -> None:
    """A line that lands inside a row takes the row with it, wherever it lands."""
    lines = logs.modern(Sample())
    whole = read(lines).rows
    index = first_row(lines) + 4
    row = lines[index]
    lines[index : index + 1] = [row[:at] + "node-01:1:2 [0] NCCL INFO comm 0x5 rank 9", row[at:]]

    report = read(lines)

    assert report.rows == tuple(one for one in whole if one.bytes != SIZES[4])
    assert not report.complete


def test_a_row_of_two_rows_contradicts_itself() -> None:
    """The left half of one size with the right half of another is whole, well formed, and refused."""
    left, right = (logs.modern_row(Sample(), size) for size in (SIZES[3], SIZES[4]))

    report = read(lines_with(3, left[:54] + right[54:]))

    assert not any(row.bytes == SIZES[3] for row in report.rows)
    assert "contradict each other" in report.problems[0]


def test_a_size_that_lost_its_first_digits_is_refused() -> None:
    """Count times type no longer makes the size."""
    row = logs.modern_row(Sample(), SIZES[5])

    report = read(lines_with(5, row.replace("1073741824", "     73741824"[-10:])))

    assert len(report.rows) == 10
    assert not report.complete


@pytest.mark.parametrize("row", range(len(SIZES)))
def test_a_missing_row_is_noticed(row: int) -> None:
    """Whichever line is lost, the rows no longer make a whole pass over the sizes."""
    lines = logs.modern(Sample())
    del lines[first_row(lines) + row]

    report = read(lines)

    assert len(report.rows) == 10
    assert not report.complete


def test_a_missing_row_is_noticed_without_a_banner() -> None:
    """The benchmark's own average is never a value, but the rows must make it."""
    lines = [line for line in logs.modern(Sample()) if "nThread" not in line]
    del lines[first_row(lines) + 3]

    report = read(lines)

    assert not report.complete
    assert "do not add up" in report.problems[0]


def test_processor_time_is_not_operation_time() -> None:
    """`-C 1` prints how long the processor was busy: no row, and the reason."""
    report = read([line.replace("   time  ", "cputime  ") for line in logs.modern(Sample())])

    assert report.rows == ()
    assert not report.complete
    assert "-C 1" in report.problems[0]


@pytest.mark.parametrize(
    ("repeat", "remark"),
    [("#  Rank", "listed more than once"), ("# Out of bounds", "more than one summary")],
)
def test_several_processes_in_one_log_are_noticed(repeat: str, remark: str) -> None:
    """A benchmark built without MPI runs once in every process; their lines mix."""
    lines = [line for line in logs.modern(Sample()) for _ in range(2 if line.startswith(repeat) else 1)]

    report = read(lines)

    assert not report.complete
    assert any(remark in problem for problem in report.problems)


def test_rank_list_with_gaps_gives_no_number_of_ranks() -> None:
    """Lost lines of the device list must not make a smaller gang."""
    report = read([line for line in logs.modern(Sample()) if "Rank  3" not in line])

    assert report.nodes is None or report.nodes == 2
    assert not report.complete
    assert any("gaps" in problem for problem in report.problems)


def test_shared_device_leaves_the_number_of_nodes_open() -> None:
    """Two ranks on one device of one name: either one GPU twice, or two hosts of one name."""
    report = read([line.replace("node-01", "node-00") for line in logs.modern(Sample())])

    assert report.nodes is None
    assert report.ranks == 16


def test_failure_of_the_benchmark_is_quoted() -> None:
    """A run that stops with an error says which."""
    lines = logs.modern(Sample())
    lines[first_row(lines) + 2 :] = ["node-00: Test NCCL failure common.cu:1280 'unhandled system error'\x1b[0m", ""]

    report = read(lines)

    assert len(report.rows) == 4
    assert not report.complete
    assert any("unhandled system error" in problem for problem in report.problems)


def test_preamble_without_a_table_gives_no_numbers() -> None:
    """A run that died while starting: its list of ranks may be cut, so it is not counted."""
    lines = logs.modern(Sample())

    report = read([*lines[: next(index for index, line in enumerate(lines) if "Rank 11" in line)], ""])

    assert (report.rows, report.ranks, report.nodes, report.complete) == ((), None, None, False)


def test_problems_stay_few() -> None:
    """A thousand broken rows are twenty lines and a count."""
    lines = logs.modern(Sample())
    index = first_row(lines)
    lines[index:index] = [f"{number:12d}  {number:12d}     float     sum" for number in range(1000)]

    report = read(lines)

    assert len(report.problems) == 21
    assert report.problems[-1].startswith("and ")


def frame(nonce: str, text: str, sequence: int = 1) -> str:
    body = json.dumps({"seq": sequence, "log": text})
    return f"NETKIT/1 {nonce} {len(body.encode())} {hashlib.sha256(body.encode()).hexdigest()}\n{body}\n"


@pytest.mark.fault("I05")
def test_a_forged_table_outside_the_frame_does_not_count() -> None:
    """A tenant's library prints a perfect table; only what the frame of this run holds is read."""
    forged = logs.modern_text(Sample(link=400.0))
    honest = logs.modern_text(Sample())

    (report,) = parse_text(forged + frame("0011223344556677", honest) + forged, nonce="0011223344556677")

    assert report == parse_text(honest)[0]


@pytest.mark.fault("I05")
@pytest.mark.parametrize("nonce", ["ffffffffffffffff", "001122334455667"])
def test_a_frame_of_another_nonce_is_rejected(nonce: str) -> None:
    """A copied or invented frame is nobody's result: could not measure."""
    with pytest.raises(ProbeError, match="nonce"):
        parse_text(frame(nonce, logs.modern_text()), nonce="0011223344556677")
