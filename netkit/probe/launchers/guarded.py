"""A launcher under guard: nothing is started without the lock on its nodes, nothing goes on when it is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netkit.model.missing import Missing
from netkit.probe.launchers.job import LeftBehindError
from netkit.probe.launchers.session import Event, Launcher, Member, Sessions, Witness
from netkit.probe.safety.guard import Guard


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedLauncher:
    """Another launcher, which asks a guard first."""

    inner: Launcher
    guard: Guard

    @property
    def id(self) -> str:
        """That of the launcher behind it."""
        return self.inner.id

    @property
    def transport(self) -> str:
        """That of the launcher behind it."""
        return self.inner.transport

    def start(self, members: Sequence[Member], lifetime_seconds: float) -> Sessions:
        """Take the lock, then start what there is to start.

        Raises:
            ProbeError: it may not be started, or could not be; the lock is given back, unless something was left.
        """
        self.guard.begin()
        try:
            self.guard.check(lifetime_seconds)
            sessions = self.inner.start(members, lifetime_seconds)
        except LeftBehindError:
            self.guard.abandon()
            raise
        except BaseException:
            self.guard.end(measured=False)
            raise
        return GuardedSessions(sessions, self.guard)


class GuardedSessions:
    """Agents that are spoken and listened to only while the guard allows it."""

    def __init__(self, inner: Sessions, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    def send(self, rank: int, command: Mapping[str, Any]) -> None:
        """Queue one command for a rank.

        Raises:
            StoppedError: the probe must end.
        """
        self._guard.check()
        self._inner.send(rank, command)

    def receive(self, timeout_seconds: float) -> Sequence[Event]:
        """Return what arrived, waiting at most `timeout_seconds` for the first event.

        Raises:
            StoppedError: the probe must end.
        """
        self._guard.check()
        return self._inner.receive(timeout_seconds)

    def rejected(self) -> Mapping[int, int]:
        """How many damaged or forged frames were dropped, by rank."""
        return self._inner.rejected()

    def before(self) -> Sequence[Mapping[str, Any] | Missing]:
        """What the sessions behind it saw, if they looked."""
        return self._inner.before() if isinstance(self._inner, Witness) else ()

    def looks(self) -> Sequence[Sequence[Mapping[str, Any] | Missing]]:
        """What the sessions behind it see, if they look."""
        return self._inner.looks() if isinstance(self._inner, Witness) else ()

    def stop(self) -> None:
        """End the agents, and give the lock back once nothing is alive."""
        try:
            self._inner.stop()
        except BaseException:
            self._guard.abandon()
            raise
        self._guard.end(measured=True)
