"""What accelerators' drivers say through their libraries and tools: asked here, written down, and given again.

Two questions: the plain answer of NVML's child process (`nvml.py`), and the text a vendor's tool prints. Tools are
started with a list of words, never through a shell, and have a deadline; nothing in a recording is ever started.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.disposable import tool_text
from netkit.sources.nvml.values import Plain
from netkit.sources.recording import NOT_RECORDED, is_unrecorded

if TYPE_CHECKING:
    from netkit.sources.nvml.reader import NvmlReader

MOST_TEXT = 1 << 18
"""Characters of one tool's output that are kept."""
_TOOL_SECONDS = 20.0
_GRACE_SECONDS = 2.0
_MOST_DEPTH = 12
_MOST_WORDS = 12
_MOST_WORD = 200
_ACCEPTED = "a row of a recorded accelerator answer"
_MOST_ROWS = 1000
Row = Mapping[str, Any]
Words = tuple[str, ...]
Answer = Plain | str | Missing
NVML: Words = ("nvml",)
"""The question to NVML, among the words of tools."""


class Drivers(Protocol):
    """Whoever answers for the accelerators: this machine, or what was written down of one."""

    def nvml(self) -> Plain | Missing:
        """Return the answer of `NvmlReader.refresh`."""
        ...

    def tool(self, *words: str) -> str | Missing:
        """Return what a program printed; Missing (absent) where it is not installed."""
        ...


def _nvml_reader() -> NvmlReader:
    from netkit.sources.nvml.reader import NvmlReader

    return NvmlReader()


@dataclass(slots=True)
class LiveDrivers:
    """This machine's drivers, for one thread; to be closed or used in a `with`: a child holds the device files."""

    reader: NvmlReader = field(default_factory=_nvml_reader)

    def nvml(self) -> Plain | Missing:
        """Ask NVML's child once."""
        return self.reader.refresh()

    def tool(self, *words: str) -> str | Missing:
        """Run a tool that may hang."""
        return tool_text(words, _TOOL_SECONDS, _GRACE_SECONDS)

    def close(self) -> None:
        """End the child."""
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class RecordedDrivers:
    """Answers from rows; what was not asked when they were written is Missing (unsupported).

    Raises:
        InputError: a row has another form.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._answers: dict[Words, Answer] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take one row in; InputError for another form or a question again."""
        words = _words(row)
        if words in self._answers or len(self._answers) == _MOST_ROWS:
            raise InputError(f"{' '.join(words)} again", f"one answer to each of {_MOST_ROWS} questions at most")
        self._answers[words] = _plain_answer(row) if words == NVML else _text_answer(row, words)

    def nvml(self) -> Plain | Missing:
        """Return the answer that was written down."""
        found = self._answers.get(NVML, _unrecorded(NVML))
        assert not isinstance(found, str)
        return found

    def tool(self, *words: str) -> str | Missing:
        """Return the text that was written down."""
        found = self._answers.get(words, _unrecorded(words))
        assert not isinstance(found, dict)
        return found

    def __len__(self) -> int:
        return len(self._answers)

    def rows(self) -> tuple[Row, ...]:
        """Return what it was made of."""
        return tuple(_row(words, answer) for words, answer in self._answers.items())


class RecordingDrivers(RecordedDrivers):
    """Passes questions on and remembers the answers; `rows` gives them as plain data."""

    def __init__(self, drivers: Drivers) -> None:
        super().__init__()
        self._drivers = drivers

    def nvml(self) -> Plain | Missing:
        """Return the answer of the drivers behind, the first one whenever asked again."""
        if NVML not in self._answers:
            self._remember(NVML, self._drivers.nvml())
        return super().nvml()

    def tool(self, *words: str) -> str | Missing:
        """Return the answer of the drivers behind, the first one whenever asked again."""
        if words not in self._answers:
            self._remember(words, _keepable(words, self._drivers.tool(*words)))
        return super().tool(*words)

    def _remember(self, words: Words, answer: Answer) -> None:
        """Keep it, unless an earlier recording did not hold it."""
        if not is_unrecorded(answer):
            self._answers[words] = answer


def _row(words: Words, answer: Answer) -> Row:
    asked = {"op": "nvml"} if words == NVML else {"op": "tool", "words": list(words)}
    return {**asked, **_written(answer)}


def _unrecorded(words: Words) -> Missing:
    return Missing(reason=Reason.UNSUPPORTED, where=visible(words[0]), detail=NOT_RECORDED)


def _keepable(words: Words, text: str | Missing) -> str | Missing:
    if isinstance(text, Missing) or len(text) <= MOST_TEXT:
        return text
    detail = f"more than the {MOST_TEXT} characters a recording keeps"
    return Missing(reason=Reason.MALFORMED, where=words[0], detail=detail)


def _written(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Missing):
        return {"missing": str(answer.reason), "where": answer.where, "detail": answer.detail}
    return {"text": answer} if isinstance(answer, str) else {"answer": answer}


def _words(row: Row) -> Words:
    words = row.get("words") if row.get("op") == "tool" else list(NVML) if row.get("op") == "nvml" else None
    if not isinstance(words, list) or not 0 < len(words) <= _MOST_WORDS or not all(map(_is_word, words)):
        raise InputError(visible(repr(row), 120), _ACCEPTED)
    return tuple(words)


def _is_word(word: object) -> bool:
    return isinstance(word, str) and len(word) <= _MOST_WORD


def _text_answer(row: Row, words: Words) -> str | Missing:
    if set(row) == {"op", "words", "text"} and isinstance(row["text"], str) and len(row["text"]) <= MOST_TEXT:
        return row["text"]
    return _missing(row, {"op", "words"}, words[0])


def _plain_answer(row: Row) -> Plain | Missing:
    if set(row) == {"op", "answer"} and isinstance(row["answer"], dict):
        _refuse_what_is_not_plain(row["answer"], _MOST_DEPTH)
        return row["answer"]
    return _missing(row, {"op"}, "nvml")


def _missing(row: Row, asked: set[str], where: str) -> Missing:
    reason, shown, detail = row.get("missing"), row.get("where"), row.get("detail")
    known = set(row) == asked | {"missing", "where", "detail"} and isinstance(reason, str) and reason in tuple(Reason)
    if not known or not isinstance(shown, str) or not isinstance(detail, str):
        raise InputError(visible(repr(row), 120), f"{_ACCEPTED} of {where}")
    return Missing(reason=Reason(str(reason)), where=visible(shown, 200), detail=visible(detail, 400))


def _refuse_what_is_not_plain(value: object, depth: int) -> None:
    """Recordings come from strangers; what is too deep or no JSON value is refused before anything reads it."""
    if depth == 0 or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError("recorded NVML answer", f"JSON values at most {_MOST_DEPTH} deep")
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inside:
        _refuse_what_is_not_plain(one, depth - 1)
