"""What a NIC does with RoCE traffic: trust, DSCP table, PFC, buffers, ECN, notifications, global pause, negotiation.

Commands are iproute2's dcb(8) and ethtool(8) where the kernel knows the setting, sysfs where only the driver does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.roce import intent_of
from netkit.model.advice import ByHand, KernelFile, Program, Target
from netkit.model.ethernet_link import Pause
from netkit.model.missing import Missing
from netkit.model.qos import AppSelector, Trust
from netkit.roce.headroom import headroom_bytes
from netkit.roce.qos import DSCPS, PRIORITIES
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.interfaces import RocePort, lossless_priority, roce_ports, safe, unsafe_names

_MOST_LOSSLESS = 2
_CNP_PRIORITY = 6
_OWN_BUFFER = 1
"""Buffer 0 takes what is lossy."""
_CABLE_METRES = 100.0
"""The longest cable a NIC is likely to have: too much headroom wastes memory, too little loses packets."""
_LOST_AT_REBOOT = "lost at reboot and driver reload; a NIC operator or lldpad may set it back"


def _blamed(facts: Facts, *rules: str, gang: str = "") -> Iterator[tuple[RocePort, tuple[str, ...]]]:
    """Yield the ports these rules found something at, with the evidence; J05 blames every port of its node."""
    everywhere = [one for one in facts.findings("J05") if gang and one.summary.startswith(gang)]
    found = facts.findings(*rules)
    for one in roce_ports(facts):
        here = [result for result in found if result.subject in {one.port.name, one.interface}]
        if here or everywhere:
            yield one, said((*here, *everywhere))


def _trust(facts: Facts) -> Iterator[Proposal | Blank]:
    yield from unsafe_names(facts)
    for one, evidence in _blamed(facts, "R05", gang="trust"):
        if one.qos.trust is Trust.PCP:
            dev = ("dcb", "apptrust", "set", "dev", one.interface, "order")
            shows = ("dcb", "apptrust", "show", "dev", one.interface)
            change = Program(changes=(*dev, "dscp"), restores=(*dev, "pcp"), shows=shows)
            yield Proposal(
                setting=f"trust of {one.interface}",
                now="pcp",
                proposed="dscp",
                evidence=evidence,
                changes=(change,),
            )


def _table(facts: Facts) -> Iterator[Proposal | Blank]:
    """Mend the odd NIC: the job's DSCP has the lossless priority on most NICs, and another one here."""
    meant, wanted = lossless_priority(facts), intent_of(facts.context.environment).traffic_class
    if meant is None or wanted is None or wanted >> 2 not in DSCPS:
        return
    dscp = wanted >> 2
    ports = tuple(roce_ports(facts))
    if sum(one.qos.priority_of(dscp) == meant for one in ports) * 2 <= len(ports):
        return
    for one, evidence in _blamed(facts, "R06"):
        mapped = one.qos.priority_of(dscp)
        if isinstance(mapped, int) and mapped != meant:
            yield Proposal(
                setting=f"DSCP {dscp} of {one.interface}",
                now=f"priority {mapped}",
                proposed=f"priority {meant}",
                evidence=evidence,
                changes=(_mapping(one, dscp, mapped, meant),),
            )


def _mapping(one: RocePort, dscp: int, mapped: int, meant: int) -> Program:
    dev = ("dev", one.interface, "dscp-prio")
    apps = one.bridging.app_priorities if one.bridging is not None else ()
    listed = not isinstance(apps, Missing) and any(
        app.selector is AppSelector.DSCP and app.protocol == dscp for app in apps
    )
    back = (
        ("dcb", "app", "replace", *dev, f"{dscp}:{mapped}")
        if listed
        else ("dcb", "app", "del", *dev, f"{dscp}:{meant}")
    )
    return Program(
        changes=("dcb", "app", "replace", *dev, f"{dscp}:{meant}"),
        restores=back,
        shows=("dcb", "app", "show", "dev", one.interface),
    )


def _flow_control(facts: Facts) -> Iterator[Proposal | Blank]:
    meant = lossless_priority(facts)
    for one, evidence in _blamed(facts, "R06", "R07", gang="lossless"):
        now = one.qos.lossless
        if meant is None or isinstance(now, Missing) or (meant in now and len(now) <= _MOST_LOSSLESS):
            continue
        dev = ("dcb", "pfc", "set", "dev", one.interface, "prio-pfc")
        yield Proposal(
            setting=f"PFC of {one.interface}",
            now=_listed(now),
            proposed=str(meant),
            evidence=evidence,
            changes=(
                Program(
                    changes=(*dev, *_switches({meant})),
                    restores=(*dev, *_switches(now)),
                    shows=("dcb", "pfc", "show", "dev", one.interface),
                ),
            ),
        )


def _switches(on: Iterable[int]) -> list[str]:
    wanted = set(on)
    return [f"{priority}:{'on' if priority in wanted else 'off'}" for priority in PRIORITIES]


def _listed(priorities: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(priorities))) or "none"


