"""Tuner tables are read as the plugin reads them, written so that it reads them back, and never quietly misread."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.nccl_tuner.grammar import ALGORITHMS, COLLECTIVES, LARGEST, PROTOCOLS, Row, read_lines, read_table
from netkit.nccl_tuner.lint import lint
from netkit.nccl_tuner.table import Metric, best_rows, fallback, merged, parse_measurements, written
from tests.nccl_tuner.libc_plugin import load_config

_ATOMS = (
    *(name.encode() for name in (*COLLECTIVES, *ALGORITHMS, *PROTOCOLS)),
    *(b"0", b"1", b"-1", b"65536", b"4294967295", b"18446744073709551615", b"18446744073709551616", b"-2", b"+7"),
    *(b"2147483648", b"-2147483649", b"9223372036854775808", b"99999999999999999999999", b"-99999999999999999999999"),
    *(b"", b" ", b"\t", b" 12", b"12 ", b"\t3\t", b"0x10", b"1e6", b"1 2", b"\v4", b"\r", b"7\r", b"Ring", b"#", b"a"),
    *(b"-", b"+", b"--1", b"\0", b"1\x005", b"\xff", b"x" * 250, b"007", b"\f 9"),
)


def fuzzed_line(rng: random.Random) -> bytes:
    """A line that is often nearly right: eight to ten fields of the right kinds, some of them spoilt."""
    count = rng.choice((8, 8, 9, 10, 10, 7, 11, 1, 3, 0))
    good = [rng.choice(COLLECTIVES), str(rng.randrange(1 << 20)), str(rng.randrange(1 << 40)), rng.choice(ALGORITHMS)]
    good += [rng.choice(PROTOCOLS), *(str(rng.randrange(-1, 65)) for _ in range(6))]
    fields = [rng.choice(_ATOMS) if rng.random() < 0.25 else field.encode() for field in good[:count]]
    line = (b", " if rng.random() < 0.1 else b",").join(fields)
    return rng.choice((b"", b"", b"", b"#", b" ", b",")) + line + rng.choice((b"\n", b"\n", b"\r\n", b",\n", b" \n"))


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.e2e)])
def test_fuzzed_lines_are_read_as_the_plugin_reads_them(count: int) -> None:
    """Fields, names, numbers, long lines: every row of every line is what the C library makes of it."""
    rng = random.Random(count)
    data = b"".join(fuzzed_line(rng) for _ in range(count))
    ours, theirs = read_table(data), load_config(data)
    assert len(theirs) > count * 0.4
    differing = [(one, other) for one, other in zip(ours, theirs, strict=False) if one != other]
    assert not differing, differing[:3]
    assert len(ours) == len(theirs)


@given(st.binary(max_size=700))
@settings(max_examples=150)
def test_any_bytes_are_read_as_the_plugin_reads_them(data: bytes) -> None:
    """Not only lines that look like lines."""
    assert list(read_table(data)) == load_config(data)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b"allreduce,0,10,ring,ll,-1,-1,-1", {"channels": -1, "pipe_ops": -1, "registered": -1}),
        (b"allreduce,0,10,ring,ll,4,2,16,3", {"channels": 4, "nodes": 2, "ranks": 16, "pipe_ops": 3}),
        (b"allreduce,0,10,ring,ll,4,2,16,3,1", {"registered": 1}),
        (b"allreduce,0,10,ring,ll,4,2,16,3,1,9", {"registered": 1}),
        (b"alltoall,0,10,rings,LL,1,1,1", {"collective": "allreduce", "algorithm": "ring", "protocol": "simple"}),
        (b"reduce,-1,99999999999999999999,pat,ll128,1,1,1", {"min_bytes": LARGEST, "max_bytes": LARGEST}),
        (b"reduce,,0,8,tree,simple,2147483648,1,1", {"min_bytes": 0, "max_bytes": 8, "channels": -(2**31)}),
    ],
)
def test_what_the_plugin_makes_of_a_line(line: bytes, row: dict[str, object]) -> None:
    """Eight, nine or ten fields; unknown names and odd numbers become what the C functions return."""
    (found,) = read_table(line)
    assert {name: getattr(found, name) for name in row} == row


def test_a_line_of_256_characters_goes_on_as_the_next() -> None:
    """Its tail is a line of its own to the plugin, and lint says so."""
    tail = b"reduce,0,9,ring,ll,1,1,1"
    data = b"#".ljust(255, b"x") + tail + b"\n"
    assert [row.collective for row in read_table(data)] == ["reduce"]
    assert "longer than 255" in lint(data)[0].said


rows = st.builds(
    Row,
    collective=st.sampled_from(COLLECTIVES),
    min_bytes=st.integers(0, LARGEST),
    max_bytes=st.integers(0, LARGEST),
    algorithm=st.sampled_from(ALGORITHMS),
    protocol=st.sampled_from(PROTOCOLS),
    channels=st.integers(-1, 64),
    nodes=st.integers(-1, 4096),
    ranks=st.integers(-1, 32768),
    pipe_ops=st.integers(-1, 64),
    registered=st.integers(-1, 1),
)


@given(st.lists(rows, max_size=20))
@settings(max_examples=30)
def test_what_is_written_is_read_back(table: list[Row]) -> None:
    """By us and by the plugin, with no line too long."""
    text = written(table).encode()
    assert list(read_table(text)) == table == load_config(text)
    assert max(map(len, text.splitlines())) <= 255


@given(st.lists(st.lists(rows, max_size=8), max_size=3))
@settings(max_examples=30)
def test_merging_keeps_what_matches_first(tables: list[list[Row]]) -> None:
    """Every row that was dropped is covered by one that was kept, and before it."""
    kept = merged(tables)
    everything = [row for table in tables for row in table]
    assert list(kept) == [row for row in everything if row in kept][: len(kept)] or len(set(everything)) < len(
        everything
    )
    assert all(any(one.covers(row) for one in kept) for row in everything)
    assert not any(kept[index].covers(row) for row in kept for index in range(kept.index(row)))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("allreduce,0,10,ring,ll,1,1", "7 fields"),
        ("allreduce,0,10,ring,ll,1,1,1,1,1,1", "11 fields"),
        ("alltoall,0,10,ring,ll,1,1,1", "takes it for allreduce"),
        ("allreduce,0,10,Ring,ll,1,1,1", "takes it for ring"),
        ("allreduce,0,10,ring,LL,1,1,1", "takes it for simple"),
        ("allreduce,0,4M,ring,ll,1,1,1", "maximum '4M' is no size in bytes: the plugin reads 4"),
        ("allreduce,0,18446744073709551616,ring,ll,1,1,1", "no size in bytes"),
        ("allreduce,0,10,ring,ll,all,1,1", "channels 'all' is no count"),
        ("allreduce,0,10,ring,ll,1,*,1", "nodes '*' is no count"),
        ("allreduce,0,10,ring,ll,1,1,1,1,2", "regBuff 2"),
        ("allreduce,20,10,ring,ll,1,1,1", "no message is of that size"),
        ("allreduce,0,10,ring,ll,0,1,1", "0 channels"),
        ("allreduce,,0,10,ring,ll,1,1,1", "an empty field"),
        ("  # a remark", "1 fields"),
        ("allreduce,0,10,ring,ll,1,1,1\nallreduce,2,3,tree,ll,1,1,1,5", "line 1 matches all of it first"),
    ],
)
def test_lint_names_what_the_plugin_would_not(line: str, said: str) -> None:
    """One remark for each thing wrong, on its line."""
    remarks = lint(line.encode() + b"\n")
    assert any(said in remark.said for remark in remarks), remarks
    assert len(remarks) == 1


@given(st.lists(rows, max_size=8))
@settings(max_examples=40)
def test_lint_finds_nothing_in_a_sound_table(table: list[Row]) -> None:
    """Rows that differ, with sizes in order."""
    sound = [row for row in merged([table]) if row.min_bytes <= row.max_bytes and row.channels != 0]
    assert lint(written(sound).encode()) == ()


MEASURED = """collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff,x,bandwidth_gbps,latency_us
allreduce,1024,tree,simple,2,2,16,-1,-1,0.2,40.0,10.0
allreduce,1024,ring,simple,4,2,16,-1,-1,0.2,50.0,12.0
allreduce,4096,ring,simple,4,2,16,-1,-1,0.2,60.0,14.0
allreduce,4096,tree,simple,2,2,16,-1,-1,0.2,55.0,13.0
allreduce,1048576,ring,ll128,8,2,16,-1,-1,0.2,400.0,50.0
allreduce,1048576,ring,simple,4,2,16,-1,-1,0.2,300.0,60.0
"""


def test_the_best_setting_of_every_size_becomes_a_row() -> None:
    """Neighbours with one best setting share a row; nothing is said of sizes nobody measured."""
    rows_found = best_rows(parse_measurements(MEASURED, Metric.BANDWIDTH))
    assert [(row.min_bytes, row.max_bytes, row.algorithm, row.protocol, row.channels) for row in rows_found] == [
        (1024, 65536, "ring", "simple", 4),
        (65537, 1048576, "ring", "ll128", 8),
    ]
    by_latency = best_rows(parse_measurements(MEASURED, Metric.LATENCY))
    assert [row.algorithm for row in by_latency] == ["tree", "ring"]


def test_a_fallback_matches_what_nothing_else_does() -> None:
    """It is a row like any other, and the last one."""
    table = merged([best_rows(parse_measurements(MEASURED, Metric.BANDWIDTH)), [fallback("allreduce")]])
    assert table[-1] == fallback("allreduce")
    assert all(table[-1].covers(row) for row in table)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("size_bytes", "size"), "without size_bytes"),
        (("allreduce,1024,tree", "alltoall,1024,tree"), "line 2: collective 'alltoall'"),
        (("40.0", "fast"), "line 2: bandwidth_gbps 'fast'"),
        (("40.0", "nan"), "line 2: bandwidth_gbps 'nan'"),
        (("1024,tree", "1k,tree"), "line 2: size_bytes '1k'"),
        (("tree,simple,2", "tree,simple,-2"), "line 2: channels '-2'"),
    ],
)
def test_measurements_that_cannot_be_used_are_one_clear_line(change: tuple[str, str], named: str) -> None:
    """With the line and what is accepted."""
    with pytest.raises(InputError, match=named):
        parse_measurements(MEASURED.replace(*change, 1), Metric.BANDWIDTH)


def test_an_empty_file_of_measurements_is_refused() -> None:
    """A header alone measures nothing."""
    with pytest.raises(InputError, match="without a line"):
        parse_measurements(MEASURED.splitlines()[0] + "\n", Metric.BANDWIDTH)


def _sample(name: str) -> bytes:
    folder = os.environ.get("NETKIT_EXTRA_DATA")
    path = Path(folder or "") / "nccl" / name
    if not folder or not path.is_file():
        pytest.skip(f"NETKIT_EXTRA_DATA names no folder with nccl/{name}")
    return path.read_bytes()


def test_the_plugins_own_sample_is_read_and_written_back() -> None:
    """Its rows survive, as the plugin reads them, and nothing in it is misread."""
    sample = _sample("nccl_tuner_example.conf")
    table = read_table(sample)
    assert len(table) == 9
    assert list(table) == load_config(sample)
    assert read_table(written(table).encode()) == table
    assert lint(sample) == ()


def test_the_plugins_own_measurements_become_a_sound_table() -> None:
    """Every measured size finds the setting with the most bandwidth."""
    text = _sample("nccl_tuner_sample_performance_data.csv").decode()
    measurements = parse_measurements(text, Metric.BANDWIDTH)
    table = read_table(written(best_rows(measurements)).encode())
    assert lint(written(table).encode()) == ()
    for one in measurements:
        alike = [
            other for other in measurements if other.size_bytes == one.size_bytes and other.row.ranks == one.row.ranks
        ]
        best = min(
            (other for other in alike if other.row.collective == one.row.collective), key=lambda other: other.cost
        )
        found = next(
            row
            for row in table
            if (row.collective, row.ranks) == (one.row.collective, one.row.ranks)
            and row.min_bytes <= one.size_bytes <= row.max_bytes
        )
        assert (found.algorithm, found.protocol, found.channels) == (
            best.row.algorithm,
            best.row.protocol,
            best.row.channels,
        )


def test_lines_know_where_they_began() -> None:
    """Numbers are those an editor shows, however long a line is."""
    data = b"#a\n" + b"x" * 600 + b"\nallreduce,0,1,ring,ll,1,1,1\n"
    assert [(line.number, line.starts_line) for line in read_lines(data)] == [
        (1, True),
        (2, True),
        (2, False),
        (2, False),
        (3, True),
    ]
