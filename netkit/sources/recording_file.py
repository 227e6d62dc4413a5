"""Recordings as files: written with a digest, read with nothing taken on trust.

Limits: 32 MiB, 100,000 lines of 2 MiB, 200,000 names of 255 characters or netlink messages, paths of 4,096, no
compression. A file that breaks one is refused in one line that names the file, the line and the rule, before anything
of it is used.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from netkit import __version__
from netkit.errors import InputError
from netkit.model.text import visible
from netkit.sources.drivers import RecordedDrivers
from netkit.sources.given_file import open_given
from netkit.sources.netlink.memory import RecordedKernel
from netkit.sources.node_sources import NodeSources
from netkit.sources.recording import Answers, Errno, Op, Question, RecordedTree, Value
from netkit.sources.tree import ERRNO_NAMES, ROOTS

SCHEMA = "netkit.snapshot"
VERSION = 1
MOST_BYTES = 32 << 20
MOST_LINES = 100_000
MOST_NAMES = 200_000
MOST_LINE_BYTES = 2 << 20
MOST_PATH_LENGTH = 4096
MOST_NAME_LENGTH = 255
_OPS = frozenset(str(op) for op in Op)
_KERNEL = "kernel"
_ROW_OPS = (_KERNEL, "nvml", "tool")
_CHUNK = 1 << 18
_GZIP = b"\x1f\x8b"
_CODES = frozenset(ERRNO_NAMES.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded machine; `taken_at` in seconds since 1970."""

    tree: RecordedTree
    answers: Answers
    kernel: RecordedKernel | None
    """None where nothing was asked by netlink: only files were read, or an older netkit recorded it."""
    drivers: RecordedDrivers | None
    taken_at: float
    redacted: bool

    @property
    def sources(self) -> NodeSources:
        """What to read the machine from."""
        return NodeSources(tree=self.tree, kernel=self.kernel, drivers=self.drivers)


Rows = Iterable[Mapping[str, Any]]


def dump(answers: Answers, *, taken_at: float, redacted: bool, kernel: Rows = (), drivers: Rows = ()) -> str:
    """Return the recording as text, ending in its digest; `kernel` and `drivers` as their recorders give them."""
    header = {"schema": f"{SCHEMA}/{VERSION}", "netkit": __version__, "taken_at": taken_at, "redacted": redacted}
    files = (_written(question, answer) for question, answer in answers.items())
    asked = ({"op": _KERNEL, **row} for row in kernel)
    lines = [_line(row) for row in (header, *files, *asked, *drivers)]
    body = "".join(lines)
    return body + _line({"lines": len(lines), "sha256": hashlib.sha256(body.encode()).hexdigest()})


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"


def _written(question: Question, answer: Value) -> dict[str, Any]:
    row: dict[str, Any] = {"op": str(question[0]), "path": question[1]}
    match answer:
        case bytes():
            return row | _bytes(answer)
        case Errno():
            return row | {"errno": answer.name}
        case tuple():
            return row | {"names": list(answer)}
        case bool():
            return row | {"exists": answer}
        case _:
            return row | {"link": answer}


