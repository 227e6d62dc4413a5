"""Why a connection did not open, or ended: refusals, goodbyes and faults in one phrase each."""

from __future__ import annotations

import json

from netkit.model.text import visible
from netkit.sources.kube.websocket import Head

_LARGEST_REFUSAL_BYTES = 64 * 1024


def body_bytes(head: Head) -> int:
    """Return how many bytes of the body of a refusal are worth waiting for."""
    length = head.headers.get("content-length", "")
    known = length.isascii() and length.isdigit() and len(length) < 8
    return min(int(length), _LARGEST_REFUSAL_BYTES) if known else _LARGEST_REFUSAL_BYTES


def refusal(head: Head) -> str:
    """Say what a server that did not switch protocols said instead: a Status object, as a rule."""
    body = head.rest.decode("utf-8", "replace")
    try:
        said = str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        said = body
    shown = visible(" ".join(said.split()), 300)
    return f"refused with {head.status}" + (f": {shown}" if shown else "")


def goodbye(payload: bytes) -> str:
    """Say what the last message of a WebSocket told: RFC 6455, section 7.4."""
    code, reason = int.from_bytes(payload[:2], "big"), payload[2:].decode("utf-8", "replace")
    said = f" ({visible(reason, 200)})" if reason else ""
    return f"closed by the server, code {code}{said}" if payload else "closed by the server"


def phrase(fault: Exception) -> str:
    """Say a fault of a connection in a few words fit to be shown."""
    text = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    return visible(" ".join(str(text).split()), 300) or type(fault).__name__
