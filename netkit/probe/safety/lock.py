"""The lock on nodes: one Lease a node and one for the probe itself, all of them or none.

A lease is taken by creating it: the API server lets one creation of a name through. One that is abandoned is deleted
first, exactly as it was read, after it has been watched unchanged for as long as it says it lasts. A Lease fences
nobody: what its holder has started ends by itself before it can be taken (`Claim.seconds`), and the scheduler's
allotment and the probe's fixed name stand behind it.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from netkit.errors import NetkitError, ProbeError, SourceError
from netkit.model.units import show_duration
from netkit.probe.safety.clock import CLOCK, Clock
from netkit.probe.safety.lease import Claim, Guards, Held, Watch, holders, released, renewed, written
from netkit.probe.safety.leases import Leases
from netkit.probe.safety.policy import Policy, cooling

_TRIES = 3
_PAUSE_SECONDS = 1.0
_MOST_NAMED = 5
_LOCKING = "locking nodes"


class TakenError(ProbeError):
    """Another probe holds what is asked for; waiting may help."""


class NodeLock:
    """The lock of one probe on its nodes. `ends_at` is when it runs out, on the clock of what is held."""

    def __init__(self, leases: Leases, claim: Claim, nodes: Collection[str], clock: Clock = CLOCK) -> None:
        self.leases = leases
        self.claim = claim
        self.nodes = tuple(sorted(nodes))
        self.ends_at = float("-inf")
        self._clock = clock
        self._watch = Watch()
        self._mine: dict[str, Held] = {}

    @property
    def left(self) -> float:
        """Return the seconds until what it covers must have ended; negative when it is not held."""
        return self.ends_at - self._clock.held()

    def acquire(self, policy: Policy, cluster_nodes: int) -> None:
        """Take every lease, or none.

        Raises:
            TakenError: somebody else holds one, or too many nodes are held altogether.
            ProbeError: a node was probed a short time ago.
        """
        try:
            self._acquire(policy, cluster_nodes)
        except BaseException:
            self._give_up()
            raise

    def renew(self) -> None:
        """Write every lease anew; what has been lost shows at the next `lost`."""
        for held in list(self._mine.values()):
            renewal = renewed(held, max(0.0, self.left), datetime.now(UTC))
            self._mine[held.name] = self.leases.replace(held, renewal) or held

    def lost(self) -> str:
        """Return which lease is not ours any more, as the API server sees it; empty while all are."""
        there = {held.uid: held for held in self.leases.of(self.claim.probe)}
        gone = [held for held in self._mine.values() if held.uid not in there]
        self._mine.update({held.name: there[held.uid] for held in self._mine.values() if held.uid in there})
        return f"the lease of {gone[0].guards} {gone[0].name} is gone or somebody else's" if gone else ""

    def release(self, *, remember: bool) -> None:
        """Give every lease back; `remember` leaves those of nodes behind, to tell when they were probed last.

        Raises:
            ProbeError: the API server did not do it; the leases run out by themselves.
        """
        self.ends_at = float("-inf")
        while self._mine:
            name, held = next(iter(self._mine.items()))
            self._insist(held, remember=remember and held.guards == Guards.NODE)
            del self._mine[name]

    def _acquire(self, policy: Policy, cluster_nodes: int) -> None:
        self.ends_at = self._clock.held() + self.claim.seconds
        found = self._all()
        slot = self._take_slot(policy, found)
        for node in self.nodes:
            self._take(node, Guards.NODE, self._free(found.get(node), policy, slot.created))
        self._count(policy, cluster_nodes)

    def _all(self) -> dict[str, Held]:
        found = self.leases.all()
        now = self._clock.watched()
        for held in found:
            self._watch.left(held, now)
        return {held.name: held for held in found}

    def _take_slot(self, policy: Policy, found: dict[str, Held]) -> Held:
        """Take the first slot that is free; with one probe at once there is one slot."""
        names = [f"netkit-slot-{number}" for number in range(policy.probes_at_once)]
        for name in names[:-1]:
            try:
                return self._take(name, Guards.SLOT, self._abandoned(found.get(name)))
            except TakenError:
                continue
        return self._take(names[-1], Guards.SLOT, self._abandoned(found.get(names[-1])))

    def _free(self, held: Held | None, policy: Policy, now: datetime | None) -> Held | None:
        """Return the lease of a node that may be probed again, if there is one."""
        held = self._abandoned(held)
        left = cooling(policy, held.created, now) if held and not self.claim.again else ""
        if held and left:
            raise ProbeError(
                _LOCKING,
                f"node {held.name} was probed for gang {held.gang or '?'} by {held.operator or 'somebody'}, "
                f"and is left alone for {left} more",
                "wait, or say why not: --again REASON",
            )
        return held

    def _abandoned(self, held: Held | None) -> Held | None:
        """Return a lease that nobody holds, or nobody has renewed for as long as it lasts."""
        if held is None or not held.probe:
            return held
        left = self._watch.left(held, self._clock.watched())
        if left > 0:
            raise TakenError(
                _LOCKING,
                str(held),
                f"wait for it (--wait SECONDS); unless renewed it counts as abandoned in {show_duration(left)}",
            )
        return held

    def _take(self, name: str, guards: Guards, stale: Held | None) -> Held:
        if stale is not None and not self.leases.delete(stale):
            raise self._raced(guards, name)
        lease = written(self.claim, name, guards, self.leases.namespace, datetime.now(UTC))
        made = self.leases.create(lease)
        if made is None:
            raise self._raced(guards, name)
        self._mine[name] = made
        return made

    def _raced(self, guards: Guards, name: str) -> TakenError:
        return TakenError(_LOCKING, f"another probe has just taken {guards} {name}", "wait for it (--wait SECONDS)")

    def _count(self, policy: Policy, cluster_nodes: int) -> None:
        """Count nodes under probes once ours are among them: of two that would exceed the budget, one sees both."""
        everything = self.leases.all()
        others = [held for held in holders(everything, self.claim.probe) if held.guards == Guards.NODE]
        most = policy.most_nodes(cluster_nodes)
        if len(others) + len(self.nodes) > most:
            named = ", ".join(sorted(held.name for held in others)[:_MOST_NAMED])
            cause = f"{len(others)} nodes are under other probes ({named}), {most} may be at once"
            raise TakenError(_LOCKING, cause, "wait for them (--wait SECONDS)")

    def _insist(self, held: Held, *, remember: bool) -> None:
        for attempt in range(1, _TRIES + 1):
            try:
                self._give_back(held, remember=remember)
            except SourceError as fault:
                if attempt == _TRIES:
                    raise ProbeError(
                        "giving locks back",
                        str(fault),
                        f"{len(self._mine)} leases are left; they run out by themselves, or: netkit cleanup --locks",
                    ) from fault
                self._clock.sleep(_PAUSE_SECONDS)
            else:
                return

    def _give_back(self, held: Held, *, remember: bool) -> None:
        if not remember or self.leases.replace(held, released(held)) is None:
            self.leases.delete(held, unchanged=False)

    def _give_up(self) -> None:
        """Give back what an attempt took; what it cannot give back runs out by itself."""
        try:
            self.release(remember=False)
        except NetkitError:
            self._mine.clear()
