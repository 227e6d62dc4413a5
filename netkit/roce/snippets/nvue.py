"""Cumulus Linux by NVUE commands: NVIDIA Cumulus Linux user guide, "Quality of Service"."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.qos import PRIORITIES
from netkit.roce.sizes import DETECTION_MS, MARK_PERCENT, Sizes
from netkit.roce.snippet import Dialect

_POLLS = 2


def emit(intent: FabricIntent, sizes: Sizes) -> str:
    """Return the commands; `nv config apply` is left to whoever has read `nv config diff`."""
    return "".join(f"nv set {line}\n" for line in _lines(intent, sizes))


def _lines(intent: FabricIntent, sizes: Sizes) -> Iterator[str]:
    lossless = ",".join(map(str, intent.lossless_priorities))
    ports = ",".join(intent.switch_ports)
    yield "qos mapping default-global trust l3"
    for dscp, priority in intent.stated.items():
        yield f"qos mapping default-global dscp {dscp} switch-priority {priority}"
    for priority in PRIORITIES:
        yield f"qos egress-queue-mapping default-global switch-priority {priority} traffic-class {priority}"
    yield f"qos pfc default-global switch-priority {lossless}"
    yield "qos pfc default-global tx enable"
    yield "qos pfc default-global rx enable"
    yield f"qos pfc default-global cable-length {intent.cable_metres}"
    ecn = f"qos congestion-control default-global traffic-class {lossless}"
    yield f"{ecn} ecn enable"
    yield f"{ecn} min-threshold {sizes.mark_from.bytes}"
    yield f"{ecn} max-threshold {sizes.mark_all_from.bytes}"
    yield f"{ecn} probability {MARK_PERCENT}"
    yield f"qos egress-scheduler default-global traffic-class {intent.cnp_priority} mode strict"
    yield f"interface {ports} qos pfc-watchdog state enable"
    yield f"qos pfc-watchdog polling-interval {DETECTION_MS // _POLLS}"
    yield f"qos pfc-watchdog robustness {_POLLS}"
    yield f"interface {ports} link mtu {intent.mtu_bytes}"


def _unstated(_intent: FabricIntent) -> tuple[str, ...]:
    return (
        "shares of the other classes: the scheduler's own stay as they are",
        "headroom in bytes: the switch works it out from the cable's length, as NVIDIA advises",
    )


DIALECT = Dialect(
    id="nvue",
    title="Cumulus Linux, NVUE commands",
    source='the Cumulus Linux user guide, "Quality of Service"',
    emit=emit,
    unstated=_unstated,
    readable=True,
    comment="#",
)
