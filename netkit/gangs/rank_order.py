"""In which order ranks should stand so that a ring crosses the fabric as rarely as it can.

A ring goes from rank i to i+1 and back to 0. Whatever the order, a ring through L leaves changes the leaf at least L
times (if L > 1), and at every wider level likewise; keeping the members of each domain together, level inside level,
reaches that bound at all levels at once, so nothing needs to be searched. Rank 0 stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netkit.gangs.placement import distance
from netkit.model.gang import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Hops:
    """How often a ring changes node, and by how many levels: 0 stays below one leaf, 1 leaves it, and so on."""

    same_node: int
    by_level: tuple[int, ...]

    @property
    def cross_leaf(self) -> int:
        """Hops that leave a leaf."""
        return sum(self.by_level[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOrder:
    """The present order of members and a better one; members without a known place are in neither."""

    present: tuple[Member, ...]
    proposed: tuple[Member, ...]
    now: Hops
    best: Hops
    unplaced: tuple[Member, ...]

    @property
    def moved(self) -> int:
        """How many members get another rank."""
        return sum(old is not new for old, new in zip(self.present, self.proposed, strict=True))


def rank_order(members: Sequence[Member]) -> RankOrder:
    """Return the order of members, who come sorted by rank, now and as it should be."""
    present = tuple(member for member in members if member.placement and member.placement.domains)
    proposed = together(present, {member.uid: _path(member) for member in present})
    return RankOrder(
        present=present,
        proposed=proposed,
        now=ring_hops(present),
        best=ring_hops(proposed),
        unplaced=tuple(member for member in members if member not in present),
    )


def _path(member: Member) -> tuple[str, ...]:
    """Return where a member sits, widest domain first, its node last."""
    placement = member.placement
    return (*reversed(placement.domains), placement.node) if placement else ()


def together(members: Sequence[Member], paths: Mapping[str, tuple[str, ...]]) -> tuple[Member, ...]:
    """Return members with those of each domain next to each other; domains keep the order of their first member."""
    first: dict[tuple[str, ...], int] = {}
    for at, member in enumerate(members):
        path = paths[member.uid]
        for depth in range(len(path) + 1):
            first.setdefault(path[:depth], at)
    keys = {
        member.uid: tuple(first[paths[member.uid][:depth]] for depth in range(1, len(paths[member.uid]) + 1))
        for member in members
    }
    return tuple(sorted(members, key=lambda member: keys[member.uid]))


def ring_hops(members: Sequence[Member]) -> Hops:
    """Count the hops of a ring through members in their order."""
    levels: list[int] = []
    same_node = 0
    for one, other in zip(members, [*members[1:], *members[:1]], strict=True):
        if one is other or one.placement is None or other.placement is None:
            continue
        if one.placement.node == other.placement.node:
            same_node += 1
            continue
        apart = distance(one.placement.domains, other.placement.domains)
        levels += [0] * (apart + 1 - len(levels))
        levels[apart] += 1
    return Hops(same_node=same_node, by_level=tuple(levels))
