"""A log cut at any byte, mixed with anything, prefixed by anything: never a number that the whole log does not say."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.collective import CollectiveReport
from netkit.probe.backends.nccl_tests import parse_text
from netkit.probe.nccl_log.lines import whole_lines
from tests.probe import nccl_tests_logs as logs
from tests.probe.nccl_tests_logs import Sample

DATA = Path(__file__).parent.parent / "data" / "nccl_tests"
SMALL = Sample(ranks=2, per_node=1, sizes=(1024, 1048576, 1073741824))
# The machine is shared: an example may wait for its turn.
PATIENT = settings(deadline=None)
NOISE = st.sampled_from(
    [
        "node-01:77:78 [0] NCCL INFO Using network IB",
        "node-01:77:78 [3] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/1/GDRDMA",
        "node-01:77:78 [0] NCCL WARN socketProgress: Connection closed by remote peer",
        "[1,3]<stderr>:WARNING: no virtual memory left",
        "#",
        "",
        "   ",
        "12 processes have sent help message",
        "# some other comment",
        "1024 bytes were lost",
        "Avg of something : 5",
        "\u2713 done",
    ]
)


def own_logs() -> list[Path]:
    return sorted(path for path in DATA.iterdir() if path.suffix == ".log")


def recorded_logs() -> list[Path]:
    folder = os.environ.get("NETKIT_EXTRA_DATA")
    return sorted((Path(folder) / "nccl-tests").iterdir()) if folder else []


def reports(text: str) -> tuple[CollectiveReport, ...]:
    try:
        return parse_text(text)
    except InputError:
        return ()


def assert_says_nothing_new(cut: tuple[CollectiveReport, ...], whole: tuple[CollectiveReport, ...]) -> None:
    """Every number of the cut log is one of the whole log, and only a whole table is complete."""
    assert len(cut) <= len(whole)
    for part, full in zip(cut, whole, strict=False):
        assert part.rows == full.rows[: len(part.rows)]
        assert part.ranks in (None, full.ranks)
        assert part.nodes in (None, full.nodes)
        assert full.corrupt or not part.corrupt
        assert not part.complete or (part.rows, part.ranks) == (full.rows, full.ranks)


@pytest.mark.fault("I01")
@pytest.mark.parametrize("make", [logs.modern, logs.old], ids=["modern", "old"])
def test_text_cut_at_any_byte_says_nothing_new(make: object) -> None:
    """Every single prefix of a small log, in both generations of the format."""
    assert callable(make)
    text = "\n".join(make(SMALL))
    whole = parse_text(text)

    for end in range(len(text)):
        assert_says_nothing_new(reports(text[:end]), whole)
    assert whole[0].complete


@pytest.mark.fault("G21")
def test_a_log_that_was_rotated_or_restarted_is_no_result_and_says_why() -> None:
    """The end is missing: incomplete, with the likely cause. The head is missing too: not even a table."""
    text = "\n".join(logs.modern(SMALL)) + "\n"
    start, end = text.index("busbw"), text.index("# Out of bounds")

    [cut] = parse_text(text[:end])
    assert not cut.complete
    assert any("the log is cut, by its size or by a restart" in problem for problem in cut.problems)
    assert all(not report.complete and not report.rows for report in reports(text[start:end]))


def line_ends(text: str) -> Iterator[int]:
    """Cuts just before, at, just after and a little past each newline: between two of them nothing can change."""
    for index, character in enumerate(text):
        if character == "\n":
            yield from (index - 1, index, index + 1, index + 7)


@pytest.mark.fault("I01")
@pytest.mark.parametrize("path", [*own_logs(), *recorded_logs()], ids=lambda path: path.name)
def test_every_log_cut_around_every_line_end_says_nothing_new(path: Path) -> None:
    """Synthetic and recorded logs of every shape; what lies between line ends is the next test's."""
    text = path.read_bytes().decode()
    whole = parse_text(text)

    for end in line_ends(text):
        assert_says_nothing_new(reports(text[:end]), whole)


