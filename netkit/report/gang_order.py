"""A rank order as blocks and as JSON (`netkit.gang-order/1`): hops of the ring now and at best, old and new ranks."""

from __future__ import annotations

from typing import Any

from netkit.gangs.rank_order import Hops, RankOrder
from netkit.model.gang import Gang
from netkit.report.blocks import Banner, Block, Cell, Column, Listing, Table, Tone
from netkit.report.gangs_json import dump

SCHEMA = "netkit.gang-order/1"


def render(gang: Gang, order: RankOrder, told_by: str, *, one_line: bool = False) -> str:
    """Return the order as one JSON object, ending in a newline."""
    return dump(document(gang, order, told_by), one_line=one_line)


def document(gang: Gang, order: RankOrder, told_by: str) -> dict[str, Any]:
    """Return the order as plain dicts and lists."""
    ranks = {member.uid: at for at, member in enumerate(order.present)}
    return {
        "schema": SCHEMA,
        "namespace": gang.namespace,
        "name": gang.name,
        "fabric": told_by or None,
        "now": _hops(order.now),
        "best": _hops(order.best),
        "moved": order.moved,
        "order": [
            {
                "rank": at,
                "was": ranks[member.uid],
                "pod": member.pod,
                "uid": member.uid,
                "node": member.placement.node if member.placement else None,
                "domains": list(member.placement.domains) if member.placement else [],
            }
            for at, member in enumerate(order.proposed)
        ],
        "unplaced": [member.pod for member in order.unplaced],
    }


def _hops(hops: Hops) -> dict[str, Any]:
    return {"same_node": hops.same_node, "cross_leaf": hops.cross_leaf, "by_level": list(hops.by_level)}


def blocks(gang: Gang, order: RankOrder, told_by: str) -> tuple[Block, ...]:
    """Return the order: what would be won, and who gets which rank."""
    parts: list[Block] = [_banner(gang, order, told_by)]
    if order.present:
        parts += [_comparison(order), _ranks(order)]
    if order.unplaced:
        names = ", ".join(member.pod for member in order.unplaced[:8])
        more = len(order.unplaced) - 8
        items = (f"{names}{f' and {more} more' if more > 0 else ''}: no node, or no leaf known for it",)
        parts.append(Listing(title="not in the order", items=items))
    return tuple(parts)


def _banner(gang: Gang, order: RankOrder, told_by: str) -> Banner:
    if not order.present:
        why = "none of its members is on a node whose leaf is known" if told_by else "nothing tells the fabric"
        return Banner(word="UNKNOWN", text=f"{gang.key}: {why}; give one with --fabric FILE", tone=Tone.WARN)
    now, best = order.now.cross_leaf, order.best.cross_leaf
    if now <= best:
        text = f"{gang.key}: the ring leaves a leaf {now} times, and no order does with fewer ({told_by})"
        return Banner(word="OK", text=text, tone=Tone.GOOD)
    text = f"{gang.key}: the ring leaves a leaf {now} times, {best} would do ({told_by}); {order.moved} ranks move"
    return Banner(word="SCATTERED", text=text, tone=Tone.BAD)


def _comparison(order: RankOrder) -> Table:
    depth = max(len(order.now.by_level), len(order.best.by_level))
    names = ["on one node", *(_level(level) for level in range(depth))]
    now, best = (
        [hops.same_node, *hops.by_level, *[0] * (depth - len(hops.by_level))] for hops in (order.now, order.best)
    )
    rows = tuple(
        (Cell(text=name), Cell(text=str(was)), Cell(text=str(could)))
        for name, was, could in zip(names, now, best, strict=True)
    )
    columns = (Column(title="hops of the ring"), Column(title="now", numeric=True), Column(title="best", numeric=True))
    return Table(title="Ring", columns=columns, rows=rows)


def _level(level: int) -> str:
    return ("below one leaf", "between leaves", "between spines")[level] if level < 3 else f"across {level} levels"


def _ranks(order: RankOrder) -> Table:
    was = {member.uid: at for at, member in enumerate(order.present)}
    rows = tuple(
        (
            Cell(text=str(at)),
            Cell(text=str(was[member.uid]), tone=Tone.PLAIN if was[member.uid] == at else Tone.WARN),
            Cell(text=member.pod),
            Cell(text=member.placement.node if member.placement else "-"),
            Cell(text=member.placement.leaf if member.placement else "-"),
        )
        for at, member in enumerate(order.proposed)
    )
    columns = (
        Column(title="rank", numeric=True),
        Column(title="was", numeric=True),
        Column(title="pod"),
        Column(title="node"),
        Column(title="leaf"),
    )
    return Table(title="Order", columns=columns, rows=rows)
