"""Answers of a kernel written down, and a kernel made of what was written down.

One row per question: channel, command, dump and body say what was asked; the bodies of the answer, or reason and
detail of the refusal, are in base64 and plain text. A row is what a JSON line holds.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.netlink.kernel import Answer, Channel, Kernel, Question

_Key = tuple[Channel, int, bool, bytes]
_ACCEPTED = "a row of a recorded netlink answer"


@dataclass(slots=True)
class RecordingKernel:
    """Passes questions on and remembers the answers; `rows` gives them as plain data."""

    kernel: Kernel
    _answers: dict[_Key, tuple[Question, Answer | Missing]] = field(default_factory=dict)

    def ask(self, question: Question) -> Answer | Missing:
        """Return the answer of the kernel behind; the first answer to a question is the one that is kept."""
        key = _key(question)
        if key not in self._answers:
            self._answers[key] = (question, self.kernel.ask(question))
        return self._answers[key][1]

    def rows(self) -> tuple[dict[str, Any], ...]:
        """Return everything asked so far, in order."""
        return tuple(_row(question, answer) for question, answer in self._answers.values())


class RecordedKernel:
    """Answers from rows; a question that was not asked when they were written is Missing (absent)."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._answers = dict(map(_parsed, rows))

    def ask(self, question: Question) -> Answer | Missing:
        """Return the answer that was written down."""
        unasked = Missing(reason=Reason.ABSENT, where=question.where, detail="not in the recording")
        return self._answers.get(_key(question), unasked)


def _key(question: Question) -> _Key:
    return question.channel, question.command, question.dump, question.body


def _row(question: Question, answer: Answer | Missing) -> dict[str, Any]:
    asked = {
        "channel": str(question.channel),
        "command": question.command,
        "dump": question.dump,
        "body": _text(question.body),
        "where": question.where,
    }
    if isinstance(answer, Missing):
        return {**asked, "missing": str(answer.reason), "detail": answer.detail}
    return {**asked, "answer": [_text(body) for body in answer.bodies], "partial": answer.partial}


def _parsed(row: Mapping[str, Any]) -> tuple[_Key, Answer | Missing]:
    try:
        key = (Channel(row["channel"]), int(row["command"]), bool(row["dump"]), _bytes(row["body"]))
        if "missing" in row:
            where, detail = visible(str(row["where"])), visible(str(row["detail"]))
            return key, Missing(reason=Reason(row["missing"]), where=where, detail=detail)
        return key, Answer(bodies=tuple(_bytes(body) for body in row["answer"]), partial=bool(row["partial"]))
    except (KeyError, TypeError, ValueError) as fault:
        raise InputError(visible(repr(row), 120), _ACCEPTED) from fault


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(shown: object) -> bytes:
    if not isinstance(shown, str):
        raise TypeError("not text")
    try:
        return base64.b64decode(shown, validate=True)
    except binascii.Error as fault:
        raise ValueError("not base64") from fault
