"""A fabric in a file: one node a line, then its domains, nearest (leaf) first.

n0 leaf1 spine1
n1 leaf1 spine1     # comments and blank lines are passed over
"""

from __future__ import annotations

from netkit.errors import InputError
from netkit.gangs.placement import Domains
from netkit.model.text import visible

MOST_LINES = 100_000


def parse_fabric(text: str, source: str) -> Domains:
    """Return the domains of each node; InputError names the line that cannot be used."""
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines()[:MOST_LINES], 1):
        words = [visible(word, 200) for word in line.partition("#")[0].split()]
        if not words:
            continue
        node, *domains = words
        if not domains or node in found:
            given = f"{source} line {number}: {'no leaf for' if not domains else 'again'} {node}"
            raise InputError(given, "each node once, with its leaf and then wider domains: n0 leaf1 spine1")
        found[node] = tuple(domains)
    if not found:
        raise InputError(f"{source} without a node", "one node a line, then its domains, nearest first")
    return found
