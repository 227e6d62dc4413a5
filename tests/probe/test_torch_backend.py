"""torch.distributed without torch: who is asked what, who meets where, and what the answers come to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing, Reason
from netkit.probe.backends.torch import BENCHMARK
from netkit.probe.benchmark import Bench, RailGroup, Rates, Tuning
from netkit.probe.torch_worker import BLOCK, MOST_BYTES, rate_of, sized, spread_of

NAMES = ("na", "nb", "nc")
GROUP = RailGroup(ranks=(2, 0), rail=1)
STARTED = {
    (rank, f"start rail {rail}"): {"ok": True, "library": "gloo", "port": 7000 + 10 * rank + rail}
    for rank in range(3)
    for rail in range(2)
}


def bench(**tuning: Any) -> Bench:
    return Bench(
        names=NAMES,
        hosts=NAMES,
        hostnames=NAMES,
        rails=2,
        tuning=Tuning(**tuning),
        seconds=0.8,
        addresses=tuple((f"10.0.0.{rank}", f"10.1.0.{rank}") for rank in range(3)),
        interfaces=(("eth2", "eth3"),) * 3,
        prepared=STARTED,
    )


def told(rate: float, **more: Any) -> dict[str, Any]:
    """What one end answers: it sent, and it received at this rate."""
    received = {"bytes": 4096, "rate": rate, "spread": 0.01}
    return {"ok": True, "sent": {"bytes": 4096}, "received": received, "networks": [], **more}


def measured(first: dict[str, Any] | None, second: dict[str, Any] | None, **tuning: Any) -> Rates | Missing:
    work = BENCHMARK.pairs(bench(**tuning), [GROUP], "round 2")
    [wave] = work.waves
    answers = {order.rank: answer for order, answer in zip(wave, (first, second), strict=True) if answer is not None}
    return work.read({(rank, wave[0].task): answer for rank, answer in answers.items()})[0]


def test_each_rail_has_a_worker_of_its_own_bound_to_it() -> None:
    """Interface for both libraries, device and GPU for NCCL; the source travels with the first question."""
    orders = BENCHMARK.prepare(bench(devices=("mlx5_0", "mlx5_1"), gpus=(4, 6)))
    assert len(orders) == 6
    environment = orders[1].command["env"]
    assert (orders[1].command["worker"], orders[1].source) == ("rail 1", "torch_worker.py")
    assert (environment["GLOO_SOCKET_IFNAME"], environment["NCCL_SOCKET_IFNAME"]) == ("eth3", "=eth3")
    assert (environment["NCCL_IB_HCA"], environment["CUDA_VISIBLE_DEVICES"]) == ("=mlx5_1", "6")


def test_the_ranks_of_a_pair_meet_at_the_store_of_its_first() -> None:
    """On the rail itself, at the port that its worker told."""
    [wave] = BENCHMARK.pairs(bench(), [GROUP], "round 2").waves
    assert [order.rank for order in wave] == [2, 0]
    questions = [order.command["question"] for order in wave]
    assert [question["store"] for question in questions] == [["10.1.0.2", 7021]] * 2
    assert [(question["rank"], question["ranks"]) for question in questions] == [(0, 2), (1, 2)]


def test_forward_is_what_the_first_rank_sent() -> None:
    """The receiver of each direction knows its rate."""
    rates = measured(told(5e9), told(12e9))
    assert isinstance(rates, Rates)
    assert (rates.forward, rates.reverse) == (12e9, 5e9)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ((told(5e9), None), Reason.TIMEOUT),
        ((told(5e9), {"ok": False, "reason": "absent", "detail": "Connection closed by peer"}), Reason.ABSENT),
        ((told(5e9), {"ok": False, "reason": "corrupt", "detail": "differs"}), Reason.MALFORMED),
        ((told(5e9), told(float("nan"))), Reason.MALFORMED),
        ((told(5e9), told(5e9, sent={"bytes": 1})), Reason.MALFORMED),
    ],
    ids=["silent", "gone", "wrong data", "no rate", "counts differ"],
)
def test_an_end_that_did_not_measure_leaves_no_reading(
    answers: tuple[dict[str, Any], dict[str, Any] | None], reason: Reason
) -> None:
    """One end is no pair."""
    found = measured(*answers)
    assert isinstance(found, Missing)
    assert found.reason is reason


@pytest.mark.fault("H15")
def test_nccl_over_sockets_is_no_reading_where_devices_were_named() -> None:
    """One end is enough; without devices, sockets are what was asked for."""
    fallen = told(1e9, networks=["Socket"])
    found = measured(told(1e9, networks=["IB"]), fallen, devices=("mlx5_0", "mlx5_1"))
    assert isinstance(found, Missing)
    assert "na rail 1" in str(found)
    assert "NCCL fell back to NET/Socket and did not use mlx5_1" in str(found)
    assert isinstance(measured(fallen, fallen), Rates)


def test_a_host_without_torch_is_named_with_what_helps() -> None:
    """The first that cannot import it."""
    failed = {"ok": False, "reason": "absent", "detail": "No module named 'torch'"}
    refusal = BENCHMARK.refusal(bench(), STARTED | {(1, "start rail 0"): failed})
    assert refusal is not None
    assert (refusal.cause, "--python" in refusal.remedy) == ("nb: No module named 'torch'", True)


def test_workers_with_different_libraries_do_not_measure_together() -> None:
    """Gloo on one host and NCCL on another would wait for each other."""
    mixed = STARTED | {(2, "start rail 1"): {"ok": True, "library": "nccl", "port": 1}}
    refusal = BENCHMARK.refusal(bench(), mixed)
    assert refusal is not None
    assert "gloo on na (start rail 0) and nccl on nc (start rail 1)" in refusal.cause
    late = {key: value for key, value in STARTED.items() if key[0] != 1}
    assert "nb did not import torch in time" in str(BENCHMARK.refusal(bench(), late))
    assert BENCHMARK.refusal(bench(), STARTED) is None


@given(st.floats(1e3, 1e12), st.integers(6, 60))
def test_the_rate_of_even_messages_is_their_rate(rate: float, count: int) -> None:
    """Whatever the size; one stall in the middle does not move it by much."""
    size = 1 << 20
    even = [number * size / rate for number in range(count)]
    assert rate_of(even, size) == pytest.approx(rate, rel=1e-6)
    assert spread_of(even, size)["spread"] == pytest.approx(0, abs=1e-6)


@given(st.floats(1.0, 1e13), st.floats(0.1, 60))
def test_messages_are_whole_blocks_and_take_about_so_long(rate: float, seconds: float) -> None:
    """Never empty, never larger than memory allows, never fewer than a rate needs."""
    size, count = sized(rate, seconds)
    assert BLOCK <= size <= MOST_BYTES
    assert size % BLOCK == 0
    assert count >= 6
    assert count == 6 or size * count <= rate * seconds
