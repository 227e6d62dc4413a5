"""The guard of one probe: asks whether it may start, keeps its lock while it runs, and says when it must stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from netkit.catalogue.kube_roles import CONFIG_MAP
from netkit.errors import InputError, ProbeError, SourceError
from netkit.model.units import show_duration
from netkit.probe.safety.clock import CLOCK, Clock
from netkit.probe.safety.lock import NodeLock, TakenError
from netkit.probe.safety.policy import Policy, over_budget

LOOK_SECONDS = 5.0
RENEW_SECONDS = 20.0
# A lock of many nodes is renewed more slowly: this many leases a second.
_RENEWALS_A_SECOND = 5
BLIND_SECONDS = 60.0
_STARTING = "starting a probe"


class StoppedError(ProbeError):
    """The probe must end now: its lock is lost, or somebody said stop. What was measured before is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stake:
    """What a probe takes, for the budgets of a cluster of `cluster_nodes`; `wait_seconds` for a lock that is taken."""

    cluster_nodes: int
    gpu_minutes: float
    wait_seconds: float = 0.0


class Guard:
    """Watches over one probe. `begin` and `end` once each; `check` in between, from any thread."""

    def __init__(
        self,
        lock: NodeLock,
        stake: Stake,
        clock: Clock = CLOCK,
        spawn: Callable[[Callable[[], None]], Callable[[], None]] | None = None,
    ) -> None:
        self.lock = lock
        self._stake = stake
        self._clock = clock
        self._spawn = spawn or _in_a_thread
        self._stop_watching: Callable[[], None] = lambda: None
        self._why = ""
        self._policy = Policy()
        self._seen_at = 0.0
        self._renewed_at = 0.0

    def begin(self) -> None:
        """Take the lock, and watch over it from now on.

        Raises:
            ProbeError: probes are stopped, over budget, or the nodes are taken or to be left alone.
        """
        deadline = self._clock.watched() + self._stake.wait_seconds
        while True:
            self._policy = self._allowed()
            try:
                self.lock.acquire(self._policy, self._stake.cluster_nodes)
                break
            except TakenError:
                if self._clock.watched() + LOOK_SECONDS > deadline:
                    raise
                self._clock.sleep(LOOK_SECONDS)
        self._seen_at = self._renewed_at = self._clock.held()
        self._stop_watching = self._spawn(self.look)

    def check(self, seconds: float = 0.0) -> None:
        """Raise StoppedError unless the probe may go on, for `seconds` at least."""
        if not self._why and self.lock.left < seconds:
            self._why = "its lock runs out: netkit or this machine stood still for too long"
        if not self._why and self._clock.held() - self._seen_at > BLIND_SECONDS:
            blind = show_duration(self._clock.held() - self._seen_at)
            self._why = f"the API server has not answered for {blind}, so nobody could stop it"
        if self._why:
            raise StoppedError("stopped", self._why, "nothing more is measured")

    def look(self) -> None:
        """Ask once whether the lock still stands and nobody said stop; renew it when it is time."""
        try:
            self._why = self._why or self._stop_word() or self.lock.lost()
            self._seen_at = self._clock.held()
            if not self._why and self._clock.held() - self._renewed_at >= self._pace:
                self.lock.renew()
                self._renewed_at = self._clock.held()
        except InputError as fault:
            self._why = str(fault)
        except SourceError:
            # Told by `check` when it lasts.
            return

    def end(self, *, measured: bool) -> None:
        """Give the lock back; nodes that were measured are left alone for a while."""
        self._stop_watching()
        try:
            self.lock.release(remember=measured and self._policy.cool_down_minutes > 0)
        finally:
            self.lock.leases.close()

    def abandon(self) -> None:
        """Leave the lock to run out: something may still be alive under it."""
        self._stop_watching()
        self.lock.leases.close()

    @property
    def _pace(self) -> float:
        return max(RENEW_SECONDS, len(self.lock.nodes) / _RENEWALS_A_SECOND)

    def _stop_word(self) -> str:
        stop = self.lock.leases.policy().stop
        return f"ConfigMap {CONFIG_MAP} in namespace {self.lock.leases.namespace} says stop: {stop}" if stop else ""

    def _allowed(self) -> Policy:
        policy = self.lock.leases.policy()
        place = f"ConfigMap {CONFIG_MAP} in namespace {self.lock.leases.namespace}"
        if policy.stop:
            raise ProbeError(_STARTING, f"{place} says stop: {policy.stop}", "no probe runs until that key is gone")
        nodes, cluster = len(self.lock.nodes), self._stake.cluster_nodes
        beyond = list(over_budget(policy, nodes=nodes, cluster_nodes=cluster, gpu_minutes=self._stake.gpu_minutes))
        if beyond:
            raise ProbeError(_STARTING, f"over budget: {'; '.join(beyond)}", f"{place} may allow more")
        return policy


def _in_a_thread(look: Callable[[], None]) -> Callable[[], None]:
    """Look again and again beside the probe, until what is returned is called."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK_SECONDS):
            look()

    thread = threading.Thread(target=watch, name="netkit-guard", daemon=True)
    thread.start()

    def stop() -> None:
        ended.set()
        thread.join()

    return stop
