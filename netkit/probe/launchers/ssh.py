"""Agents on other hosts through the system's own ssh(1): the user's keys, configuration and known hosts apply.

Never asks for anything (BatchMode) and never touches host-key checking: a host that ssh does not know is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from netkit.probe.launchers.processes import INTERPRETER_OPTIONS, ProcessLauncher
from netkit.probe.launchers.session import Launcher, Member

CONNECT_SECONDS = 10
FAN_OUT = 32
_OPTIONS = (
    "-T",
    "-oBatchMode=yes",
    f"-oConnectTimeout={CONNECT_SECONDS}",
    # A host that vanishes must not hold the probe until TCP gives up.
    "-oServerAliveInterval=2",
    "-oServerAliveCountMax=3",
    "-oClearAllForwardings=yes",
    # Uses a connection that is shared already, and leaves no new one behind in the background.
    "-oControlMaster=no",
    "-oEscapeChar=none",
)


def command_line(member: Member) -> Sequence[str]:
    """Return the ssh command; `--` keeps a destination from being read as an option.

    sshd hands the remote words to a login shell, so they are quoted; `exec` leaves no shell between sshd and the
    agent, which must notice when its connection is gone.
    """
    remote = f"exec {shlex.join((member.python, *INTERPRETER_OPTIONS))}"
    return ("ssh", *_OPTIONS, *member.options, "--", member.destination, remote)


LAUNCHER: Launcher = ProcessLauncher(id="ssh", transport="ssh", command_line=command_line, fan_out=FAN_OUT)
