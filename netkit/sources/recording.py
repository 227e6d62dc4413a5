"""A machine as a list of answers: remember every question a reader asks and give the same answers again.

The text form, `netkit.snapshot/1`, is JSON Lines: a header, one line per question (`op`, `path` and one answer), a
digest of all lines before it. Answers are `text`, `base64`, `names`, `link`, `exists` or `errno`. What was asked of the
kernel by netlink and of accelerators' drivers has lines of its own (`netlink/memory.py`, `drivers.py`). Recordings come
from strangers: nothing in one is ever used as a path on this machine, and every size is bounded before it is spent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.tree import READ_LIMIT, Tree, last_matching, unreadable


class Op(StrEnum):
    """The questions of `Tree`."""

    READ = "read"
    LIST = "list"
    LINK = "link"
    EXISTS = "exists"
    LINES = "lines"


@dataclass(frozen=True, slots=True)
class Errno:
    """A call that failed, by the errno's name."""

    name: str


Value = bytes | str | bool | tuple[str, ...] | Errno
Question = tuple[Op, str]
Answers = Mapping[Question, Value]
_T = TypeVar("_T", bytes, str, bool, tuple[str, ...])

NOT_RECORDED = "not in this recording"


def is_unrecorded(answer: object) -> bool:
    """Tell whether this is the answer of a recording that was never asked this."""
    return isinstance(answer, Missing) and answer.detail == NOT_RECORDED


class RecordingTree:
    """Ask another tree, and remember. A question asked twice gets the first answer, as it will in the replay."""

    def __init__(self, inner: Tree) -> None:
        self._inner = inner
        self._answers: dict[Question, Value] = {}
        self._replay = RecordedTree(self._answers)

    @property
    def answers(self) -> Answers:
        """Everything asked so far, in order."""
        return MappingProxyType(self._answers)

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        """Return a file's bytes; see `Tree.read`."""
        if (Op.READ, path) not in self._answers:
            self._remember(Op.READ, path, self._inner.read(path, limit))
        return self._replay.read(path, limit)

    def list(self, path: str) -> tuple[str, ...] | Missing:
        """Return the names in a folder."""
        if (Op.LIST, path) not in self._answers:
            self._remember(Op.LIST, path, self._inner.list(path))
        return self._replay.list(path)

    def link(self, path: str) -> str | Missing:
        """Return where a path really is."""
        if (Op.LINK, path) not in self._answers:
            self._remember(Op.LINK, path, self._inner.link(path))
        return self._replay.link(path)

    def exists(self, path: str) -> bool:
        """Tell whether something is at the path."""
        if (Op.EXISTS, path) not in self._answers:
            self._remember(Op.EXISTS, path, self._inner.exists(path))
        return self._replay.exists(path)

    def lines(self, path: str, keep: re.Pattern[bytes], most: int) -> bytes | Missing:
        """Return the last matching lines of a long file."""
        if (Op.LINES, path) not in self._answers:
            self._remember(Op.LINES, path, self._inner.lines(path, keep, most))
        return self._replay.lines(path, keep, most)

    def _remember(self, op: Op, path: str, answer: Value | Missing) -> None:
        if is_unrecorded(answer):
            return
        self._answers[op, path] = Errno(answer.detail) if isinstance(answer, Missing) else answer


class RecordedTree:
    """Give recorded answers; a question nobody asked then is Missing (unsupported), which is not absence."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        """Return a file's bytes; see `Tree.read`."""
        data = self._given(Op.READ, path, bytes)
        return data if isinstance(data, Missing) or len(data) <= limit else unreadable(path, "EFBIG")

    def list(self, path: str) -> tuple[str, ...] | Missing:
        """Return the names in a folder."""
        return self._given(Op.LIST, path, tuple)

    def link(self, path: str) -> str | Missing:
        """Return where a path really was."""
        return self._given(Op.LINK, path, str)

    def exists(self, path: str) -> bool:
        """Tell whether something was at the path."""
        return self._given(Op.EXISTS, path, bool) is True

    def lines(self, path: str, keep: re.Pattern[bytes], most: int) -> bytes | Missing:
        """Return the recorded lines that match."""
        data = self._given(Op.LINES, path, bytes)
        return data if isinstance(data, Missing) else last_matching(data, keep, most)

    def _given(self, op: Op, path: str, form: type[_T]) -> _T | Missing:
        answer = self._answers.get((op, path))
        if isinstance(answer, form):
            return answer
        if isinstance(answer, Errno):
            return unreadable(path, answer.name)
        return Missing(reason=Reason.UNSUPPORTED, where=visible(path), detail=NOT_RECORDED)
