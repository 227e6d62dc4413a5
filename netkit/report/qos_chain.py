"""RoCE QoS chains drawn link by link, and as JSON, schema `netkit.qos/1`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from netkit.report.blocks import Banner, Block, Heading, Prose, Tone
from netkit.roce.qos_chain import ChainLink, LinkState, QosChain

SCHEMA = "netkit.qos/1"
_MARKS = {
    LinkState.HOLDS: ("holds  ", Tone.GOOD),
    LinkState.BROKEN: ("BROKEN ", Tone.BAD),
    LinkState.UNKNOWN: ("unknown", Tone.WARN),
}


def render(chains: Sequence[QosChain], *, one_line: bool = False) -> str:
    """Return the chains as one JSON object, ending in a newline."""
    rows = [
        {
            "interface": chain.interface,
            "switch_port": chain.switch_port,
            "priority": chain.priority,
            "proven": chain.proven,
            "broken": chain.broken.name.value if chain.broken else None,
            "links": [{"name": one.name.value, "state": one.state.value, "said": one.said} for one in chain.links],
        }
        for chain in chains
    ]
    indent = None if one_line else 1
    return json.dumps({"schema": SCHEMA, "chains": rows}, ensure_ascii=True, allow_nan=False, indent=indent) + "\n"


def blocks(chains: Sequence[QosChain]) -> Iterator[Block]:
    """Yield every chain; those that read alike but for their interface are drawn once."""
    yield _banner(chains)
    drawn: dict[tuple[ChainLink, ...], list[QosChain]] = {}
    for chain in chains:
        drawn.setdefault(_without_name(chain), []).append(chain)
    for alike in drawn.values():
        yield from _chain(alike)


def _without_name(chain: QosChain) -> tuple[ChainLink, ...]:
    return tuple(
        ChainLink(name=one.name, state=one.state, said=one.said.replace(chain.interface, "…")) for one in chain.links
    )


def _banner(chains: Sequence[QosChain]) -> Banner:
    broken = [chain for chain in chains if chain.broken]
    if not chains:
        return Banner(word="UNKNOWN", text="no RoCE port: there is no chain to follow", tone=Tone.WARN)
    if broken and (first := broken[0].broken) is not None:
        more = f", on {len(broken)} of {len(chains)} NICs" if len(broken) > 1 else ""
        return Banner(
            word="BROKEN", text=f"{broken[0].interface} at {first.name.value}: {first.said}{more}", tone=Tone.BAD
        )
    if all(chain.proven for chain in chains):
        return Banner(word="PROVEN", text=f"every link of {len(chains)} chains was seen and holds", tone=Tone.GOOD)
    return Banner(word="OPEN", text="no link is broken, and not every link could be seen", tone=Tone.WARN)


def _chain(alike: Sequence[QosChain]) -> Iterator[Block]:
    first = alike[0]
    where = f" to {first.switch_port}" if first.switch_port else ""
    meant = "nothing lossless" if first.priority is None else f"lossless priority {first.priority}"
    yield Heading(text=f"{', '.join(chain.interface for chain in alike)}{where}: {meant}")
    culprit = first.broken
    for link in first.links:
        mark, tone = _MARKS[link.state]
        arrow = "->" if link is culprit else "  "
        yield Prose(text=f"{arrow} {mark} {link.name.value:16} {link.said}", tone=tone, indent=2)