def _congestion(facts: Facts) -> Iterator[Proposal | Blank]:
    meant = lossless_priority(facts)
    for one, evidence in _blamed(facts, "R08"):
        for side, enabled in (("roce_np", one.qos.ecn_notification), ("roce_rp", one.qos.ecn_reaction)):
            if meant is not None and not isinstance(enabled, Missing) and meant not in enabled:
                path = f"/sys/class/net/{one.interface}/ecn/{side}/enable/{meant}"
                yield Proposal(
                    setting=f"ECN {side} of {one.interface}, priority {meant}",
                    now="0",
                    proposed="1",
                    evidence=evidence,
                    changes=(KernelFile(path=path, present="0", proposed="1"),),
                )


def _notifications(facts: Facts) -> Iterator[Proposal | Blank]:
    for one, evidence in _blamed(facts, "R09"):
        now = one.qos.cnp_priority
        if isinstance(now, int) and lossless_priority(facts) != _CNP_PRIORITY:
            path = f"/sys/class/net/{one.interface}/ecn/roce_np/cnp_802p_prio"
            yield Proposal(
                setting=f"CNP priority of {one.interface}",
                now=str(now),
                proposed=str(_CNP_PRIORITY),
                evidence=evidence,
                changes=(KernelFile(path=path, present=str(now), proposed=str(_CNP_PRIORITY)),),
            )


def _buffers(facts: Facts) -> Iterator[Proposal | Blank]:
    meant = lossless_priority(facts)
    for one, evidence in _blamed(facts, "R20"):
        buffers = None if one.bridging is None else one.bridging.buffers
        if meant is None or buffers is None or isinstance(buffers, Missing):
            continue
        needed = _needed_bytes(one)
        if needed is None:
            yield Blank(subject=f"buffers of {one.interface}", why="its rate or its MTU is not known")
            continue
        sizes = list(buffers.size_bytes)
        sizes[_OWN_BUFFER] = max(sizes[_OWN_BUFFER], needed)
        sizes[0] = min(sizes[0], buffers.total_bytes - sum(sizes[1:])) if buffers.total_bytes else sizes[0]
        if sizes[0] <= 0:
            yield Blank(
                subject=f"buffers of {one.interface}", why=f"{needed} bytes of headroom leave nothing for the rest"
            )
            continue
        owners: tuple[int, ...] = tuple(_OWN_BUFFER if priority == meant else 0 for priority in PRIORITIES)
        if (owners, tuple(sizes)) == (buffers.buffer_of_priority, buffers.size_bytes):
            continue
        yield Proposal(
            setting=f"receive buffers of {one.interface}",
            now=_buffer_words(buffers.buffer_of_priority, buffers.size_bytes),
            proposed=_buffer_words(owners, sizes),
            evidence=(*evidence, f"headroom at {_CABLE_METRES:g} m of cable, IEEE 802.1Qbb annex O: {needed} bytes"),
            changes=(
                Program(
                    changes=_buffer_command(one.interface, owners, sizes),
                    restores=_buffer_command(one.interface, buffers.buffer_of_priority, buffers.size_bytes),
                    shows=("dcb", "buffer", "show", "dev", one.interface),
                ),
            ),
        )


def _needed_bytes(one: RocePort) -> int | None:
    rate = one.port.port.rate.bytes_per_second
    mtu = one.port.netdev.mtu_bytes if one.port.netdev is not None else None
    return headroom_bytes(rate, _CABLE_METRES, mtu) if isinstance(rate, float) and isinstance(mtu, int) else None


def _buffer_words(owners: Iterable[int], sizes: Iterable[int]) -> str:
    return f"priorities to {','.join(map(str, owners))}, bytes {','.join(map(str, sizes))}"


def _buffer_command(interface: str, owners: Iterable[int], sizes: Iterable[int]) -> tuple[str, ...]:
    rows = [f"{priority}:{buffer}" for priority, buffer in enumerate(owners)]
    bytes_of = [f"{number}:{size}" for number, size in enumerate(sizes)]
    return ("dcb", "buffer", "set", "dev", interface, "prio-buffer", *rows, "buffer-size", *bytes_of)


