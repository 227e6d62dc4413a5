"""perftest: who writes to whom, and what its table comes to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing
from netkit.probe.backends.perftest import BENCHMARK, parse_json, parse_text
from netkit.probe.benchmark import Bench, RailGroup, Rates, Tuning

RULE = "-" * 87
TABLE = f"""
************************************
* Waiting for client to connect... *
************************************
{RULE}
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_1
 Number of qps   : 1\t\tTransport type : IB
 Mtu             : 4096[B]
{RULE}
 local address: LID 0000 QPN 0x0011 PSN 0xd3a1b2 RKey 0x000300 VAddr 0x007f10
{RULE}
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    93210            0.00               390.96 \t\t   0.046606
{RULE}
"""
MEBIBYTES = TABLE.replace("Gb/sec", "MB/sec").replace("390.96", "46605.68")
GROUP = RailGroup(ranks=(2, 0), rail=1)
HELP = {(0, "options"): {"output": "      --out_json_file=<file>  Name of the report json file."}}


def bench(prepared: dict[tuple[int, str], Any] | None = None) -> Bench:
    names = ("ha", "hb", "hc")
    tuning = Tuning(devices=("mlx5_0", "mlx5_1"))
    return Bench(
        names=names, hosts=names, hostnames=names, rails=2, tuning=tuning, seconds=0.8, prepared=prepared or {}
    )


def test_the_table_of_either_unit_is_read() -> None:
    """Gb/sec are decimal bits, MB/sec binary bytes."""
    assert parse_text(TABLE) == pytest.approx(390.96e9 / 8)
    assert parse_text(MEBIBYTES) == pytest.approx(46605.68 * 2**20)


@pytest.mark.parametrize("text", [TABLE, MEBIBYTES], ids=["gigabits", "mebibytes"])
def test_a_table_cut_at_any_byte_gives_the_exact_rate_or_none(text: str) -> None:
    """Only the rule below the row makes it whole."""
    found = [parse_text(text[:at]) for at in range(len(text))]
    assert set(found) <= {None, parse_text(text)}
    assert found[len(text) - len(RULE)] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        TABLE.replace("BW average", "BW mean"),
        TABLE.replace("390.96", "nan"),
        TABLE.replace("390.96", "0.00"),
        TABLE.replace(
            " 1048576    93210", " 1048576    93210            0.00               1.00 \t\t   0.04\n 1048576    9"
        ),
    ],
    ids=["nothing", "another column", "not a number", "nothing moved", "two rows"],
)
def test_what_is_no_single_whole_row_is_no_rate(text: str) -> None:
    """Never the nearest number instead."""
    assert not parse_text(text)


def test_each_way_has_one_that_listens_and_one_that_writes() -> None:
    """The writer comes back until the other listens; rails have ports and devices of their own."""
    work = BENCHMARK.pairs(bench(HELP), [GROUP], "round 2")
    assert [[order.rank for order in wave] for wave in work.waves] == [[0, 2], [2, 0]]
    listener, writer = work.waves[0]
    assert listener.command["words"][:5] == ["ib_write_bw", "-d", "mlx5_1", "-p", "18516"]
    assert writer.command["words"][-1] == "ha"
    assert (listener.command["again_s"], writer.command["again_s"] > 0) == (0.0, True)
    assert (listener.command["keep"], writer.command["keep"]) == ("", "result.json")


def read(*answers: dict[str, Any]) -> Rates | Missing:
    """What the pair comes to when its two writers answer so."""
    work = BENCHMARK.pairs(bench(), [GROUP], "round 2")
    results = {(wave[1].rank, wave[1].task): answer for wave, answer in zip(work.waves, answers, strict=False)}
    return work.read(results)[0]


def said(text: str, file: str = "", **more: Any) -> dict[str, Any]:
    return {"ok": True, "status": 0, "output": text, "file": file} | more


def test_both_ways_are_kept_apart() -> None:
    """Forward is what the first rank wrote."""
    rates = read(said(TABLE), said(TABLE.replace("390.96", "195.48")))
    assert isinstance(rates, Rates)
    assert [rates.forward, rates.reverse] == pytest.approx([48.87e9, 24.435e9])


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ((said(TABLE),), "no result before"),
        ((said(TABLE), said("Couldn't connect to ha:18516\n", status=1)), "Couldn't connect to ha:18516"),
        ((said(TABLE), said(TABLE[:-20])), "not whole"),
        ((said(TABLE, '{"results": {"BW_average": 200.0}}'), said(TABLE)), "do not say the same"),
    ],
    ids=["one way only", "no connection", "cut", "table against file"],
)
def test_a_way_that_was_not_measured_leaves_no_reading(answers: tuple[dict[str, Any], ...], why: str) -> None:
    """One of two ways is no pair."""
    found = read(*answers)
    assert isinstance(found, Missing)
    assert why in str(found)


def test_the_file_is_read_where_it_is_json() -> None:
    """Old versions wrote keys without quotes; that is no JSON and says nothing."""
    assert parse_json('{"results": {"BW_average": 390.96}}') == 390.96
    assert parse_json("{results: {BW_average: 390.96,}}") is None
    rates = read(said(TABLE, '{"results": {"BW_average": 390.96}}'), said(TABLE, "{results: {"))
    assert isinstance(rates, Rates)


@given(st.text(alphabet=st.sampled_from(list("#0123456789.-[]/ \t\r\nbytesGMBWavg")), max_size=400))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    """What is no table is no rate, whatever it is."""
    assert parse_text(text) is None
    assert parse_text(TABLE + text) == parse_text(TABLE)
