"""What differs between the topologies of two nodes: missing devices, other distances, other bandwidths.

Devices are matched by the names NCCL and nvidia-smi give them; a node is compared with one that is right.
"""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.topology import DeviceMatrix, Reach
from netkit.model.units import show_rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not alike; `before` is of the first node, `after` of the second, None where it has none."""

    subject: str
    what: str
    before: str | None
    after: str | None


def differences(first: DeviceMatrix, second: DeviceMatrix) -> tuple[Difference, ...]:
    """Return what differs, devices first, then distances, then bandwidths."""
    return (*_devices(first, second), *_distances(first, second), *_peers(first, second), *_rates(first, second))


def _devices(first: DeviceMatrix, second: DeviceMatrix) -> list[Difference]:
    sides = [
        {**{gpu.id: gpu.address for gpu in one.gpus}, **{nic.name: nic.address for nic in one.nics}}
        for one in (first, second)
    ]
    found = []
    for name in dict.fromkeys((*sides[0], *sides[1])):
        if name not in sides[0] or name not in sides[1]:
            before, after = ("present" if name in side else None for side in sides)
            found.append(Difference(subject=name, what="device", before=before, after=after))
        elif None not in (sides[0][name], sides[1][name]) and sides[0][name] != sides[1][name]:
            found.append(
                Difference(subject=name, what="address", before=str(sides[0][name]), after=str(sides[1][name]))
            )
    return found


def _distances(first: DeviceMatrix, second: DeviceMatrix) -> list[Difference]:
    found = []
    for pair, before in first.reach.items():
        after = second.reach.get(pair)
        if after is None:
            continue
        subject = " to ".join(pair)
        if before.path is not after.path:
            found.append(Difference(subject=subject, what="path", before=before.path.name, after=after.path.name))
        elif _narrower(before, after):
            rates = [show_rate(one.bandwidth) if one.bandwidth else None for one in (before, after)]
            found.append(Difference(subject=subject, what="bandwidth", before=rates[0], after=rates[1]))
    return found


def _narrower(before: Reach, after: Reach) -> bool:
    known = before.bandwidth is not None and after.bandwidth is not None
    return known and before.bandwidth != after.bandwidth


def _peers(first: DeviceMatrix, second: DeviceMatrix) -> list[Difference]:
    return [
        Difference(subject=" to ".join(pair), what="GPU link", before=before, after=second.peers[pair])
        for pair, before in first.peers.items()
        if pair[0] < pair[1] and pair in second.peers and second.peers[pair] != before
    ]


def _rates(first: DeviceMatrix, second: DeviceMatrix) -> list[Difference]:
    after = {nic.name: nic.rate for nic in second.nics}
    return [
        Difference(subject=nic.name, what="NIC rate", before=show_rate(nic.rate), after=show_rate(rate))
        for nic in first.nics
        if nic.rate is not None and (rate := after.get(nic.name)) is not None and rate != nic.rate
    ]
