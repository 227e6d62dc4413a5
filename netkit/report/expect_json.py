"""An expected busbw as JSON, schema `netkit.expect/1`: bytes per second."""

from __future__ import annotations

import json
import math
from typing import Any

from netkit.report.expect_table import Comparison
from netkit.topology.expect import Ceiling, Expectation

SCHEMA = "netkit.expect/1"


def render(expected: Expectation, against: Comparison | None = None, *, one_line: bool = False) -> str:
    """Return the expectation, and how a reading compares with it, as one JSON object ending in a newline."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "busbw_bytes_per_second": expected.busbw,
        "low": expected.low,
        "high": expected.high,
        "binding": expected.binding,
        "assumptions": list(expected.assumptions),
        "shape": expected.shape,
        "nodes": expected.nodes,
        "ranks": expected.ranks,
        "size_bytes": expected.size_bytes,
        "ceilings": [_ceiling(one) for one in expected.ceilings],
    }
    if against is not None:
        document["against"] = {
            "measured_bytes_per_second": against.measured,
            "size_bytes": against.size_bytes,
            "share": against.share,
            "verdict": against.verdict,
            "why": against.why,
        }
    return json.dumps(document, ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"


def _ceiling(one: Ceiling) -> dict[str, Any]:
    bound = one.bound if math.isfinite(one.bound) else None
    return {"name": one.name, "bound_bytes_per_second": bound, "reached_bytes_per_second": one.reached}
