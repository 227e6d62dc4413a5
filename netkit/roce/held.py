"""Holds a switch port against a declared intent: the QoS chain of every lossless DSCP, and what the intent adds to it.

The chain alone asks whether a configuration fits together. An intent also says what it should be: how much headroom,
which thresholds, which MTU, and that nothing else is lossless. A link that breaks for that reason says so itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from netkit.model.missing import Missing
from netkit.model.qos import Trust
from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.qos import DSCPS, PRIORITIES, HostQos, Intent, Marking, SwitchQos
from netkit.roce.qos_chain import ChainLink, LinkName, LinkState, QosChain, prove
from netkit.roce.sizes import Sizes, sizes_of

ECN_CAPABLE = 2
"""ECT(0) of RFC 3168: what NCCL's traffic class should carry beside the DSCP."""


def host_meant(intent: FabricIntent) -> HostQos:
    """Return a NIC port set as the intent's host commands set it; its lossless priorities share buffer 1."""
    lossless = frozenset(intent.lossless_priorities)
    headroom = sizes_of(intent).headroom.bytes
    return HostQos(
        interface=intent.host_interfaces[0],
        trust=Trust.DSCP,
        dscp_to_priority={dscp: intent.priority_of(dscp) for dscp in DSCPS},
        lossless=lossless,
        ecn_notification=lossless,
        ecn_reaction=lossless,
        buffer_of_priority=tuple(int(priority in lossless) for priority in PRIORITIES),
        buffer_bytes=(headroom, headroom),
        cnp_dscp=intent.cnp_dscp,
        cnp_priority=intent.cnp_priority,
    )


def traffic_class_of(dscp: int) -> int:
    """Return NCCL_IB_TC for a DSCP: the whole ToS byte, marked as able to carry ECN."""
    return dscp << 2 | ECN_CAPABLE


def held(intent: FabricIntent, port: SwitchQos) -> tuple[QosChain, ...]:
    """Return the chain of every lossless DSCP through one switch port, judged against the intent."""
    host = host_meant(intent)
    return tuple(_held(intent, host, port, dscp) for dscp in sorted(intent.lossless))


def _held(intent: FabricIntent, host: HostQos, port: SwitchQos, dscp: int) -> QosChain:
    meant = intent.lossless[dscp]
    chain = prove(Intent(traffic_class=traffic_class_of(dscp)), host, port, meant=meant)
    wrong = {link.name: link for link in _unmet(intent, sizes_of(intent), port, meant)}
    links = tuple(_worse(link, wrong) for link in chain.links)
    return replace(chain, links=(*links, _mtu(intent, port)))


def _worse(link: ChainLink, wrong: Mapping[LinkName, ChainLink]) -> ChainLink:
    """Let what the intent misses speak only where the chain itself has nothing to say."""
    return wrong.get(link.name, link) if link.state is LinkState.HOLDS else link


def _unmet(intent: FabricIntent, sizes: Sizes, port: SwitchQos, meant: int) -> Iterator[ChainLink]:
    group = port.groups.get(port.priority_to_group.get(meant, meant))
    marking = port.marking.get(port.priority_to_queue.get(meant, meant))
    said = {
        LinkName.SWITCH_CLASS: _strays(intent, port),
        LinkName.SWITCH_QUEUE: _shared(port, meant),
        LinkName.SWITCH_PFC: _extra(intent, port),
        LinkName.SWITCH_BUFFER: _headroom(intent, sizes, port, group.xoff_bytes if group else 0),
        LinkName.SWITCH_ECN: _thresholds(sizes, marking),
    }
    yield from (ChainLink(name=name, state=LinkState.BROKEN, said=why) for name, why in said.items() if why)


def _strays(intent: FabricIntent, port: SwitchQos) -> str:
    lossless = {port.class_of(dscp) for dscp in intent.lossless}
    strays = [dscp for dscp in DSCPS if dscp not in intent.lossless and port.class_of(dscp) in lossless]
    shown = ", ".join(map(str, strays[:4]))
    return f"DSCP {shown} travel in a lossless class, and nobody declared them lossless" if strays else ""


def _shared(port: SwitchQos, meant: int) -> str:
    queue = port.priority_to_queue.get(meant, meant)
    sharing = [one for one in PRIORITIES if one != meant and port.priority_to_queue.get(one, one) == queue]
    if sharing:
        return f"priority {meant} shares queue {queue} with priorities {', '.join(map(str, sharing))}"
    return "" if queue == meant else f"priority {meant} leaves by queue {queue}, {meant} is declared"


def _extra(intent: FabricIntent, port: SwitchQos) -> str:
    extra = sorted(port.lossless - set(intent.lossless_priorities))
    return f"PFC on {', '.join(map(str, extra))} as well, which nobody declared" if extra else ""


def _headroom(intent: FabricIntent, sizes: Sizes, port: SwitchQos, xoff: int | Missing) -> str:
    needed = sizes.headroom.bytes
    if isinstance(xoff, int):
        return f"{xoff} bytes of headroom, {needed} are needed" if xoff < needed else ""
    if port.cable_metres is None:
        return f"the switch works its headroom out and nobody told it the cable's length, {intent.cable_metres} m"
    short = port.cable_metres < intent.cable_metres
    return f"headroom is for {port.cable_metres} m of cable, {intent.cable_metres} m are declared" if short else ""


def _thresholds(sizes: Sizes, marking: Marking | None) -> str:
    wanted = (sizes.mark_from.bytes, sizes.mark_all_from.bytes)
    found = None if marking is None else (marking.low_bytes, marking.high_bytes)
    return (
        f"marks from {found[0]} to {found[1]} bytes, {wanted[0]} to {wanted[1]} are declared"
        if found and found != wanted
        else ""
    )


def _mtu(intent: FabricIntent, port: SwitchQos) -> ChainLink:
    name = LinkName.SWITCH_MTU
    if isinstance(port.mtu_bytes, Missing):
        return ChainLink(name=name, state=LinkState.UNKNOWN, said=str(port.mtu_bytes))
    enough = port.mtu_bytes >= intent.mtu_bytes
    said = f"{port.port} passes {port.mtu_bytes} bytes, {intent.mtu_bytes} are sent"
    return ChainLink(name=name, state=LinkState.HOLDS if enough else LinkState.BROKEN, said=said)
