"""Settings of a job from text: an environment file, `env` output, `/proc/<pid>/environ`, or an NCCL configuration file.

Docker's `--env-file`, systemd's EnvironmentFile and shell scripts of `export NAME=value` lines are taken alike. NCCL's
own file format: NVIDIA NCCL, src/misc/param.cc, setEnvFile (`#` comments, no quotes, no `export`).
"""

from __future__ import annotations

import re

from netkit.model.environment import Variable
from netkit.model.text import visible

MOST_BYTES = 1 << 20
_LINE = re.compile(r"(?:export\s+|Environment=|ENV\s+|-x\s+)?\"?(?P<name>[A-Za-z_][A-Za-z0-9_]{0,127})=(?P<value>.*)")
_QUOTES = ("'", '"')


def parse_environment(text: str, source: str) -> tuple[Variable, ...]:
    """Return every `NAME=value`, in order; comments, blanks and shell code are passed over."""
    lines = text.split("\0") if "\0" in text else text.splitlines()
    matches = (_LINE.fullmatch(line.strip()) for line in lines)
    return tuple(
        Variable(name=match["name"], value=visible(_unquoted(match["value"].strip())), source=source)
        for match in matches
        if match
    )


def parse_nccl_conf(text: str, source: str) -> tuple[Variable, ...]:
    """Return what NCCL takes from its configuration file: values as they stand, quotes included."""
    rows = (line.split("#", 1)[0].strip().partition("=") for line in text.splitlines())
    return tuple(
        Variable(name=visible(name.strip()), value=visible(value.strip()), source=source)
        for name, found, value in rows
        if found and name.strip()
    )


def _unquoted(value: str) -> str:
    ends = value[:1]
    return value[1:-1] if len(value) > 1 and ends in _QUOTES and value.endswith(ends) else value
