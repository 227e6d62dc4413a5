"""Reading nccl-tests text: every column set, every prefix, and whatever else shares the log."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from netkit.errors import InputError
from netkit.model.collective import Collective, Placement
from netkit.probe.backends import nccl_tests
from netkit.probe.backends.nccl_tests import BACKEND, parse_text
from tests.probe import nccl_tests_logs as logs
from tests.probe.nccl_tests_logs import DATA, Sample, first_row, read, read_file

SIZES = list(Sample().sizes)
LEADING = "#       size         count      type   redop    root"


def test_backend_is_named_like_its_module() -> None:
    """The unit contract: one constant, id equal to the file name."""
    assert BACKEND.id == Path(nccl_tests.__file__).stem
    assert BACKEND.parse is parse_text


@pytest.mark.fault("I06")
@pytest.mark.parametrize(
    ("name", "collective", "ranks", "nodes", "wrong"),
    [
        ("v2_18_all_reduce_two_nodes.log", Collective.ALL_REDUCE, 16, 2, 0),
        ("v2_9_all_reduce_no_root_column.log", Collective.ALL_REDUCE, 8, 1, None),
        ("v2_9_alltoall_blank_redop.log", None, 8, 1, None),
        ("v2_18_broadcast_with_root.log", Collective.BROADCAST, 16, 2, 0),
        ("v2_18_reduce_scatter.log", Collective.REDUCE_SCATTER, 16, 2, 0),
        ("v2_18_sendrecv.log", Collective.SENDRECV, 16, 2, 0),
        ("v2_18_timestamps.log", Collective.ALL_REDUCE, 16, 2, 0),
        ("v2_20_per_iteration_bitwise.log", Collective.ALL_REDUCE, 16, 2, 0),
        ("rccl_algo_proto_channels.log", Collective.ALL_REDUCE, 8, 1, 0),
        ("srun_label.log", Collective.ALL_REDUCE, 16, 2, 0),
        ("mpirun_tagged.log", Collective.ALL_REDUCE, 16, 2, 0),
        ("kubectl_prefix_timestamps.log", Collective.ALL_REDUCE, 16, 2, 0),
        ("crlf_and_colour.log", Collective.ALL_REDUCE, 16, 2, 0),
    ],
)
def test_every_column_set_and_prefix_gives_the_same_table(
    name: str, collective: Collective | None, ranks: int, nodes: int, wrong: int | None
) -> None:
    """Six sizes, two placements, base units, whatever the version, launcher or terminal added."""
    report = read_file(name)

    assert (report.collective, report.ranks, report.nodes) == (collective, ranks, nodes)
    assert (report.complete, report.corrupt, report.problems) == (True, False, ())
    assert [row.bytes for row in report.rows] == [size for size in SIZES for _ in Placement]
    assert [row.placement for row in report.rows] == [*Placement] * len(SIZES)
    assert {row.wrong for row in report.rows} == {wrong}
    sample = Sample(collective=collective or "alltoall", ranks=ranks)
    for row in report.rows:
        time, algbw, busbw = sample.rates(row.bytes, row.placement is Placement.IN_PLACE)
        # The time is printed with at least four digits, a rate with two decimals.
        assert row.time_seconds == pytest.approx(time * 1e-6, rel=1e-3)
        assert row.algbw_bytes_per_second == pytest.approx(algbw * 1e9, abs=6e6)
        assert row.busbw_bytes_per_second == pytest.approx(busbw * 1e9, abs=6e6)


def test_facts_of_the_run_are_kept() -> None:
    """Versions, hosts and the network come from the log, each from the line that says so."""
    report = read_file("v2_18_all_reduce_two_nodes.log")

    assert (report.tool_version, report.nccl_version) == ("2.18.3", "2.29.7")
    assert report.hosts == ("node-00", "node-01")
    assert report.transport == "IB"


@pytest.mark.parametrize(
    ("said", "transport", "problem"),
    [
        (["n:1:2 [0] NCCL INFO Using network Socket"], "Socket", None),
        (["n:1:2 [0] NCCL INFO NET/IB : No device found.", "n:1:2 [0] NCCL INFO Using network Socket"], "Socket", None),
        (["n:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA"], "IB", None),
        (["n:1:2 [0] NCCL INFO Using network AWS Libfabric"], "AWS Libfabric", None),
        (["n:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM"], None, None),
        (
            ["a:1:2 [0] NCCL INFO Using network IB", "b:1:2 [0] NCCL INFO Using network Socket"],
            None,
            "ranks used different networks: IB, Socket",
        ),
    ],
)
def test_network_is_what_nccl_settled_on(said: list[str], transport: str | None, problem: str | None) -> None:
    """A rank that fell back to sockets is seen, a device that was merely looked for is not taken for one."""
    report = read([*said, *logs.modern(Sample())])

    assert report.transport == transport
    assert report.complete
    assert report.problems == ((problem,) if problem else ())


def test_two_tables_are_two_reports() -> None:
    """Each table is judged with its own program, ranks and closing lines."""
    reports = parse_text((DATA / "two_tables.log").read_text())

    assert [report.collective for report in reports] == [Collective.ALL_REDUCE, Collective.ALL_GATHER]
    assert all(report.complete and len(report.rows) == 12 for report in reports)


def test_repeated_cycles_keep_every_row() -> None:
    """`-N 3` prints each size three times under one header: three measurements, not one."""
    lines = logs.modern(Sample())
    first, count = first_row(lines), len(SIZES)
    lines[first + count : first + count] = lines[first : first + count] * 2

    report = read(lines)

    assert report.complete
    assert len(report.rows) == 3 * 2 * count


def test_zero_sizes_are_rows_like_others() -> None:
    """Sizes that round to nothing are printed and kept; they are in the average too."""
    lines = logs.modern(Sample())
    zero = f"{0:12d}  {0:12d}     float     sum      -1" + "     1.50    0.00    0.00       0" * 2
    lines.insert(first_row(lines), zero)
    lines = [line.replace("minBytes 1024", "minBytes 64") for line in lines]
    total = Sample().average * 12 / 14
    lines = [f"# Avg bus bandwidth    : {total:g} " if "Avg bus" in line else line for line in lines]

    report = read(lines)

    assert report.complete, report.problems
    assert [row.bytes for row in report.rows[:2]] == [0, 0]


def test_split_groups_count_the_ranks_of_one_group() -> None:
    """With NCCL_TESTS_SPLIT the factor is that of a group, and so is the number of ranks."""
    small = logs.modern(Sample(ranks=8))
    devices = logs.devices(Sample(ranks=16))
    devices = [line.replace("Group  0", f"Group {index % 2:2d}") for index, line in enumerate(devices)]
    start = next(index for index, line in enumerate(small) if "Rank" in line)
    small[start : start + 8] = devices

    report = read(small)

    assert (report.ranks, report.nodes) == (8, 2)
    assert report.complete


@pytest.mark.parametrize("collective", [one for one in Collective if one is not Collective.HYPERCUBE])
def test_every_operation_agrees_with_itself(collective: Collective) -> None:
    """The relations between columns that rows are checked by hold for every program of nccl-tests."""
    report = read(logs.modern(Sample(collective=collective.value)))

    assert report.complete, report.problems
    assert report.collective is collective


def test_hypercube_counts_only_what_comes_from_others() -> None:
    """Its algbw is size * (n - 1) / n over time, and busbw is the same (src/hypercube.cu)."""
    lines = logs.modern(Sample(collective="hypercube", ranks=8))
    first = first_row(lines)
    del lines[first + 1 : first + len(SIZES)]
    lines[first] = (
        "   268435456       8388608     float    none      -1  10000.0   23.49   23.49       0"
        "  10000.0   23.49   23.49       0"
    )
    lines = [line.replace(f"minBytes 1024 maxBytes {2**26}", "") for line in lines if "nThread" not in line]
    lines = ["# Avg bus bandwidth    : 23.4881 " if "Avg bus" in line else line for line in lines]

    report = read(lines)

    assert report.complete, report.problems
    assert report.collective is Collective.HYPERCUBE


@pytest.mark.parametrize(("collective", "named"), [("all_reduce", Collective.ALL_REDUCE), ("alltoall", None)])
def test_operation_and_ranks_follow_from_the_numbers_where_they_leave_one_choice(
    collective: str, named: Collective | None
) -> None:
    """A table without any preamble: 1.875 is all-reduce over 16 and nothing else; 15/16 may be five operations."""
    lines = logs.modern(Sample(collective=collective))
    bare = [line for line in lines if line[:1] == " " or "size" in line or "bound" in line or "Avg" in line]

    report = read([*bare, ""])

    assert report.collective is named
    assert report.ranks == (16 if named else None)
    assert report.nodes is None
    assert report.complete


def test_unknown_program_is_read_unchecked_and_said() -> None:
    """A program netkit does not know has rows, no operation, and a remark."""
    report = read([line.replace("all_reduce_perf", "alltoallv_perf") for line in logs.modern(Sample())])

    assert report.collective is None
    assert len(report.rows) == 12
    assert report.complete
    assert "alltoallv_perf" in report.problems[0]


@pytest.mark.fault("I06")
@pytest.mark.parametrize(
    "header",
    [
        f"{LEADING}     time   algbw   busbw #wrong     time   algbw   busbw #wrong  joules",
        "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res",
        f"{LEADING}     time   algbw   busbw #wrong",
        f"{LEADING}    algbw    time   busbw #wrong     time   algbw   busbw #wrong",
    ],
)
def test_unknown_header_is_named(header: str) -> None:
    """A column set netkit does not know is an error that quotes it and lists the known ones."""
    lines = [header if " size " in line else line for line in logs.modern(Sample()) if "out-of-place" not in line]

    with pytest.raises(InputError) as caught:
        read(lines)

    assert " ".join(header.split()[:6]) in str(caught.value)
    assert "algbw" in caught.value.accepted


def test_placement_follows_the_line_above_the_header() -> None:
    """A table with one half, or with the halves the other way round, says so above its header."""
    lines = [line.replace("out-of-place     ", "in-place         ") for line in logs.modern(Sample())]
    swapped = [re.sub(r"in-place +in-place", "in-place                   out-of-place", line) for line in lines]

    report = read(swapped)

    assert [row.placement for row in report.rows[:2]] == [Placement.IN_PLACE, Placement.OUT_OF_PLACE]


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "size count\n1 2 3\n", "{}", "[1]", '{"results": 5}', "# \n"])
def test_other_text_is_refused_in_one_line(text: str) -> None:
    """What is no log of this benchmark is bad input, not an empty result."""
    with pytest.raises(InputError, match="nccl-tests"):
        parse_text(text)


def test_hidden_characters_of_host_names_become_visible() -> None:
    """Text from a log cannot steer a terminal."""
    report = read([line.replace("node-01", "node\u202e01") for line in logs.modern(Sample())])

    assert "node\\u202e01" in report.hosts


@pytest.mark.parametrize(
    ("name", "collective", "ranks", "busbw", "complete"),
    [
        ("aws_p4de_2node_16gpu_allreduce.txt", Collective.ALL_REDUCE, 16, 78.33e9, False),
        ("aws_p5_2node_16gpu_allreduce.txt", Collective.ALL_REDUCE, 16, 487.09e9, False),
        ("superbench_nccl_allreduce.log", Collective.ALL_REDUCE, 8, 235.26e9, True),
        ("superbench_nccl_alltoall.log", None, 8, 224.31e9, True),
    ],
)
def test_recorded_logs_read_as_published(
    name: str, collective: Collective | None, ranks: int, busbw: float, complete: bool
) -> None:
    """Logs of real machines: out-of-place busbw of the largest size, and whether the log has its end."""
    folder = os.environ.get("NETKIT_EXTRA_DATA")
    if not folder:
        pytest.skip("NETKIT_EXTRA_DATA names no folder of recordings")

    (report,) = parse_text((Path(folder) / "nccl-tests" / name).read_text())

    assert (report.collective, report.ranks, report.complete) == (collective, ranks, complete)
    assert report.rows[-2].busbw_bytes_per_second == busbw
