"""Where results go: the output forms every command shares, standard output, and files written whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from netkit.errors import OutputError


class OutputForm(StrEnum):
    """The forms one report object can take."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"
    JSONL = "jsonl"
    HTML = "html"
    PROMETHEUS = "prometheus"


OutputOption = Annotated[
    OutputForm | None,
    typer.Option(
        "--output", help="Form of the result; default: table on a terminal, plain in a pipe.", show_default=False
    ),
]


def chosen_form(asked: OutputForm | None) -> OutputForm:
    """Return the asked form, or table on a terminal and plain everywhere else."""
    if asked is not None:
        return asked
    return OutputForm.TABLE if sys.stdout.isatty() else OutputForm.PLAIN


class ReaderLeftError(Exception):
    """Whoever read standard output went away. A type of its own: the command-line library ends EPIPE with 1."""


def emit(text: str) -> None:
    """Write a result to standard output, ending in one newline; ReaderLeftError when nobody reads any more."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderLeftError from None


def talk(text: str) -> None:
    """Say something to the person, not to the program behind the pipe."""
    print(text, file=sys.stderr, flush=True)


def is_folder(path: Path) -> bool:
    """Tell whether a path is a folder; one that cannot even be looked at is not."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises when a parent may not be entered


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` through a rename; on any failure the old file is intact and OutputError says why."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as fault:
        raise OutputError(f"cannot write {path}: {fault.strerror}; the result was not saved") from fault
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)
        Path(temporary).replace(path)
    except OSError as fault:
        raise OutputError(f"cannot write {path}: {fault.strerror}; an older file there is untouched") from fault
    finally:
        Path(temporary).unlink(missing_ok=True)
