"""Answers of a kernel written down, and a kernel made of what was written down.

One row per question: channel, command, dump and body say what was asked; the bodies of the answer are in base64, or as
lines of text where they are text; a refusal has reason and detail. A row is what a JSON line of a recording holds.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.netlink.kernel import Answer, Channel, Kernel, Question
from netkit.sources.recording import NOT_RECORDED, is_unrecorded

MOST_ANSWER_BYTES = 1 << 20
"""An answer larger than this is not kept: tens of thousands of queue pairs of one device."""
Row = Mapping[str, Any]
_Key = tuple[Channel, int, bool, bytes]
_ACCEPTED = "a row of a recorded netlink answer"
_MOST_TEXT = 4096
_FIELDS = frozenset({"channel", "command", "dump", "body", "where"})
_FORMS = (frozenset({"missing", "detail"}), frozenset({"answer", "partial"}), frozenset({"lines"}))


@dataclass(slots=True)
class RecordingKernel:
    """Passes questions on and remembers the answers; `rows` gives them as plain data."""

    kernel: Kernel
    _answers: dict[_Key, tuple[Question, Answer | Missing]] = field(default_factory=dict)

    def ask(self, question: Question) -> Answer | Missing:
        """Return the answer of the kernel behind; the first answer to a question is the one that is kept."""
        key = _key(question)
        if key not in self._answers:
            self._answers[key] = (question, _keepable(question, self.kernel.ask(question)))
        return self._answers[key][1]

    def rows(self) -> tuple[Row, ...]:
        """Return everything asked so far, in order, but for what an earlier recording did not hold."""
        return tuple(starmap(row_of, (pair for pair in self._answers.values() if not is_unrecorded(pair[1]))))


class RecordedKernel:
    """Answers from rows; a question that was not asked when they were written is Missing (unsupported).

    Raises:
        InputError: a row has another form.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._answers: dict[_Key, tuple[Question, Answer | Missing]] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> int:
        """Take one row in; return how many messages it holds. InputError for another form or a question again."""
        question, answer = parsed_row(row)
        if _key(question) in self._answers:
            raise InputError(f"{question.where} again", "one answer to each question")
        self._answers[_key(question)] = (question, answer)
        return 0 if isinstance(answer, Missing) else len(answer.bodies)

    def ask(self, question: Question) -> Answer | Missing:
        """Return the answer that was written down."""
        unasked = Missing(reason=Reason.UNSUPPORTED, where=question.where, detail=NOT_RECORDED)
        return self._answers.get(_key(question), (question, unasked))[1]

    def __len__(self) -> int:
        return len(self._answers)

    def rows(self) -> tuple[Row, ...]:
        """Return what it was made of."""
        return tuple(starmap(row_of, self._answers.values()))


def row_of(question: Question, answer: Answer | Missing) -> Row:
    """Write one question and its answer down."""
    asked = {
        "channel": str(question.channel),
        "command": int(question.command),
        "dump": question.dump,
        "body": _text(question.body),
        "where": question.where,
    }
    if isinstance(answer, Missing):
        return {**asked, "missing": str(answer.reason), "detail": answer.detail}
    if question.channel is Channel.DRIVER_STATISTICS:
        return {**asked, "lines": [body.decode("utf-8", "replace") for body in answer.bodies]}
    return {**asked, "answer": [_text(body) for body in answer.bodies], "partial": answer.partial}


def parsed_row(row: Row) -> tuple[Question, Answer | Missing]:
    """Take back what `row_of` wrote; InputError for anything else."""
    try:
        _check_form(row)
        asked = Question(
            channel=Channel(row["channel"]),
            command=int(row["command"]),
            body=_bytes(row["body"]),
            dump=bool(row["dump"]),
            where=_shown(row["where"]),
        )
        return asked, _answer(row, asked.where)
    except (KeyError, TypeError, ValueError) as fault:
        raise InputError(visible(repr(row), 120), _ACCEPTED) from fault


def _check_form(row: Row) -> None:
    if set(row) - _FIELDS not in _FORMS or type(row["command"]) is not int or type(row["dump"]) is not bool:
        raise ValueError("another form")


def _answer(row: Row, where: str) -> Answer | Missing:
    if "missing" in row:
        return Missing(reason=Reason(row["missing"]), where=where, detail=_shown(row["detail"]))
    listed = row["lines"] if "lines" in row else row["answer"]
    if not isinstance(listed, list):
        raise TypeError("no list")
    read = _line if "lines" in row else _bytes
    return Answer(bodies=tuple(map(read, listed)), partial=row.get("partial") is True)


def _keepable(question: Question, answer: Answer | Missing) -> Answer | Missing:
    if isinstance(answer, Missing) or sum(map(len, answer.bodies)) <= MOST_ANSWER_BYTES:
        return answer
    detail = f"more than the {MOST_ANSWER_BYTES} bytes a recording keeps of one answer"
    return Missing(reason=Reason.MALFORMED, where=question.where, detail=detail)


def _key(question: Question) -> _Key:
    return question.channel, question.command, question.dump, question.body


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _line(shown: object) -> bytes:
    return _shown(shown).encode()


def _shown(shown: object) -> str:
    if not isinstance(shown, str) or len(shown) > _MOST_TEXT:
        raise TypeError("not text")
    return visible(shown)


def _bytes(shown: object) -> bytes:
    if not isinstance(shown, str):
        raise TypeError("not text")
    try:
        return base64.b64decode(shown, validate=True)
    except binascii.Error as fault:
        raise ValueError("not base64") from fault
