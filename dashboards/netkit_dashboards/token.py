"""A token from a file or from the environment; never from the command line, where everybody on the machine sees it."""

from __future__ import annotations

import os
from pathlib import Path

from netkit.errors import InputError

_MOST = 8192


def read_token(file: Path | None, variable: str) -> str:
    """Return the token; InputError says which source is missing or unfit, and never what it held."""
    if (file is None) == (not variable):
        raise InputError("no single source of the token", "one of --token-file FILE and --token-env NAME")
    token = _of_file(file) if file is not None else os.environ.get(variable, "")
    token = token.strip()
    if not token or len(token) > _MOST or not token.isascii() or not token.isprintable() or " " in token:
        place = f"file {file}" if file is not None else f"variable {variable}"
        raise InputError(f"the token in {place}", "one line of printable characters")
    return token


def _of_file(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST + 1).decode("ascii", errors="replace")
    except OSError as fault:
        raise InputError(f"token file {file}: {fault.strerror}", "a file that can be read") from fault
