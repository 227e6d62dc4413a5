"""GID tables: the addresses an RDMA port answers to.

`/sys/class/infiniband/<device>/ports/<n>/gids/<i>` and `gid_attrs/{types,ndevs}/<i>`: Linux
Documentation/ABI/stable/sysfs-class-infiniband. A table has up to 1,024 slots and a handful of entries; the kernel
fills the first free slot (drivers/infiniband/core/cache.c), so a long run of empty ones is the end.
"""

from __future__ import annotations

import re

from netkit.model.missing import Missing
from netkit.model.rdma import Gid, GidTable
from netkit.sources.attributes import text
from netkit.sources.tree import Tree

EMPTY_RUN = 32
"""Empty slots in a row that end the walk: more than the addresses ever removed at once from one port."""
_MOST_SLOTS = 4096
_EMPTY = re.compile(r"(?:0{4}:){7}0{4}|fe80(?::0{4}){7}")


def read_gid_table(tree: Tree, port: str) -> GidTable | Missing:
    """Return the filled slots up to the first long run of empty ones, and how many were looked at."""
    found = tree.list(f"{port}/gids")
    if isinstance(found, Missing):
        return found
    slots = sorted(int(name) for name in found if re.fullmatch(r"0|[1-9][0-9]{0,4}", name))[:_MOST_SLOTS]
    gids: list[Gid] = []
    empty = looked = 0
    for index in slots:
        if empty == EMPTY_RUN:
            break
        looked += 1
        gid = _gid(tree, port, index)
        empty = 0 if gid else empty + 1
        gids.extend([gid] if gid else [])
    return GidTable(gids=tuple(gids), slots=len(slots), slots_read=looked)


def _gid(tree: Tree, port: str, index: int) -> Gid | None:
    shown = text(tree, f"{port}/gids/{index}")
    # The attributes of an empty slot answer EINVAL: they are read for filled ones only.
    if isinstance(shown, Missing) or _EMPTY.fullmatch(shown):
        return None
    return Gid(
        index=index,
        gid=shown,
        kind=text(tree, f"{port}/gid_attrs/types/{index}"),
        netdev=text(tree, f"{port}/gid_attrs/ndevs/{index}"),
    )