@pytest.mark.fault("I01")
@pytest.mark.parametrize("path", [*own_logs(), *recorded_logs()], ids=lambda path: path.name)
def test_a_cut_inside_a_line_is_a_cut_before_it(path: Path) -> None:
    """At every byte: the lines that count are those whose newline has arrived."""
    text = path.read_bytes().decode()
    whole = list(whole_lines(text))

    arrived = 0
    for end in range(len(text) + 1):
        arrived += text[end - 1 : end] == "\n"
        assert sum(1 for _ in whole_lines(text[max(0, end - 600) : end])) == text.count("\n", max(0, end - 600), end)
        if end % 97 == 0:
            assert list(whole_lines(text[:end])) == whole[:arrived]


@pytest.mark.fault("I01")
def test_json_cut_at_any_byte_has_no_rows() -> None:
    """Half a document is no document: incomplete, without any number."""
    text = logs.as_json(SMALL)

    for end in range(len(text)):
        for report in reports(text[:end]):
            assert (report.rows, report.ranks, report.nodes, report.complete) == ((), None, None, False)
    assert parse_text(text)[0].complete


def test_recordings_are_there_when_named() -> None:
    """Says aloud when the recorded logs were not part of the run."""
    if not recorded_logs():
        pytest.skip("NETKIT_EXTRA_DATA names no folder of recordings")
    assert len(recorded_logs()) >= 4


@pytest.mark.fault("I04")
@PATIENT
@given(st.lists(st.tuples(st.integers(0, 80), NOISE), max_size=30), st.booleans(), st.booleans())
def test_lines_of_others_change_nothing(
    noise: list[tuple[int, str]], carriage_returns: bool, modern_format: bool
) -> None:
    """NCCL, launchers and other ranks may print between any two lines, with any line ends."""
    lines = logs.modern(SMALL) if modern_format else logs.old(SMALL)
    expected = parse_text("\n".join(lines))[0]
    for position, line in noise:
        lines.insert(min(position, len(lines) - 1), line)

    (report,) = parse_text(("\r\n" if carriage_returns else "\n").join(lines))

    assert report.rows == expected.rows
    assert (report.complete, report.ranks, report.nodes) == (True, expected.ranks, expected.nodes)


PREFIXES = st.one_of(
    st.integers(0, 99999).map("{}: ".format),
    st.tuples(st.integers(0, 99), st.integers(0, 9999)).map("[{0[0]},{0[1]}]<stdout>:".format),
    st.just("[prterun-node-00-4711@1,0]<stdout>: "),
    st.just("[pod/nccl-launcher-abcde/main] "),
    st.just("[0] "),
    st.just("2031-01-02T03:04:05.123456789Z "),
    st.just("2031-01-02T03:04:05.123456789+02:00 stdout F "),
    st.just("[pod/a/b] 2031-01-02T03:04:05Z [1,0]<stdout>:"),
    st.just("node-00: "),
    st.just(""),
)


@pytest.mark.fault("I04")
@PATIENT
@given(PREFIXES)
def test_any_known_prefix_is_taken_off(prefix: str) -> None:
    """What launchers and collectors write in front of a line shifts no column."""
    lines = logs.modern(SMALL)

    (report,) = parse_text("\n".join([*(prefix + line for line in lines[:-1]), ""]))

    assert report == parse_text("\n".join(lines))[0]


@pytest.mark.fault("I01")
@PATIENT
@given(st.data())
def test_random_damage_never_makes_a_number(data: st.DataObject) -> None:
    """Rows broken anywhere by anybody's line: what is left is a part of the truth, and known to be one."""
    lines = logs.modern(SMALL)
    expected = parse_text("\n".join(lines))[0].rows
    rows = [index for index, line in enumerate(lines) if line[:2] == "  "]
    index = data.draw(st.sampled_from(rows))
    row = lines[index]
    at = data.draw(st.integers(12, len(row) - 1))
    glue = data.draw(st.sampled_from(["", "node-01:1:2 [0] NCCL INFO x", " x", "."]))
    lines[index : index + 1] = [row[:at] + glue, row[at:]]

    report = parse_text("\n".join(lines))[0]

    assert set(report.rows) <= set(expected)
    assert not report.complete


