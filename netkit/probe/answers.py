"""What the agents' results say: a reading, or why there is none. Pure.

A result is what `netkit/probe/agent.py` sends when a task ends. It comes from another host, so nothing in it is
taken for a number before it has been looked at.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from netkit.model.collective import Collective
from netkit.model.missing import Missing, Reason
from netkit.model.probe import GangReading, Reading
from netkit.model.text import visible
from netkit.probe.busbw import busbw

Result: TypeAlias = Mapping[str, Any]

# No idle processor, and the thread itself waiting for one: the reading is the scheduler's.
STARVED_IDLE_SHARE = 0.02
STARVED_QUEUE_SHARE = 0.2
BUSY_IDLE_SHARE = 0.05
# Data was always under way and the receiver always had room: the link set the rate, whoever waited for a processor.
FULL_LINK_SHARE = 0.97
FULL_RECEIVER_SHARE = 0.03

_REASONS = {
    "corrupt": Reason.MALFORMED,
    "malformed": Reason.MALFORMED,
    "timeout": Reason.TIMEOUT,
    "silent": Reason.TIMEOUT,
    "absent": Reason.ABSENT,
}
# One end's fault makes the other fail too: wrong data or a time-out says more than "the peer hung up".
_BY_WEIGHT = (*_REASONS, "ok")


def missing(result: Result | None, where: str) -> Missing:
    """Say why a result holds no number: the rank's own words, or that it did not answer before the deadline."""
    reason = _reason(result)
    if result is None:
        return Missing(reason=Reason.TIMEOUT, where=where, detail="no result before the round's deadline")
    if reason == "ok":
        return Missing(reason=Reason.MALFORMED, where=where, detail="its result is no rate")
    detail = visible(str(result.get("detail")), 200)
    return Missing(
        reason=_REASONS[reason], where=where, detail=f"corrupt data: {detail}" if reason == "corrupt" else detail
    )


def ceilings(result: Result | None, rails: int) -> list[float | None]:
    """Return what a node's processors alone moved on each rail, bytes per second; None where it does not say."""
    rates = result.get("rates") if result and result.get("ok") is True else None
    known = [positive(rate) for rate in rates] if isinstance(rates, list) else []
    return (known + [None] * rails)[:rails]


def pair_reading(reading: Reading, first: Result | None, second: Result | None) -> Reading:
    """Complete `reading` with what its two ends told: both directions, or what is missing and why."""
    where = f"{reading.nodes[0]} rail {reading.rail} -> {reading.nodes[1]}"
    worst = min((first, second), key=_weight)
    if first is None or second is None or _reason(worst) != "ok":
        return replace(reading, missing=missing(worst, where))
    forward, reverse = _direction(first, second), _direction(second, first)
    if forward is None or reverse is None:
        detail = "the two ends disagree on how much was moved, or told no rate"
        return replace(reading, missing=Missing(reason=Reason.MALFORMED, where=where, detail=detail))
    spread = max(_spread(first), _spread(second))
    return replace(reading, forward=forward, reverse=reverse, spread=spread)


def _direction(sender: Result, receiver: Result) -> float | None:
    sent, received = _stream(sender, "sent"), _stream(receiver, "received")
    if not isinstance(sent.get("bytes"), int) or sent["bytes"] != received.get("bytes"):
        return None
    return positive(received.get("rate"))


def _spread(result: Result) -> float:
    return positive(_stream(result, "received").get("spread")) or 0.0


def _stream(result: Result, side: str) -> Result:
    stream = result.get(side)
    return stream if isinstance(stream, dict) else {}


def gang_reading(rail: int, names: Sequence[str], results: Sequence[Result | None]) -> GangReading:
    """Return the all-reduce of one rail from the results of all ranks; one missing rank means no number."""
    reading = GangReading(rail=rail, ranks=len(names), bytes=0, busbw=None)
    worst = min(range(len(names)), key=lambda rank: _weight(results[rank]))
    times = [_times(result) for result in results]
    sizes = [result.get("bytes") for result in results if result]
    size = sizes[0] if sizes and sizes.count(sizes[0]) == len(sizes) else None
    if _reason(results[worst]) != "ok" or not all(times) or type(size) is not int or size <= 0:
        return replace(reading, missing=missing(results[worst], f"{names[worst]} rail {rail}, all-reduce"))
    # An iteration is over when its last rank is.
    slowest = [max(column) for column in zip(*times, strict=False)]
    rate = busbw(Collective.ALL_REDUCE, len(names), size, statistics.median(slowest))
    return replace(reading, bytes=size, busbw=rate)


def _times(result: Result | None) -> list[float]:
    seconds = result.get("seconds") if result else None
    known = [positive(value) for value in seconds] if isinstance(seconds, list) else []
    return [value for value in known if value is not None] if None not in known else []


def starved(*results: Result | None) -> bool:
    """Tell whether waiting for a processor held a stream up; unknown is not starved.

    An end that waits while no processor is idle leaves a gap only when the link runs empty or the receiver full.
    """
    sides = [[_stream(result, side) for result in results if result] for side in ("sent", "received")]
    if all(_filled_its_link(stream) for stream in sides[0]):
        return False
    return any(
        _share(stream, "idle_share", 1.0) < STARVED_IDLE_SHARE
        and _share(stream, "queue_share", 0.0) > STARVED_QUEUE_SHARE
        for streams in sides
        for stream in streams
    )


def _filled_its_link(sent: Result) -> bool:
    full = _share(sent, "busy_share", 0.0) >= FULL_LINK_SHARE
    return full and _share(sent, "receiver_share", 1.0) <= FULL_RECEIVER_SHARE


def busy(results: Sequence[Result | None]) -> bool:
    """Tell whether some rank's processors were all taken during a collective; unknown is not busy."""
    known = [result for result in results if result]
    return any(_share(result, "idle_share", 1.0) < BUSY_IDLE_SHARE for result in known)


def _share(stream: Result, name: str, unknown: float) -> float:
    value = stream.get(name)
    return float(value) if isinstance(value, int | float) else unknown


def positive(value: object) -> float | None:
    """Return a rate or a time, or None for anything else a rank may have sent."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None


def _weight(result: Result | None) -> int:
    return _BY_WEIGHT.index(_reason(result))


def _reason(result: Result | None) -> str:
    if result is None:
        return "silent"
    if result.get("ok") is True:
        return "ok"
    reason = result.get("reason")
    return reason if isinstance(reason, str) and reason in _REASONS else "malformed"
