"""Files written into a folder, each whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from netkit.errors import OutputError


def write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write the files and return their paths; OutputError says which one could not be written and why."""
    written: list[Path] = []
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, text)
        except OSError as fault:
            done = f"; written before it: {len(written)} of {len(files)}" if written else ""
            raise OutputError(f"cannot write {path}: {fault.strerror}{done}") from fault
        written.append(path)
    return written


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
