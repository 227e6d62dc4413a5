"""Which priority RoCE traffic gets on a NIC, and whether that one is lossless: trust, DSCP table, PFC.

Commands are iproute2's dcb(8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.roce import intent_of
from netkit.model.advice import Program, Target
from netkit.model.missing import Missing
from netkit.model.qos import AppSelector, Trust
from netkit.roce.qos import DSCPS, PRIORITIES
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation
from netkit.tuning.interfaces import LOST_AT_REBOOT, RocePort, blamed, lossless_priority, roce_ports, unsafe_names

_MOST_LOSSLESS = 2


def _trust(facts: Facts) -> Iterator[Proposal | Blank]:
    yield from unsafe_names(facts)
    for one, evidence in blamed(facts, "R05", gang="trust"):
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
    for one, evidence in blamed(facts, "R06"):
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
    for one, evidence in blamed(facts, "R06", "R07", gang="lossless"):
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


def _meant(facts: Facts) -> Iterator[Blank]:
    ports = tuple(roce_ports(facts))
    if ports and lossless_priority(facts) is None and all(one.qos.lossless == frozenset() for one in ports):
        why = "no NIC of this node has a lossless priority; whether the fabric should be lossless only its plan says"
        yield Blank(subject="PFC", why=why)


FAMILY = Family(
    id="roce_priority",
    recommendations=(
        Recommendation(
            id="roce-trust",
            target=Target.HOST,
            rules=("R05",),
            reason="RoCE v2 packets carry no VLAN tag: trusting the tag puts all of them on priority 0, PFC or not",
            source="dcb-apptrust(8); NVIDIA network operator sets DSCP; the default of mlx5 is the tag",
            effect="NCCL's traffic class decides the priority",
            risk=f"{LOST_AT_REBOOT}; kernels before 6.2 have no apptrust: mlnx_qos -i INTERFACE --trust dscp there",
            propose=_trust,
        ),
        Recommendation(
            id="roce-dscp-priority",
            target=Target.HOST,
            rules=("R06",),
            reason="the other NICs give this DSCP the lossless priority, this one does not",
            source="dcb-app(8); IEEE 802.1Qaz application priorities",
            effect="this rail no longer drops what the others keep",
            risk=LOST_AT_REBOOT,
            propose=_table,
        ),
        Recommendation(
            id="roce-pfc",
            target=Target.HOST,
            rules=("R06", "R07"),
            reason="one priority, the one everything else names, should be lossless, and no more than it needs",
            source="dcb-pfc(8); NVIDIA Cumulus (1 lossless priority), OCI (2); nccl issue 378",
            effect="no drops under congestion, and no other traffic paused with it",
            risk=f"{LOST_AT_REBOOT}; switch ports must agree, or pauses go unheard (netkit check qos --switch)",
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
    ),
)
