"""Which devices are there, over time: gone only after three readings in a row without them.

A folder of a whole class that is not there says nothing: a driver reload removes it for a moment, and then every
device would seem to be gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from netkit.model.missing import Missing

MISSES_UNTIL_ABSENT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """Identities ever seen, each with the number of readings in a row it was missing from."""

    misses: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, present: Iterable[str] | Missing) -> Roster:
        """Return the roster after one more reading; a reading that is Missing changes nothing."""
        if isinstance(present, Missing):
            return self
        here = set(present)
        counted = {identity: 0 if identity in here else count + 1 for identity, count in self.misses.items()}
        return Roster(misses=MappingProxyType(counted | dict.fromkeys(here, 0)))

    @property
    def present(self) -> frozenset[str]:
        """Identities of the last reading."""
        return frozenset(identity for identity, count in self.misses.items() if count == 0)

    @property
    def absent(self) -> frozenset[str]:
        """Identities that are certainly gone."""
        return frozenset(identity for identity, count in self.misses.items() if count >= MISSES_UNTIL_ABSENT)
