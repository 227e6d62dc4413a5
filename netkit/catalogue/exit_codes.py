"""What each exit status of netkit means, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from netkit.errors import ExitStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitCode:
    """One status."""

    meaning: str
    next: str


EXIT_CODES = MappingProxyType(
    {
        ExitStatus.OK: ExitCode(meaning="measured, nothing at or above --fail-on", next="nothing"),
        ExitStatus.FINDINGS: ExitCode(meaning="measured, with findings", next="read the findings: each has a remedy"),
        ExitStatus.BAD_INPUT: ExitCode(
            meaning="what was given cannot be used", next="the line on stderr says what was given and what is accepted"
        ),
        ExitStatus.NOT_MEASURED: ExitCode(
            meaning="could not measure; nothing is said about the hardware",
            next="run as root, on the host, or with a recording: the output says what was missing",
        ),
        ExitStatus.NOT_WRITTEN: ExitCode(
            meaning="measured, but the result could not be written", next="free the place, or name another file"
        ),
        ExitStatus.BUG: ExitCode(
            meaning="a bug in netkit", next="report it with the output of the same command under --debug"
        ),
        ExitStatus.INTERRUPTED: ExitCode(meaning="interrupted from the keyboard, cleaned up", next="nothing"),
        ExitStatus.BROKEN_PIPE: ExitCode(meaning="whoever read the output went away", next="nothing"),
        ExitStatus.TERMINATED: ExitCode(meaning="terminated by a signal, cleaned up", next="nothing"),
    }
)
