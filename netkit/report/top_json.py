"""What a node's NICs do right now as JSON, schema `netkit.top/1`: bytes and events per second, unknown as null."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from netkit.doctor.live import PortRates

SCHEMA = "netkit.top/1"


def render(ports: Sequence[PortRates], taken_at: float, seconds: float, *, one_line: bool = False) -> str:
    """Return one view as one JSON object, ending in a newline."""
    value = {"schema": SCHEMA, "taken_at": taken_at, "seconds": seconds, "ports": [_port(one) for one in ports]}
    return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"


def _port(one: PortRates) -> dict[str, Any]:
    return {
        "name": one.name,
        "interface": one.interface,
        "active": one.active,
        "line_rate_bytes_per_second": one.line_rate,
        "received_bytes_per_second": one.received,
        "sent_bytes_per_second": one.sent,
        "pauses": [
            {"priority": pause.priority, "direction": "received" if pause.received else "sent", "share": pause.share}
            for pause in one.pauses
        ],
        "ecn_marked_per_second": one.marked,
        "cnp_sent_per_second": one.notified,
        "cnp_handled_per_second": one.slowed,
        "retransmits_per_second": one.retries,
        "drops_per_second": one.drops,
        "errors_per_second": one.errors,
        "gpus": list(one.gpus),
        "gpu_busy": one.busy,
        "flags": list(one.flags),
    }
