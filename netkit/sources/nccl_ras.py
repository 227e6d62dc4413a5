"""What NCCL's RAS subsystem says of a running job: `ncclras -f json`, or the port 28028 asked for JSON.

NVIDIA NCCL user guide, "Troubleshooting, RAS": communicators, ranks that are missing, asynchronous errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from netkit.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RasStatus:
    """One status over all communicators of a job."""

    communicators: int
    ranks: int
    missing_ranks: int
    unresponsive_ranks: int
    dead_ranks: int
    ranks_with_errors: int
    """Ranks with an asynchronous error or an abort."""
    timeouts: int


def parse_status(text: str) -> RasStatus:
    """Read a status; InputError for a text that is none."""
    try:
        document = json.loads(text)
    except ValueError as fault:
        raise InputError("text", "the JSON of NCCL RAS") from fault
    if not isinstance(document, dict) or not isinstance(document.get("communicators"), list):
        raise InputError("JSON without communicators", "the JSON of NCCL RAS")
    listed = [one for one in document["communicators"] if isinstance(one, dict)]
    present = [rank for one in listed for rank in _dicts(one.get("ranks"))]
    missing = [rank for one in listed for rank in _dicts(one.get("missing_ranks"))]
    ras = document.get("ras")
    return RasStatus(
        communicators=len(listed),
        ranks=len(present),
        missing_ranks=len(missing),
        unresponsive_ranks=sum(_flag(rank, "unresponsive") for rank in missing),
        dead_ranks=sum(_flag(rank, "considered_dead") for rank in missing),
        ranks_with_errors=sum(_flag(rank, "async_error") or _flag(rank, "abort_flag") for rank in present),
        timeouts=_count(ras.get("timeouts_count")) if isinstance(ras, dict) else 0,
    )


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def _flag(rank: dict[str, Any], name: str) -> bool:
    status = rank.get("status")
    return bool(status.get(name)) if isinstance(status, dict) else False


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
