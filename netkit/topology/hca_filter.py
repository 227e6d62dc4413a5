"""NCCL_IB_HCA: which InfiniBand and RoCE ports NCCL may use.

Grammar (NVIDIA NCCL, user guide "NCCL_IB_HCA" and src/misc/socket parsing, parseStringList and matchIfList): an
optional leading `^` (all but these), then an optional `=` (exact names instead of prefixes), then a comma list of
`name`, `name:port`, and since 2.30 `name:port:rail` and `name:port:rail:plane`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from netkit.errors import InputError
from netkit.model.text import visible
from netkit.model.topology import Nic

MOST_HCAS = 32
_ENTRY = re.compile(r"([A-Za-z0-9_.@+-]{1,63})(?::(\d{1,3}))?(?::\d{1,3}){0,2}")
_ACCEPTED = "a comma list of name[:port[:rail[:plane]]], optionally after ^ (exclude) and = (exact names)"


@dataclass(frozen=True, slots=True, kw_only=True)
class HcaFilter:
    """The parsed filter; an empty list lets everything pass."""

    entries: tuple[tuple[str, int | None], ...] = ()
    exact: bool = False
    exclude: bool = False

    @classmethod
    def parse(cls, text: str) -> HcaFilter:
        """Read the value of NCCL_IB_HCA; InputError when a part of it fits no form."""
        rest = text.strip()
        exclude = rest.startswith("^")
        rest = rest[1:] if exclude else rest
        exact = rest.startswith("=")
        rest = rest[1:] if exact else rest
        parts = [part for part in rest.split(",") if part]
        if len(parts) > MOST_HCAS:
            raise InputError(f"NCCL_IB_HCA of {len(parts)} names", f"at most {MOST_HCAS}, the most NCCL holds")
        return cls(entries=tuple(map(_entry, parts)), exact=exact, exclude=exclude)

    def passes(self, nic: Nic) -> bool:
        """Tell whether NCCL may use this port."""
        return not self.entries or self._listed(nic) != self.exclude

    def _listed(self, nic: Nic) -> bool:
        return any(self._matches(name, nic) and _same_port(port, nic.port) for name, port in self.entries)

    def _matches(self, name: str, nic: Nic) -> bool:
        return nic.name == name if self.exact else nic.name.startswith(name)

    def greedy(self, nics: Iterable[Nic]) -> dict[str, tuple[str, ...]]:
        """Return each prefix that takes a longer name besides the one it spells: mlx5_1 also takes mlx5_10."""
        names = [nic.name for nic in nics]
        taken = {name: tuple(other for other in names if other.startswith(name)) for name, _ in self.entries}
        return {} if self.exact else {name: got for name, got in taken.items() if name in got and len(got) > 1}


def _entry(part: str) -> tuple[str, int | None]:
    match = _ENTRY.fullmatch(part)
    if match is None:
        raise InputError(f"NCCL_IB_HCA part {visible(part)!r}", _ACCEPTED)
    return match[1], int(match[2]) if match[2] else None


def _same_port(wanted: int | None, port: int | None) -> bool:
    return wanted is None or port is None or wanted == port
