"""hccl_test and CNCL's benchmark: columns by name, one row, data checked, or no number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing
from netkit.probe.backends import cncl, hccl_test
from netkit.probe.benchmark import Bench, RailGroup, Rates, Tuning
from netkit.probe.table_jobs import TableTests

SIZE = 268435456
# Synthetic, after the tables of their documentation and of public logs; neither tool was run.
HCCL = """the minbytes is 268435456, maxbytes is 268435456, iters is 20, warmup_iters is 5
data_size(Bytes):   | aveg_time(us): | alg_bandwidth(GB/s): | check_result:
268435456           | 11000.50       | 24.40208             | success
"""
CNCL = """[INFO] 2 ranks
count    in-avg-lat(us)    out-avg-lat(us)
67108864    11000.50    11001.00
All Result Check: PASSED
"""
KNOWN = {"hccl_test": (hccl_test.BENCHMARK, HCCL), "cncl": (cncl.BENCHMARK, CNCL)}


def bench() -> Bench:
    names = ("na", "nb")
    return Bench(
        names=names, hosts=names, hostnames=names, rails=2, tuning=Tuning(gpus=(3, 5), bytes=SIZE), seconds=0.8
    )


@pytest.mark.parametrize(("benchmark", "text"), KNOWN.values(), ids=KNOWN)
def test_a_whole_table_is_read(benchmark: TableTests, text: str) -> None:
    """The time of the size that was asked for, in seconds."""
    assert benchmark.parse_text(text, SIZE) == pytest.approx(11000.50e-6)


@pytest.mark.parametrize(("benchmark", "text"), KNOWN.values(), ids=KNOWN)
def test_a_table_cut_at_any_byte_gives_the_exact_time_or_none(benchmark: TableTests, text: str) -> None:
    """The last line counts once it has ended."""
    found = [benchmark.parse_text(text[:at], SIZE) for at in range(len(text))]
    assert {one for one in found if isinstance(one, float)} <= {benchmark.parse_text(text, SIZE)}
    assert isinstance(found[-1], str)


@pytest.mark.parametrize(
    ("benchmark", "text", "why"),
    [
        (hccl_test.BENCHMARK, HCCL.replace("success", "failed"), "corrupt data: its check says failed"),
        (hccl_test.BENCHMARK, HCCL.replace("success", "NULL"), "its check says NULL"),
        (hccl_test.BENCHMARK, HCCL + HCCL.splitlines(keepends=True)[-1], "2 rows"),
        (hccl_test.BENCHMARK, HCCL.replace("aveg_time", "zeit"), "does not name the columns"),
        (hccl_test.BENCHMARK, HCCL.replace("268435456  ", "134217728  "), "0 rows"),
        (hccl_test.BENCHMARK, HCCL.replace("11000.50", "0.00"), "time is zero"),
        (cncl.BENCHMARK, CNCL.replace("PASSED", "FAILED"), "does not end with"),
        (cncl.BENCHMARK, CNCL.replace("-avg-lat(us)", "-latency"), "does not name the columns"),
    ],
    ids=["wrong data", "unchecked", "two rows", "other columns", "another size", "no time", "failed", "renamed"],
)
def test_a_table_that_is_not_understood_is_no_number(benchmark: TableTests, text: str, why: str) -> None:
    """The reason is said; a column is never guessed by its place."""
    found = benchmark.parse_text(text, SIZE)
    assert isinstance(found, str)
    assert why in found


def test_each_pair_and_rail_is_a_run_on_its_own_accelerator() -> None:
    """Both ranks see the one that belongs to the rail."""
    groups = [RailGroup(ranks=(0, 1), rail=rail) for rail in (0, 1)]
    work = hccl_test.BENCHMARK.pairs(bench(), groups, "round 2")
    words = [order.command["words"] for order in work.waves[0]]
    assert [[word for word in line if "DEVS" in word] for line in words] == [
        ["HCCL_TEST_USE_DEVS=3"] * 2,
        ["HCCL_TEST_USE_DEVS=5"] * 2,
    ]
    assert all("-c" in line and str(SIZE) in line for line in words)


def test_busbw_follows_from_the_time() -> None:
    """Two ranks: what one sends is what it reduces."""
    group = RailGroup(ranks=(0, 1), rail=0)
    work = hccl_test.BENCHMARK.pairs(bench(), [group], "round 2")
    [order] = work.waves[0]
    [rates] = work.read({(0, order.task): {"ok": True, "status": 0, "output": HCCL}})
    assert isinstance(rates, Rates)
    assert rates.forward == pytest.approx(SIZE / 11000.50e-6)
    [lost] = work.read({})
    assert isinstance(lost, Missing)


@given(st.text(max_size=300))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    """What is no table is no time, and text around a table takes nothing from it but may make it doubtful."""
    for benchmark, whole in KNOWN.values():
        assert isinstance(benchmark.parse_text(text, SIZE), str)
        found = benchmark.parse_text(f"{text}\n{whole}", SIZE)
        assert isinstance(found, str) or found == benchmark.parse_text(whole, SIZE)
