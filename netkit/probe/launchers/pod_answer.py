"""The one framed result of a command in a pod: exact, or missing with the reason. Pure."""

from __future__ import annotations

from typing import Any

from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.probe.framing import FrameReader
from netkit.sources.kube.exec import Answer


def framed_answer(answer: Answer, nonce: str) -> dict[str, Any] | Missing:
    """Return what a command printed as its one frame; its exit code must be known and 0."""
    if answer.outcome.exit_code != 0:
        return _missing(answer, answer.outcome.how + _last_words(answer.stderr))
    reader = FrameReader(nonce)
    messages = list(reader.feed(answer.stdout))
    if len(messages) == 1:
        return messages[0]
    if messages:
        return _missing(answer, f"printed {len(messages)} results")
    damaged = f"; {reader.rejected} damaged or forged" if reader.rejected else ""
    return _missing(answer, f"printed no result{damaged}{_last_words(answer.stderr)}")


def _missing(answer: Answer, detail: str) -> Missing:
    pod = visible(f"{answer.command.namespace}/{answer.command.pod}", 400)
    return Missing(reason=Reason.MALFORMED, where=pod, detail=detail)


def _last_words(stderr: bytes) -> str:
    """What a command said last, shown as far as it is text; other bytes are escaped."""
    lines = stderr[-4096:].decode("utf-8", "backslashreplace").strip().splitlines()
    return f" (it said: {visible(lines[-1], 300)})" if lines else ""
