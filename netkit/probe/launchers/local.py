"""Agents on this host, side by side: for labs without namespaces and for what this host's processors can move."""

from __future__ import annotations

from collections.abc import Sequence

from netkit.probe.launchers.processes import INTERPRETER_OPTIONS, ProcessLauncher
from netkit.probe.launchers.session import Launcher, Member


def command_line(member: Member) -> Sequence[str]:
    """Return the words that start the bootstrap right here."""
    return (member.python, *INTERPRETER_OPTIONS)


LAUNCHER: Launcher = ProcessLauncher(id="local", transport="loopback", command_line=command_line)