@pytest.mark.fault("I01")
@PATIENT
@given(st.integers(1, 8), st.data())
def test_lost_lines_are_noticed(lost: int, data: st.DataObject) -> None:
    """Without any one of its rows a table is incomplete."""
    sample = Sample(ranks=2, sizes=tuple(2**power for power in range(20, 30)))
    lines = logs.modern(sample)
    rows = [index for index, line in enumerate(lines) if line[:2] == "  "]
    gone = data.draw(st.sets(st.sampled_from(rows), min_size=lost, max_size=lost))

    (report,) = parse_text("\n".join(line for index, line in enumerate(lines) if index not in gone))

    assert not report.complete
    assert len(report.rows) == 2 * (len(rows) - lost)


@PATIENT
@given(st.text(max_size=2000))
def test_arbitrary_text_is_read_or_refused(text: str) -> None:
    """No input raises anything but the one-line refusal."""
    reports(text)
    reports("\n".join(logs.modern(SMALL)[:12]) + "\n" + text + "\n")


@PATIENT
@given(st.text(alphabet='{}[]",:0123456789.einfa \\', max_size=300))
def test_arbitrary_json_is_read_or_refused(text: str) -> None:
    """Nor does anything that looks like the JSON of -J."""
    reports("{" + text)
    reports('{"results":[' + text + "]}")


@PATIENT
@given(st.integers(0, 255), st.data())
def test_a_changed_byte_never_raises(byte: int, data: st.DataObject) -> None:
    """One flipped byte anywhere is a remark at most."""
    encoded = bytearray(logs.modern_text(SMALL).encode())
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = byte

    reports(encoded.decode(errors="replace"))


def seconds_for(text: str) -> float:
    start = time.process_time()
    reports(text)
    return time.process_time() - start


@pytest.mark.parametrize(
    "line",
    [
        "node-01:77:78 [3] NCCL INFO Channel 00/0 : 1[0] -> 0[0] via P2P/CUMEM",
        "x" * 1_000_000,
        " " * 1_000_000 + "1",
        "1 " * 500_000,
        "[pod/" * 200_000,
        "NCCL INFO Channel via NET/" * 100,
        "# in-place algbw busbw " * 100,
        "\x1b[" * 500_000,
        "\x1b]" * 500_000,
        "1: " * 300_000,
    ],
    ids=["info", "long", "spaces", "digits", "brackets", "channels", "headers", "csi", "osc", "labels"],
)
def test_twenty_megabytes_of_anything_take_seconds(line: str) -> None:
    """Reading is linear in the size of the log, whoever wrote its lines."""
    lines = logs.modern(SMALL)
    lines[-8:-8] = [line] * (20_000_000 // (len(line) + 1))

    assert seconds_for("\n".join(lines)) < 3


def test_rows_take_linear_time() -> None:
    """Eight times the rows take about eight times as long, not sixty-four."""
    lines = logs.modern(SMALL)
    rows = [line for line in lines if line[:2] == "  "]
    at = lines.index(rows[0])

    def with_rows(times: int) -> str:
        return "\n".join([*lines[:at], *rows * times, *lines[at + len(rows) :]])

    short, long = (min(seconds_for(with_rows(times)) for _ in range(3)) for times in (200, 1600))
    assert long < 24 * short


def test_assumption_of_distinct_rows_holds() -> None:
    """The damage test compares rows as a set: they must differ from each other."""
    rows = parse_text(logs.modern_text(SMALL))[0].rows
    assert len(set(rows)) == len(rows)
