"""The faults netkit can name, and the exit status each one ends with.

Expected absence is not here: it is data, see `netkit.model.missing`.
"""

from __future__ import annotations

import errno as errno_names
from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit status of every netkit command."""

    OK = 0
    """Measured, and nothing at or above `--fail-on`."""
    FINDINGS = 1
    """Measured, with findings."""
    BAD_INPUT = 2
    """What was given cannot be used."""
    NOT_MEASURED = 3
    """Could not measure; nothing is said about the hardware."""
    NOT_WRITTEN = 4
    """Measured, but the result could not be written where it was asked for."""
    BUG = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


class NetkitError(Exception):
    """Base of every fault that ends in one clear line instead of a traceback."""

    exit_status = ExitStatus.BUG


class InputError(NetkitError):
    """The user gave something netkit cannot use."""

    exit_status = ExitStatus.BAD_INPUT

    def __init__(self, given: str, accepted: str, nearest: str | None = None) -> None:
        self.given = given
        self.accepted = accepted
        self.nearest = nearest
        hint = f" (did you mean {nearest!r}?)" if nearest else ""
        super().__init__(f"{given}: accepted is {accepted}{hint}")


class SourceError(NetkitError):
    """A source of readings (file, socket, API) is broken, as opposed to merely absent."""

    exit_status = ExitStatus.NOT_MEASURED

    def __init__(self, what: str, where: str, errno: int | None = None) -> None:
        self.what = what
        self.where = where
        self.errno = errno
        code = f" ({errno_names.errorcode.get(errno, errno)})" if errno is not None else ""
        super().__init__(f"{what}: {where}{code}")


class ProbeError(NetkitError):
    """A probe did not complete; whatever was read before is kept by the caller."""

    exit_status = ExitStatus.NOT_MEASURED

    def __init__(self, phase: str, cause: str, remedy: str) -> None:
        self.phase = phase
        self.cause = cause
        self.remedy = remedy
        super().__init__(f"{phase}: {cause}; {remedy}")


class OutputError(NetkitError):
    """A result exists but could not be written; an older file at that place is intact."""

    exit_status = ExitStatus.NOT_WRITTEN
