"""Files that a command line names: read whole, never without a limit, and one line for one that cannot be used."""

from __future__ import annotations

from pathlib import Path

from netkit.errors import InputError
from netkit.model.text import visible

MOST_BYTES = 8 << 20
"""No topology, hostfile or log of a benchmark is larger."""


def small_bytes(path: Path, what: str, most: int = MOST_BYTES) -> bytes:
    """Return a file of at most `most` bytes; InputError naming `what` was expected for anything else."""
    shown = visible(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else "cannot be read"
        raise InputError(f"{shown}: {reason}", what) from fault
    if len(data) > most:
        raise InputError(f"{shown} is larger than {most >> 20} MiB", what)
    return data


def small_text(path: Path, what: str, most: int = MOST_BYTES) -> str:
    """Return the text of such a file; what is not UTF-8 shows as replacement characters."""
    return small_bytes(path, what, most).decode("utf-8-sig", errors="replace")
