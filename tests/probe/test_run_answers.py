"""Results of agents become readings; whatever is missing, wrong or contradictory becomes a reason, never a number."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Reason
from netkit.model.probe import Distance, Reading
from netkit.probe import answers

BARE = Reading(round=2, rail=1, nodes=("n3", "n5"), distance=Distance.NEAR)
NAMES = ("n0", "n1", "n2")


def end(sent: int = 1000, received: int = 2000, rate: object = 5.0, **more: Any) -> dict[str, Any]:
    streams = {"sent": {"bytes": sent}, "received": {"bytes": received, "rate": rate, "spread": 0.01}}
    return {"ok": True, **streams, **more}


def failed(reason: str, detail: str = "why") -> dict[str, Any]:
    return {"ok": False, "reason": reason, "detail": detail}


FIRST, SECOND = end(1000, 2000, 7.0), end(2000, 1000, 5.0)


def test_two_ends_that_agree_make_a_reading() -> None:
    """Forward is what the second end received from the first."""
    reading = answers.pair_reading(BARE, FIRST, SECOND)
    assert (reading.forward, reading.reverse, reading.spread, reading.missing) == (5.0, 7.0, 0.01, None)


WITHOUT_NUMBER = {
    "both silent": (None, None, Reason.TIMEOUT),
    "one silent": (FIRST, None, Reason.TIMEOUT),
    "timeout beats the hang-up it causes": (failed("absent"), failed("timeout"), Reason.TIMEOUT),
    "corrupt beats everything": (failed("timeout"), failed("corrupt"), Reason.MALFORMED),
    "refused": (failed("absent"), failed("absent"), Reason.ABSENT),
    "unknown reason": (failed("because"), SECOND, Reason.MALFORMED),
    "byte counts disagree": (end(1000, 2000), end(2000, 999), Reason.MALFORMED),
    "no byte count": (FIRST, {"ok": True}, Reason.MALFORMED),
    "rate not a number": (FIRST, end(2000, 1000, "5"), Reason.MALFORMED),
    "rate infinite": (FIRST, end(2000, 1000, float("inf")), Reason.MALFORMED),
    "rate nan": (FIRST, end(2000, 1000, float("nan")), Reason.MALFORMED),
    "rate zero": (FIRST, end(2000, 1000, 0), Reason.MALFORMED),
    "rate true": (FIRST, end(2000, 1000, True), Reason.MALFORMED),
    "ok is a word": (FIRST, end(2000, 1000) | {"ok": "yes"}, Reason.MALFORMED),
}


@pytest.mark.fault("H06")
@pytest.mark.parametrize(("first", "second", "reason"), WITHOUT_NUMBER.values(), ids=WITHOUT_NUMBER.keys())
def test_a_result_that_is_not_whole_gives_a_reason(first: Any, second: Any, reason: Reason) -> None:
    """The reading keeps its place, without a rate, and says why."""
    reading = answers.pair_reading(BARE, first, second)
    assert reading.rate is None
    assert reading.missing is not None
    assert (reading.missing.reason, reading.missing.where) == (reason, "n3 rail 1 -> n5")


def test_corrupt_data_is_called_so() -> None:
    """Wrong bytes are never a rate, and the word is in the report."""
    reading = answers.pair_reading(BARE, FIRST, failed("corrupt", "block 7 differs"))
    assert reading.missing is not None
    assert reading.missing.detail == "corrupt data: block 7 differs"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["ok", "reason", "detail", "sent", "received", "bytes", "rate", "seconds", "rates"]), inner
        )
    ),
    max_leaves=12,
)
RESULTS = st.none() | st.dictionaries(
    st.sampled_from(["ok", "reason", "sent", "received", "bytes", "seconds", "rates"]), ANYTHING
)


@given(RESULTS, RESULTS)
def test_any_result_is_judged_without_a_crash(first: Any, second: Any) -> None:
    """A rank may send anything at all; the answer is a positive rate or a reason."""
    reading = answers.pair_reading(BARE, first, second)
    assert (reading.rate is None) == (reading.missing is not None)
    gang = answers.gang_reading(0, NAMES[:2], [first, second])
    assert (gang.busbw is None) == (gang.missing is not None)
    assert len(answers.ceilings(first, 3)) == 3
    answers.starved(first, second)
    answers.busy([first, second])


def rank(*seconds: float, size: int = 3000) -> dict[str, Any]:
    return {"ok": True, "seconds": list(seconds), "bytes": size}


def test_an_all_reduce_takes_as_long_as_its_last_rank() -> None:
    """Size over time, times 2(n-1)/n; an iteration lasts as long as its slowest rank, the middle iteration counts."""
    results = [rank(1.0, 2.0, 9.0), rank(1.5, 1.0, 1.0), rank(1.0, 3.0, 1.0)]
    reading = answers.gang_reading(0, NAMES, results)
    assert reading.busbw == pytest.approx(3000 / 3.0 * 4 / 3)
    assert (reading.bytes, reading.missing) == (3000, None)


@pytest.mark.fault("H06")
@pytest.mark.parametrize(
    ("third", "where"),
    [
        (None, "n2 rail 0, all-reduce"),
        (failed("timeout"), "n2 rail 0, all-reduce"),
        (rank(), "n0 rail 0, all-reduce"),
        (rank(1.0, size=3001), "n0 rail 0, all-reduce"),
        (rank(1.0, 0.0), "n0 rail 0, all-reduce"),
    ],
)
def test_an_all_reduce_without_one_rank_is_no_number(third: Any, where: str) -> None:
    """Fewer ranks are never averaged silently."""
    reading = answers.gang_reading(0, NAMES, [rank(1.0, 1.0), rank(1.0, 1.0), third])
    assert reading.busbw is None
    assert reading.missing is not None
    assert reading.missing.where == where


LOADS = {
    "idle machine": ({"idle_share": 0.6, "queue_share": 0.5}, False),
    "busy machine, thread served": ({"idle_share": 0.0, "queue_share": 0.01}, False),
    "starved": ({"idle_share": 0.0, "queue_share": 0.5}, True),
    "unknown": ({"idle_share": None, "queue_share": None}, False),
    "half known": ({"idle_share": 0.0}, False),
}


@pytest.mark.parametrize(("load", "starved"), LOADS.values(), ids=LOADS.keys())
def test_starving_takes_a_busy_machine_and_a_waiting_thread(load: dict[str, Any], starved: bool) -> None:
    """A shaped link leaves threads waiting for data, which is not the same as waiting for a processor."""
    assert answers.starved(FIRST, end() | {"sent": load}) is starved


FLOWS = {
    "link always busy": ({"busy_share": 0.99, "receiver_share": 0.0}, False),
    "link ran empty": ({"busy_share": 0.9, "receiver_share": 0.0}, True),
    "receiver was full": ({"busy_share": 0.99, "receiver_share": 0.2}, True),
    "an old kernel does not say": ({"busy_share": None, "receiver_share": None}, True),
}


@pytest.mark.parametrize(("flow", "starved"), FLOWS.values(), ids=FLOWS.keys())
def test_a_waiting_thread_that_kept_its_link_full_was_not_starved(flow: dict[str, Any], starved: bool) -> None:
    """What waits in the kernel's buffers outlasts a wait for a processor; only both directions' links full excuse."""
    waiting = {"idle_share": 0.0, "queue_share": 0.5}
    first = FIRST | {"sent": {"busy_share": 1.0, "receiver_share": 0.0}}
    assert answers.starved(first, end() | {"sent": waiting | flow}) is starved
    assert answers.starved(FIRST, end() | {"sent": waiting | flow}) is True
