"""What every launcher offers: agents started for the members of a gang, spoken to by rank, and always stopped.

A launcher is one module of this package with one constant `LAUNCHER` whose `id` is the module's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from netkit.model.missing import Missing

Fields: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One host of the gang.

    `name` is shown; `destination` is what the launcher connects to; `options` are words the launcher puts on its
    command line (the way into a namespace, options of ssh); `python` is the interpreter on that host; `gpus` is how
    many accelerators it holds, where those must be idle.
    """

    name: str
    python: str
    destination: str = ""
    options: tuple[str, ...] = ()
    gpus: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A whole, genuine frame of one rank."""

    rank: int
    fields: Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An agent that is gone: `how` it ended, and the last line it or its launcher `said` on standard error."""

    rank: int
    how: str
    said: str

    def __str__(self) -> str:
        """One phrase: how it ended and its last words."""
        return self.how + (f" ({self.said})" if self.said else "")


Event: TypeAlias = Message | Ended


class Sessions(Protocol):
    """The running agents of one gang, by rank: the position in the list of members."""

    def send(self, rank: int, command: Mapping[str, Any]) -> None:
        """Queue one command; a rank that is gone reports so through `receive`."""

    def receive(self, timeout_seconds: float) -> Sequence[Event]:
        """Return what arrived, waiting at most `timeout_seconds` for the first event."""

    def rejected(self) -> Mapping[int, int]:
        """How many damaged or forged frames were dropped, by rank, where any were."""

    def stop(self) -> None:
        """End every agent, at once where need be; when this returns, none of them runs on this host."""


@runtime_checkable
class Witness(Protocol):
    """Sessions that can tell what else goes on in their members."""

    def before(self) -> Sequence[Mapping[str, Any] | Missing]:
        """Return what was seen in every member before the agents started."""

    def looks(self) -> Sequence[Sequence[Mapping[str, Any] | Missing]]:
        """Look into every member now; return what is seen, after what was seen before the agents started."""


class Launcher(Protocol):
    """A way to start agents. `transport` is the word a report shows for how traffic ran."""

    @property
    def id(self) -> str:
        """The module's name."""

    @property
    def transport(self) -> str:
        """How traffic between the members runs."""

    def start(self, members: Sequence[Member], lifetime_seconds: float) -> Sessions:
        """Start one agent a member; each ends by itself after `lifetime_seconds`. Raise ProbeError if none can be."""
