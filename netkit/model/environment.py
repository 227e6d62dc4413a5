"""The settings a job gives NCCL: environment variables and configuration files, in NCCL's order of precedence.

NVIDIA NCCL, src/misc/param.cc (initEnv, setEnvFile): the environment wins over NCCL_CONF_FILE or ~/.nccl.conf, which
wins over /etc/nccl.conf, because a file never overwrites what is set already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

_VERSION = re.compile(r"v?(\d{1,2})\.(\d{1,3})(?:\.(\d{1,3}))?(?:[-+].*)?")
_INTEGER = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19})")

NcclVersion = tuple[int, int, int]


def parse_nccl_version(text: str) -> NcclVersion | None:
    """`2.27.3`, `2.27` or `v2.27.3-1` → (2, 27, 3); None for anything else."""
    match = _VERSION.fullmatch(text.strip())
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One `NAME=value`, and the file it came from."""

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Everything a job sets. `given` is False when nobody said what it sets, which is not "sets nothing"."""

    given: bool = False
    variables: tuple[Variable, ...] = ()
    files: tuple[tuple[Variable, ...], ...] = ()
    """Configuration files, the one that wins first."""
    version: NcclVersion | None = None

    def all(self) -> Iterator[Variable]:
        """Yield every setting, those that win first."""
        return chain(self.variables, *self.files)

    def find(self, name: str) -> Variable | None:
        """Return the setting NCCL would use; of two in one file the later one."""
        groups = (self.variables, *self.files)
        return next((one for group in groups for one in reversed(group) if one.name == name), None)

    def text(self, name: str) -> str | None:
        """Return the value in force; None when nobody sets it."""
        found = self.find(name)
        return None if found is None else found.value

    def number(self, name: str) -> int | None:
        """Return the value in force as C's strtoll reads it; None when nobody sets it or it starts with no number."""
        value = self.text(name)
        match = _INTEGER.match(value) if value is not None else None
        return None if match is None else as_integer(match[0])

    def before(self, version: NcclVersion) -> bool:
        """Tell whether the NCCL in use is known to be older than `version`."""
        return self.version is not None and self.version < version


def as_integer(text: str) -> int | None:
    """Read decimal, hexadecimal (0x) or octal (0) digits as C does; None for anything else."""
    digits = text.strip()
    if not _INTEGER.fullmatch(digits):
        return None
    bare = digits.lstrip("+-")
    base = 16 if bare[:2].lower() == "0x" else 8 if len(bare) > 1 and bare[0] == "0" else 10
    try:
        return int(digits, base)
    except ValueError:
        return None