def _global_pause(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("R10"):
        link = facts.snapshot.ethernet_link(found.subject)
        if link is None or not isinstance(link.pause, Pause) or not safe(link.interface):
            continue
        words = {way: "on" if getattr(link.pause, field) is True else "off" for way, field in _WAYS.items()}
        command = ("ethtool", "-A", link.interface)
        yield Proposal(
            setting=f"global pause of {link.interface}",
            now=", ".join(f"{way} {state}" for way, state in words.items()),
            proposed="rx off, tx off",
            evidence=said([found]),
            changes=(
                Program(
                    changes=(*command, "rx", "off", "tx", "off"),
                    restores=(*command, *(part for pair in words.items() for part in pair)),
                    shows=("ethtool", "-a", link.interface),
                ),
            ),
        )


_WAYS = {"rx": "receives", "tx": "sends"}


def _owner(facts: Facts) -> Iterator[Proposal | Blank]:
    for one, evidence in _blamed(facts, "R23"):
        yield Proposal(
            setting=f"DCBX owner of {one.interface}",
            now="host and firmware",
            proposed="one of them",
            evidence=evidence,
            changes=(
                ByHand(
                    apply=f"mlxconfig -d {one.port.device.address} set LLDP_NB_DCBX_P1=FALSE and reboot, "
                    "or systemctl stop lldpad: the fleet decides which",
                    rollback=f"mlxconfig -d {one.port.device.address} set LLDP_NB_DCBX_P1=TRUE and reboot, "
                    "or systemctl start lldpad",
                ),
            ),
        )


def _meant(facts: Facts) -> Iterator[Blank]:
    ports = tuple(roce_ports(facts))
    if ports and lossless_priority(facts) is None and all(one.qos.lossless == frozenset() for one in ports):
        why = "no NIC of this node has a lossless priority; whether the fabric should be lossless only its plan says"
        yield Blank(subject="PFC", why=why)


FAMILY = Family(
    id="roce_host",
    recommendations=(
        Recommendation(
            id="roce-trust",
            target=Target.HOST,
            rules=("R05",),
            reason="RoCE v2 packets carry no VLAN tag: trusting the tag puts all of them on priority 0, PFC or not",
            source="dcb-apptrust(8); NVIDIA network operator sets DSCP; the default of mlx5 is the tag",
            effect="NCCL's traffic class decides the priority",
            risk=f"{_LOST_AT_REBOOT}; kernels before 6.2 have no apptrust: mlnx_qos -i INTERFACE --trust dscp there",
            propose=_trust,
        ),
        Recommendation(
            id="roce-dscp-priority",
            target=Target.HOST,
            rules=("R06",),
            reason="the other NICs give this DSCP the lossless priority, this one does not",
            source="dcb-app(8); IEEE 802.1Qaz application priorities",
            effect="this rail no longer drops what the others keep",
            risk=_LOST_AT_REBOOT,
            propose=_table,
        ),
        Recommendation(
            id="roce-pfc",
            target=Target.HOST,
            rules=("R06", "R07"),
            reason="one priority, the one everything else names, should be lossless, and no more than it needs",
            source="dcb-pfc(8); NVIDIA Cumulus (1 lossless priority), OCI (2); nccl issue 378",
            effect="no drops under congestion, and no other traffic paused with it",
            risk=f"{_LOST_AT_REBOOT}; switch ports must agree, or pauses go unheard (netkit check qos --switch)",
            propose=_flow_control,
        ),
        Recommendation(
            id="roce-lossless",
            target=Target.HOST,
            rules=(),
            reason="whether RoCE should be lossless is the fabric's design, not a setting of one node",
            source="DCQCN, SIGCOMM 2015; NVIDIA NVUE roce mode lossless and lossy",
            effect="none by itself",
            risk="PFC on one side only pauses nobody",
            propose=_meant,
        ),
        Recommendation(
            id="roce-ecn",
            target=Target.HOST,
            rules=("R08",),
            reason="without congestion control on the lossless priority PFC is the only brake, and congestion spreads",
            source="DCQCN, SIGCOMM 2015; NVIDIA MLNX_OFED documents, ecn/roce_np and roce_rp",
            effect="senders slow down before anybody has to be paused",
            risk=f"{_LOST_AT_REBOOT}; fabrics with another congestion control switch it off on purpose",
            propose=_congestion,
        ),
        Recommendation(
            id="roce-cnp-priority",
            target=Target.HOST,
            rules=("R09",),
            reason="a notification that waits behind paused data arrives when it is too late",
            source="NVIDIA Cumulus (priority 6, strict)",
            effect="congestion control reacts under load",
            risk=f"{_LOST_AT_REBOOT}; the switch needs a strict queue for it (rule F11)",
            propose=_notifications,
        ),
        Recommendation(
            id="roce-buffer",
            target=Target.HOST,
            rules=("R20",),
            reason="the lossless priority needs a receive buffer of its own with room for what arrives after a pause",
            source="dcb-buffer(8); IEEE 802.1Qbb-2011 annex O",
            effect="lossy traffic can no longer fill what lossless packets need",
            risk=f"{_LOST_AT_REBOOT}; the link drops packets for a moment while buffers are cut anew",
            propose=_buffers,
        ),
        Recommendation(
            id="global-pause",
            target=Target.HOST,
            rules=("R10",),
            reason="global pause stops every priority, so that the one that should not wait waits too",
            source="ethtool(8), Linux Documentation/networking/ethtool-netlink.rst; IEEE 802.3x beside 802.1Qbb",
            effect="only the lossless priority is ever paused",
            risk="some drivers restart the link",
            propose=_global_pause,
        ),
        Recommendation(
            id="dcb-owner",
            target=Target.HOST,
            rules=("R23",),
            reason="host and firmware both negotiate, and each undoes what the other agreed",
            source="NVIDIA Cumulus LLDP notes; Linux include/uapi/linux/dcbnl.h",
            effect="settings stay as they were set",
            risk="the owner that stops takes its negotiated settings along",
            propose=_owner,
        ),
    ),
)
