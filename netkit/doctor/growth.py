"""What counters counted since an earlier reading of the same node.

Only devices of the same identity are compared, and only within one boot: after a reboot every counter starts anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netkit.doctor.context import Context
from netkit.doctor.nic_ports import NicPort, all_ports
from netkit.model.counter import Counter
from netkit.model.counter_delta import delta
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """An earlier reading, and how many seconds lie between."""

    snapshot: NodeSnapshot
    seconds: float

    def port(self, port: NicPort) -> NicPort | None:
        """Return the same port then; None where the card was another one or was not there."""
        same = (port.device.identity, port.port.number)
        return next((old for old in all_ports(self.snapshot) if (old.device.identity, old.port.number) == same), None)


def since(snapshot: NodeSnapshot, context: Context) -> Since | Missing:
    """Return the earlier reading; Missing where there is none, or none that can be compared with."""
    earlier = context.wishes.earlier
    if earlier is None:
        return Missing(reason=Reason.ABSENT, where="--since", detail="no earlier reading to tell growth from history")
    seconds = snapshot.taken_at - earlier.taken_at
    if seconds <= 0:
        return Missing(reason=Reason.STALE, where="--since", detail="that reading is not earlier than this one")
    boots = (earlier.host.boot_id, snapshot.host.boot_id)
    if all(isinstance(boot, str) for boot in boots) and boots[0] != boots[1]:
        return Missing(reason=Reason.STALE, where="--since", detail="the node was booted in between")
    return Since(snapshot=earlier, seconds=seconds)


def grown(
    before: Iterable[Counter] | Missing, after: Iterable[Counter] | Missing, names: Iterable[str]
) -> dict[str, int] | Missing:
    """Return how much each of the named counters counted; those neither reading has are left out."""
    if isinstance(before, Missing):
        return before
    if isinstance(after, Missing):
        return after
    old = {counter.name: counter for counter in before}
    new = {counter.name: counter for counter in after}
    both = [name for name in names if name in old and name in new]
    found = {name: delta(old[name], new[name]) for name in both}
    return {name: one.amount for name, one in found.items() if not isinstance(one, Missing)}
