"""Agents inside network namespaces of this host; the caller says how to enter each (`Member.options`)."""

from __future__ import annotations

from collections.abc import Sequence

from netkit.probe.launchers.processes import INTERPRETER_OPTIONS, ProcessLauncher
from netkit.probe.launchers.session import Launcher, Member


def command_line(member: Member) -> Sequence[str]:
    """Return the words that enter the namespace and there become the bootstrap."""
    return (*member.options, member.python, *INTERPRETER_OPTIONS)


LAUNCHER: Launcher = ProcessLauncher(id="netns", transport="namespaces", command_line=command_line)