def _bytes(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def load(path: Path) -> Recording:
    """Read a recording; InputError says in one line why a file is not one."""
    with open_given(path, "recording", "netkit snapshot", MOST_BYTES) as file:
        return _Reader(visible(str(path)), file).recording()


class _Reader:
    """One pass over a file, line by line, with the digest taken along."""

    def __init__(self, name: str, file: BufferedReader) -> None:
        self._name = name
        self._file = file
        self._number = 0
        self._names = 0
        self._kernel = RecordedKernel()
        self._drivers = RecordedDrivers()
        self._digest = hashlib.sha256()

    def recording(self) -> Recording:
        self._check_length()
        taken_at, redacted = self._header()
        answers: dict[Question, Value] = {}
        for row in self._rows():
            if row.get("op") in _ROW_OPS:
                self._take_in(row)
                continue
            question, answer = self._answer(row)
            if question in answers:
                self._refuse(f"{question[0]} of {visible(question[1], 200)} again", "one answer to each question")
            answers[question] = answer
        return Recording(
            tree=RecordedTree(answers),
            answers=answers,
            kernel=self._kernel if len(self._kernel) else None,
            drivers=self._drivers if len(self._drivers) else None,
            taken_at=taken_at,
            redacted=redacted,
        )

    def _take_in(self, row: dict[str, Any]) -> None:
        """Take in an answer of the kernel or of a driver; their rows know their own form."""
        try:
            if row["op"] == _KERNEL:
                self._count(self._kernel.add({name: value for name, value in row.items() if name != "op"}))
            else:
                self._drivers.add(row)
        except InputError as fault:
            self._refuse(fault.given, fault.accepted)

    def _check_length(self) -> None:
        """Count before parsing: a crowd of lines costs no more than a look at its bytes."""
        self._number = sum(chunk.count(b"\n") for chunk in iter(lambda: self._file.read(_CHUNK), b""))
        if self._number > MOST_LINES:
            self._refuse("too long", f"at most {MOST_LINES} lines")
        self._file.seek(0)

    def _header(self) -> tuple[float, bool]:
        line = self._file.readline(MOST_LINE_BYTES + 1)
        self._number = 1
        if line.startswith(_GZIP):
            self._refuse("compressed data", "a recording as `netkit snapshot` writes it, not compressed")
        row = self._parsed(line)
        self._digest.update(line)
        schema, _, version = str(row.get("schema")).partition("/")
        if schema != SCHEMA or not (version.isascii() and version.isdecimal() and len(version) < 9):
            self._refuse("no recording", f"a first line with schema {SCHEMA}/{VERSION}")
        if int(version) != VERSION:
            self._refuse(f"format {int(version)}", f"{SCHEMA}/{VERSION}; read it with the netkit that wrote it")
        taken_at, redacted = _time(row.get("taken_at")), row.get("redacted")
        if taken_at is None or not isinstance(redacted, bool):
            self._refuse("header", "taken_at in seconds and redacted as true or false")
        return taken_at, redacted

    def _rows(self) -> Iterator[dict[str, Any]]:
        while line := self._file.readline(MOST_LINE_BYTES + 1):
            self._number += 1
            row = self._parsed(line)
            if "sha256" in row:
                self._check_end(row)
                return
            self._digest.update(line)
            yield row
        self._refuse("end of file", "a digest in the last line: this recording is cut short")

    def _check_end(self, row: dict[str, Any]) -> None:
        if row != {"lines": self._number - 1, "sha256": self._digest.hexdigest()}:
            self._refuse("digest", "the digest of the lines before it: this recording was edited or damaged")
        if self._file.read(1):
            self._refuse("data after the digest", "nothing after the last line")

    def _parsed(self, line: bytes) -> dict[str, Any]:
        if len(line) > MOST_LINE_BYTES:
            self._refuse("length", f"at most {MOST_LINE_BYTES} bytes a line")
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        return row if isinstance(row, dict) else self._refuse("no JSON object", "one JSON object a line")

    def _answer(self, row: dict[str, Any]) -> tuple[Question, Value]:
        op, path = row.pop("op", None), row.pop("path", None)
        if not isinstance(op, str) or op not in _OPS:
            self._refuse(f"op {_shown(op)}", ", ".join((*Op, *_ROW_OPS)))
        if not is_path(path):
            self._refuse(f"path {_shown(path)}", f"a path below {', '.join(ROOTS)} without empty, . or .. parts")
        form, value = next(iter(row.items()), ("", None))
        parse = _FORMS[Op(op)].get(form)
        answer = parse(value) if parse and len(row) == 1 else None
        if answer is None:
            self._refuse(f"answer {_shown(row)} to {op}", f"one of {', '.join(_FORMS[Op(op)])}, well formed")
        self._count(len(answer) if isinstance(answer, tuple) else 0)
        return (Op(op), path), answer

    def _count(self, names: int) -> None:
        """Names and messages are small to store and large to hold."""
        self._names += names
        if self._names > MOST_NAMES:
            self._refuse("more names", f"at most {MOST_NAMES} names and messages in a recording")

    def _refuse(self, given: str, accepted: str) -> NoReturn:
        raise InputError(f"recording {self._name} line {self._number}: {given}", accepted)


def is_path(path: Any) -> bool:
    """Tell whether something is a path a reader could have asked for."""
    if not isinstance(path, str) or not 0 < len(path) <= MOST_PATH_LENGTH:
        return False
    root, *rest = path.split("/")
    return root in ROOTS and all(is_name(part) for part in rest)


def is_name(name: Any) -> bool:
    """Tell whether something is a name in a folder."""
    return isinstance(name, str) and 0 < len(name) <= MOST_NAME_LENGTH and name not in {".", ".."} and _is_plain(name)


def _is_plain(name: str) -> bool:
    return "/" not in name and "\0" not in name


def _time(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**40
    return float(value) if known else None


def _text(value: Any) -> bytes | None:
    try:
        return value.encode() if isinstance(value, str) else None
    except UnicodeEncodeError:
        return None


def _base64(value: Any) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        return None


def _names(value: Any) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list) and all(is_name(name) for name in value) else None


def _link(value: Any) -> str | None:
    return value if is_path(value) else None


def _exists(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _errno(value: Any) -> Errno | None:
    return Errno(value) if isinstance(value, str) and value in _CODES else None


def _shown(value: Any) -> str:
    return visible(repr(value), 120)


_Parse = Callable[[Any], Value | None]
_FORMS: MappingProxyType[Op, dict[str, _Parse]] = MappingProxyType(
    {
        Op.READ: {"text": _text, "base64": _base64, "errno": _errno},
        Op.LINES: {"text": _text, "base64": _base64, "errno": _errno},
        Op.LIST: {"names": _names, "errno": _errno},
        Op.LINK: {"link": _link, "errno": _errno},
        Op.EXISTS: {"exists": _exists},
    }
)
