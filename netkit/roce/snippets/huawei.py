"""Huawei CloudEngine, VRP: AI Fabric guide EDOC1100155250, "Configuring PFC" and "Configuring Static ECN"."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.sizes import MARK_PERCENT, Sizes
from netkit.roce.snippet import Dialect

_BEHAVIOURS = ("be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7")
"""Per-hop behaviours of priority 0 to 7, as `ip-dscp-inbound` names them."""
_NAME = "netkit_roce"


def emit(intent: FabricIntent, sizes: Sizes) -> str:
    """Return the lines of a configuration; `commit` is left to whoever has read them."""
    return "".join(f"{line}\n" for line in (*_everywhere(intent, sizes), *_ports(intent)))


def _everywhere(intent: FabricIntent, sizes: Sizes) -> Iterator[str]:
    yield "dcb pfc"
    yield f" priority {' '.join(map(str, intent.lossless_priorities))}"
    yield f"diffserv domain {_NAME}"
    for dscp, priority in intent.stated.items():
        yield f" ip-dscp-inbound {dscp} phb {_BEHAVIOURS[priority]} green"
    low, high = (size.bytes // 1000 for size in (sizes.mark_from, sizes.mark_all_from))
    yield f"drop-profile {_NAME}"
    yield f" ecn buffer-size low-limit {low} high-limit {high} discard-percentage {MARK_PERCENT}"


def _ports(intent: FabricIntent) -> Iterator[str]:
    for port in intent.switch_ports:
        yield f"interface {port}"
        yield " trust dscp"
        yield f" trust upstream {_NAME}"
        yield " dcb pfc enable mode manual"
        for priority in intent.lossless_priorities:
            yield f" qos queue {priority} wred {_NAME}"
            yield f" qos queue {priority} ecn"
        yield f" qos pq {intent.cnp_priority}"


def _unstated(intent: FabricIntent) -> tuple[str, ...]:
    return (
        "the unit of ecn buffer-size: written in KB here; some models count bytes or cells",
        "whether this model needs `dcb pfc dscp-mapping enable slot N` and a headroom pool for PFC by DSCP",
        "headroom and thresholds of PFC: the model's defaults, in cells; compare them with the bytes computed",
        "timers of PFC deadlock detection (dcb pfc deadlock-detect): their unit differs by model",
        f"MTU {intent.mtu_bytes}: the jumbo setting of the model",
    )


DIALECT = Dialect(
    id="huawei",
    title="Huawei CloudEngine",
    source="Huawei EDOC1100155250",
    emit=emit,
    unstated=_unstated,
    comment="#",
)
