"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from netkit.errors import OutputError


def write_all(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a folder, which is made when missing; OutputError names the one that could not be written."""
    for name, content in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, content.encode() if isinstance(content, str) else content)
        except OSError as fault:
            raise OutputError(f"cannot write {path}: {fault.strerror}") from fault


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
