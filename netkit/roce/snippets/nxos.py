"""Cisco Nexus 9000, NX-OS: Quality of Service Configuration Guide, "Priority Flow Control" and "Queuing and WRED"."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.sizes import DETECTION_MS, MARK_PERCENT, Sizes
from netkit.roce.snippet import Dialect

_NAME = "NETKIT-ROCE"
_LONG_CABLE_METRES = 100
"""Beyond, the guide makes the pause buffer's size mandatory."""
_LARGEST_MTU = 9216


def emit(intent: FabricIntent, sizes: Sizes) -> str:
    """Return the lines of a configuration session."""
    parts = (_classes(intent), _marking(intent), _network(intent), _queuing(intent, sizes), _ports(intent))
    return "".join(f"{line}\n" for part in parts for line in part)


def _carried(intent: FabricIntent) -> dict[int, tuple[int, ...]]:
    """Return the DSCPs of every priority but 0, which is what matches no class."""
    return {priority: dscps for priority, dscps in intent.by_priority.items() if priority}


def _classes(intent: FabricIntent) -> Iterator[str]:
    for priority, dscps in _carried(intent).items():
        yield f"class-map type qos match-any {_NAME}-{priority}"
        yield f"  match dscp {','.join(map(str, dscps))}"


def _marking(intent: FabricIntent) -> Iterator[str]:
    yield f"policy-map type qos {_NAME}-IN"
    for priority in _carried(intent):
        yield f"  class {_NAME}-{priority}"
        yield f"    set qos-group {priority}"


def _network(intent: FabricIntent) -> Iterator[str]:
    yield f"policy-map type network-qos {_NAME}-NET"
    for priority in (*range(7, 0, -1), 0):
        yield f"  class type network-qos c-8q-nq{priority or '-default'}"
        if priority in intent.lossless_priorities:
            yield f"    pause pfc-cos {priority}"
        yield f"    mtu {min(intent.mtu_bytes, _LARGEST_MTU)}"


def _queuing(intent: FabricIntent, sizes: Sizes) -> Iterator[str]:
    low, high = (size.bytes // 1000 for size in (sizes.mark_from, sizes.mark_all_from))
    share = 60 // len(intent.lossless_priorities)
    yield f"policy-map type queuing {_NAME}-OUT"
    for priority in (*range(7, 0, -1), 0):
        yield f"  class type queuing c-out-8q-q{priority or '-default'}"
        if priority == intent.cnp_priority:
            yield "    priority level 1"
        elif priority in intent.lossless_priorities:
            yield f"    bandwidth remaining percent {share}"
            yield (
                f"    random-detect minimum-threshold {low} kbytes maximum-threshold {high} kbytes "
                f"drop-probability {MARK_PERCENT} weight 0 ecn"
            )
        else:
            yield f"    bandwidth remaining percent {40 if priority == 0 else 0}"


def _ports(intent: FabricIntent) -> Iterator[str]:
    yield f"priority-flow-control watch-dog interval {DETECTION_MS}"
    yield "system qos"
    yield f"  service-policy type network-qos {_NAME}-NET"
    yield f"  service-policy type queuing output {_NAME}-OUT"
    for port in intent.switch_ports:
        yield f"interface {port}"
        yield f"  mtu {min(intent.mtu_bytes, _LARGEST_MTU)}"
        yield "  priority-flow-control mode on"
        yield "  priority-flow-control watch-dog-interval on"
        yield f"  service-policy type qos input {_NAME}-IN"


def _unstated(intent: FabricIntent) -> tuple[str, ...]:
    long = intent.cable_metres > _LONG_CABLE_METRES
    wide = intent.mtu_bytes > _LARGEST_MTU
    return (
        "headroom: the platform's own for cables up to 100 m"
        + ("; beyond, pause buffer-size is mandatory and its thresholds are the platform's" if long else ""),
        "shares of the queues: 60% for lossless ones and 40% for the rest are this tool's choice",
        *((f"MTU {intent.mtu_bytes}: 9216 is the largest the guide knows",) if wide else ()),
    )


DIALECT = Dialect(
    id="nxos",
    title="Cisco NX-OS, Nexus 9000",
    source="the Nexus 9000 Quality of Service Configuration Guide",
    emit=emit,
    unstated=_unstated,
)
