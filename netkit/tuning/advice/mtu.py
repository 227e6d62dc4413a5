"""MTU of training interfaces: room for RoCE packets of 4096 bytes, and one value everywhere.

Linux include/rdma/ib_addr.h, iboe_get_mtu: the largest RoCE size that fits the interface with 96 bytes of headers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from netkit.doctor.contract import Member
from netkit.model.advice import KernelFile, Target
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.interfaces import safe, unsafe_names

_ENOUGH = 4200
"""4096 bytes and headers, in the round figure vendors publish (OCI: 4220)."""


def _mtu(facts: Facts) -> Iterator[Proposal | Blank]:
    found = [one for one in facts.findings("R03", "R04", "J05") if one.rule != "J05" or one.summary.startswith("MTU")]
    if not found:
        return
    yield from unsafe_names(facts)
    wanted = _usual(facts)
    for name, mtu in _mtus(facts.member).items():
        if mtu != wanted and safe(name):
            path = f"/sys/class/net/{name}/mtu"
            yield Proposal(
                setting=f"mtu of {name}",
                now=str(mtu),
                proposed=str(wanted),
                evidence=(*said(found), f"{name} has MTU {mtu}"),
                changes=(KernelFile(path=path, present=str(mtu), proposed=str(wanted)),),
            )


def _usual(facts: Facts) -> int:
    """Return the value most interfaces of the gang have; the least one that is enough where most have too little."""
    fellows = facts.fellows or (facts.member,)
    values = Counter(mtu for member in fellows for mtu in _mtus(member).values())
    return max(max(values, key=lambda mtu: (values[mtu], mtu)), _ENOUGH)


def _mtus(member: Member) -> dict[str, int]:
    found = (port.netdev for port in member.context.ports if port.roce and port.hardware)
    return {one.name: one.mtu_bytes for one in found if one is not None and isinstance(one.mtu_bytes, int)}


FAMILY = Family(
    id="mtu",
    recommendations=(
        Recommendation(
            id="roce-mtu",
            target=Target.HOST,
            rules=("R03", "R04"),
            reason="the smaller end decides the size of RoCE packets without a warning; unequal ends can fail",
            source="Linux include/rdma/ib_addr.h; nccl issue 709; DGX Spark playbooks, pull request 103 (about 5 %)",
            effect="fewer headers: 4096-byte packets carry 98 % payload, 1024-byte ones 93 %",
            risk="every switch port on the way must pass the size; lost at reboot; connections pause while it changes",
            propose=_mtu,
        ),
    ),
)
