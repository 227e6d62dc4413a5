"""The switch port behind a NIC: what breaks the lossless chain there, and the command that prints how to declare it.

netkit speaks to no switch: `netkit tune switch` prints the snippet of its system, proven by reading it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from netkit.doctor.roce import intent_of, switch_of
from netkit.model.advice import ByHand, Target
from netkit.model.check import Result
from netkit.roce.qos import SwitchQos
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.interfaces import RocePort, lossless_priority, roce_ports

_RULES = ("F01", "F02", "F03", "F04", "F05", "F06", "F08", "F11")
_SETTINGS = {
    "F01": "PFC",
    "F02": "class of the DSCP",
    "F03": "group and queue of the class",
    "F04": "lossless buffer",
    "F05": "ECN marking",
    "F06": "PFC watchdog",
    "F08": "MTU",
    "F11": "queue of notifications",
}


def _broken(facts: Facts) -> Iterator[Proposal | Blank]:
    meant = lossless_priority(facts)
    for one in roce_ports(facts):
        switch = switch_of(facts.context, one.interface)
        for found in facts.findings(*_RULES):
            if found.subject == one.port.name and switch is not None:
                yield _proposal(facts, one, switch, found, meant)


def _proposal(facts: Facts, one: RocePort, switch: SwitchQos, found: Result, meant: int | None) -> Proposal | Blank:
    if meant is None:
        return Blank(subject=switch.port, why=f"{found.summary}; which priority is meant nobody says")
    return Proposal(
        setting=f"{_SETTINGS[found.rule]} of {switch.port}",
        now=found.summary,
        proposed=f"as declared for priority {meant}",
        evidence=(*said([found]), *filter(None, found.evidence)),
        changes=(
            ByHand(
                apply=f"merge what this prints into the switch: {_declaration(facts, one, switch, meant)}",
                rollback="save the running configuration first, and load it back: config reload (SONiC), nv config "
                "apply REVISION (Cumulus), configure replace (EOS, NX-OS)",
            ),
        ),
    )


def _declaration(facts: Facts, one: RocePort, switch: SwitchQos, meant: int) -> str:
    """Return the command whose answer is the whole lossless fabric for this port."""
    words = ["netkit tune switch", f"--lossless {intent_of(facts.context.environment).dscp or 26}:{meant}"]
    if isinstance(one.qos.cnp_dscp, int) and isinstance(one.qos.cnp_priority, int):
        words.append(f"--cnp {one.qos.cnp_dscp}:{one.qos.cnp_priority}")
    rate = one.port.port.rate.bytes_per_second
    words += [f"--speed {round(rate * 8 / 1e9)}gbit"] if isinstance(rate, float) else []
    return " ".join((*words, "--cable METRES", f"--port {quote(switch.port)}", "--for SYSTEM"))


FAMILY = Family(
    id="switch_port",
    recommendations=(
        Recommendation(
            id="switch-port",
            target=Target.SWITCH,
            rules=_RULES,
            reason="a chain is lossless only to its end: what the NIC promises this switch port does not keep",
            source="IEEE 802.1Qbb; SONiC CONFIG_DB schema, NVUE and Onyx RoCE documents",
            effect="no drops and no storms between this NIC and its switch",
            risk="buffers of a switch are shared: other ports feel the change, and some systems restart the port",
            propose=_broken,
        ),
    ),
)
