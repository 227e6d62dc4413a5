"""Stands in for ssh(1): what would run on a host runs here, and believes that it is called like that host."""

from __future__ import annotations

import os
import shlex
import sys

destination, remote = sys.argv[-2:]
assert sys.argv[-3] == "--", sys.argv
words = shlex.split(remote.removeprefix("exec "))
# The agent asks Python for the host's name; the rest of its bootstrap stays as it is.
words[-1] = f"import socket;socket.gethostname=lambda:{destination!r};{words[-1]}"
os.environ["STAND_IN_HOST"] = destination
os.execvp(words[0], words)
