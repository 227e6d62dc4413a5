"""What keeps congestion from spreading: ECN, notifications, receive buffers, global pause, one party that negotiates.

Commands are iproute2's dcb(8) and ethtool(8) where the kernel knows the setting, sysfs where only the driver does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.model.advice import ByHand, KernelFile, Program, Target
from netkit.model.ethernet_link import Pause
from netkit.model.missing import Missing
from netkit.roce.headroom import headroom_bytes
from netkit.roce.qos import PRIORITIES
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.interfaces import LOST_AT_REBOOT, RocePort, blamed, lossless_priority, safe

_CNP_PRIORITY = 6
_OWN_BUFFER = 1
"""Buffer 0 takes what is lossy."""
_CABLE_METRES = 100.0
"""The longest cable a NIC is likely to have: too much headroom wastes memory, too little loses packets."""


def _congestion(facts: Facts) -> Iterator[Proposal | Blank]:
    meant = lossless_priority(facts)
    for one, evidence in blamed(facts, "R08"):
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
    for one, evidence in blamed(facts, "R09"):
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
    for one, evidence in blamed(facts, "R20"):
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
    for one, evidence in blamed(facts, "R23"):
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


FAMILY = Family(
    id="roce_congestion",
    recommendations=(
        Recommendation(
            id="roce-ecn",
            target=Target.HOST,
            rules=("R08",),
            reason="without congestion control on the lossless priority PFC is the only brake, and congestion spreads",
            source="DCQCN, SIGCOMM 2015; NVIDIA MLNX_OFED documents, ecn/roce_np and roce_rp",
            effect="senders slow down before anybody has to be paused",
            risk=f"{LOST_AT_REBOOT}; fabrics with another congestion control switch it off on purpose",
            propose=_congestion,
        ),
        Recommendation(
            id="roce-cnp-priority",
            target=Target.HOST,
            rules=("R09",),
            reason="a notification that waits behind paused data arrives when it is too late",
            source="NVIDIA Cumulus (priority 6, strict)",
            effect="congestion control reacts under load",
            risk=f"{LOST_AT_REBOOT}; the switch needs a strict queue for it (rule F11)",
            propose=_notifications,
        ),
        Recommendation(
            id="roce-buffer",
            target=Target.HOST,
            rules=("R20",),
            reason="the lossless priority needs a receive buffer of its own with room for what arrives after a pause",
            source="dcb-buffer(8); IEEE 802.1Qbb-2011 annex O",
            effect="lossy traffic can no longer fill what lossless packets need",
            risk=f"{LOST_AT_REBOOT}; the link drops packets for a moment while buffers are cut anew",
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
