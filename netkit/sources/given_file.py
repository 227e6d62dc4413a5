"""Files that somebody names to stand for a machine or a cluster: opened without waiting, and refused in one line."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from netkit.errors import InputError
from netkit.model.text import visible


def open_given(path: Path, what: str, made_by: str, most_bytes: int) -> BufferedReader:
    """Open a regular file of at most `most_bytes`; a pipe does not make it wait.

    Raises:
        InputError: there is no such file, it may not be read, or it is none of these; says which command makes one.
    """
    shown = visible(str(path))
    accepted = f"a regular file of at most {most_bytes >> 20} MiB; `{made_by}` writes one"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as fault:
        reason = (fault.strerror if isinstance(fault, OSError) else None) or "no name of a file"
        raise InputError(f"{what} {shown}: {reason}", accepted) from fault
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > most_bytes:
        os.close(descriptor)
        kind = f"{found.st_size} bytes" if stat.S_ISREG(found.st_mode) else "no regular file"
        raise InputError(f"{what} {shown}: {kind}", accepted)
    return open(descriptor, "rb")  # noqa: PTH123 - a descriptor, not a path
