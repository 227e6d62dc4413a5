"""What benchmark logs say as JSON, schema `netkit.read/1`: bytes, seconds, bytes per second; unknown is null.

The form follows RFC 8259, ASCII only. One log with one run is one flat object; several are `{"schema", "reports"}`,
or one object a line. The benchmark's environment and its average over all sizes are never part of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from netkit.model.collective import CollectiveReport, CollectiveRow

SCHEMA = "netkit.read/1"


def render(reports: Sequence[tuple[str, CollectiveReport]]) -> str:
    """Return one JSON document for all (file, report) pairs, ending in a newline."""
    documents = [document(file, report) for file, report in reports]
    whole = documents[0] if len(documents) == 1 else {"schema": SCHEMA, "reports": documents}
    return json.dumps(whole, ensure_ascii=True, allow_nan=False, indent=1) + "\n"


def render_lines(reports: Sequence[tuple[str, CollectiveReport]]) -> str:
    """Return one JSON object a line."""
    documents = (document(file, report) for file, report in reports)
    return "".join(json.dumps(one, ensure_ascii=True, allow_nan=False) + "\n" for one in documents)


def document(file: str, report: CollectiveReport) -> dict[str, Any]:
    """Return one report as plain dicts and lists, keys in the order a reader wants them."""
    return {
        "schema": SCHEMA,
        "file": file,
        "collective": report.collective.value if report.collective else None,
        "ranks": report.ranks,
        "nodes": report.nodes,
        "rows": [_row(row) for row in report.rows],
        "corrupt": report.corrupt,
        "complete": report.complete,
        "problems": list(report.problems),
        "hosts": list(report.hosts),
        "tool_version": report.tool_version,
        "nccl_version": report.nccl_version,
        "transport": report.transport,
    }


def _row(row: CollectiveRow) -> dict[str, Any]:
    return {
        "bytes": row.bytes,
        "placement": row.placement.value,
        "time_seconds": row.time_seconds,
        "algbw_bytes_per_second": row.algbw_bytes_per_second,
        "busbw_bytes_per_second": row.busbw_bytes_per_second,
        "wrong": row.wrong,
    }
