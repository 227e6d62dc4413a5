"""The switch's part of the RoCE QoS chain, where its configuration is given (--switch).

`netkit.roce.dialects` reads SONiC's CONFIG_DB and NVUE commands; `netkit.roce.qos_chain` proves the links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.nic_ports import NicPort
from netkit.doctor.roce import chain_of, switch_of
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.roce.qos import SwitchQos
from netkit.roce.qos_chain import LinkName, LinkState, QosChain


def _rule(
    number: str, name: str, severity: Severity, question: str, reads: str, passes: str, why: str, remedy: str
) -> Rule:
    return Rule(
        id=number,
        name=name,
        severity=severity,
        question=question,
        reads=f"{reads}; the NIC's lossless priority",
        passes=passes,
        why=why,
        remedy=remedy,
        source="SONiC configuration documents; NVIDIA Cumulus RoCE guide; IEEE 802.1Qbb",
        caution="judges the configuration given, not what the switch runs: show the running one where they may differ",
        playbook="pfc-storm" if number == "F06" else "qos-mismatch",
    )


PFC = _rule(
    "F01",
    "switch-pfc",
    Severity.CRITICAL,
    "Does the switch port pause the priority that is lossless on the NIC?",
    "pfc_enable of the port (PORT_QOS_MAP)",
    "the priority is among them",
    "pauses that one side sends and the other ignores are drops",
    "add the priority to pfc_enable of the port",
)
CLASS = _rule(
    "F02",
    "switch-dscp-class",
    Severity.CRITICAL,
    "Does the switch put NCCL's DSCP into the lossless class?",
    "DSCP_TO_TC_MAP of the port",
    "the class of the DSCP has group and queue of the lossless priority",
    "the NIC's view of a packet ends at the cable: the switch classifies it anew",
    "map the DSCP to the lossless traffic class, or set NCCL_IB_TC to a DSCP that is mapped so",
)
GROUP = _rule(
    "F03",
    "switch-group-queue",
    Severity.WARNING,
    "Do buffer and queue of the class belong to the lossless priority?",
    "TC_TO_PRIORITY_GROUP_MAP, TC_TO_QUEUE_MAP and the PFC maps of the port",
    "both are those PFC acts on",
    "PFC then watches one buffer while the traffic fills another",
    "make the class's group and queue those of the lossless priority",
)
BUFFER = _rule(
    "F04",
    "switch-lossless-buffer",
    Severity.WARNING,
    "Has the lossless priority a lossless buffer with headroom?",
    "BUFFER_PG and BUFFER_PROFILE of the port",
    "the group has a lossless profile with xoff above zero",
    "what is on the cable when a pause is sent must have room, or it is dropped",
    "give the group a pg_lossless profile for the port's speed and cable length",
)
ECN = _rule(
    "F05",
    "switch-ecn",
    Severity.WARNING,
    "Does the lossless queue mark congestion?",
    "WRED_PROFILE of the queue",
    "ECN is on, and the lower threshold is below the upper one",
    "without marks senders never slow down, and PFC spreads the congestion",
    "attach a WRED profile with ecn_all to the queue",
)
WATCHDOG = _rule(
    "F06",
    "switch-pfc-watchdog",
    Severity.WARNING,
    "Does a PFC watchdog guard the port?",
    "PFC_WD of the port",
    "it is there, within the accepted times, and drops or forwards",
    "one host that pauses for ever stops every switch between it and the others",
    "pfcwd start --action drop PORT detection-time 200 restoration-time 200",
)
CNP = _rule(
    "F11",
    "switch-cnp-queue",
    Severity.WARNING,
    "Do congestion notifications leave by a strict queue of their own?",
    "DSCP_TO_TC_MAP, TC_TO_QUEUE_MAP and SCHEDULER of the port; cnp_dscp of the NIC",
    "their queue is strict and not the data's",
    "a notification behind the data it should slow down comes too late",
    "map the CNP DSCP (48 by default) to a strict queue",
)
MTU = _rule(
    "F08",
    "switch-mtu",
    Severity.CRITICAL,
    "Does the switch port pass the NIC's largest packets?",
    "mtu of the port, and of the NIC's interface",
    "the switch's is at least the NIC's",
    "larger packets vanish without a word, and only large messages fail",
    "raise the switch port's MTU (9100 by custom)",
)
_LINKS = MappingProxyType(
    {
        PFC: (LinkName.SWITCH_PFC,),
        CLASS: (LinkName.SWITCH_CLASS,),
        GROUP: (LinkName.SWITCH_GROUP, LinkName.SWITCH_QUEUE),
        BUFFER: (LinkName.SWITCH_BUFFER,),
        ECN: (LinkName.SWITCH_ECN,),
        WATCHDOG: (LinkName.SWITCH_WATCHDOG,),
        CNP: (LinkName.SWITCH_CNP,),
    }
)
_RULES = (*_LINKS, MTU)


def check(_snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge the switch port behind every RoCE port."""
    if not context.wishes.switches:
        yield from (rule.not_applicable("no switch configuration was given (--switch)") for rule in _RULES)
        return
    ports = [port for port in context.ports if port.roce and port.hardware]
    if not ports:
        yield from (rule.not_applicable("no port is RoCE hardware") for rule in _RULES)
    for port in ports:
        yield from _port(context, port)


def _port(context: Context, port: NicPort) -> Iterator[Result]:
    chain = chain_of(context, port)
    switch = switch_of(context, chain.interface)
    if switch is None:
        yield from (rule.incomplete(port.name, f"no switch port is known behind {chain.interface}") for rule in _RULES)
        return
    for rule, names in _LINKS.items():
        yield _judged(rule, port.name, chain, names)
    yield _mtu(port, switch)


def _judged(rule: Rule, subject: str, chain: QosChain, names: tuple[LinkName, ...]) -> Result:
    links = [link for name in names if (link := chain.link(name)) is not None]
    if not links:
        first = chain.broken
        return rule.incomplete(subject, "an earlier link is broken" if first else "the chain was not followed so far")
    broken = [link for link in links if link.state is LinkState.BROKEN]
    if broken:
        first = chain.broken
        earlier = f"first broken link: {first.name.value}" if first is not None else ""
        return rule.finding(subject, "; ".join(link.said for link in broken), earlier)
    unknown = next((link for link in links if link.state is LinkState.UNKNOWN), None)
    return (
        rule.ok(subject, "; ".join(link.said for link in links))
        if unknown is None
        else rule.incomplete(subject, unknown.said)
    )


def _mtu(port: NicPort, switch: SwitchQos) -> Result:
    if isinstance(switch.mtu_bytes, Missing):
        return MTU.incomplete(port.name, switch.mtu_bytes)
    own = port.netdev.mtu_bytes if port.netdev is not None else "no interface"
    if not isinstance(own, int):
        return MTU.incomplete(port.name, own if isinstance(own, Missing) else NODE)
    said = f"{switch.port} passes {switch.mtu_bytes} bytes, {port.name} sends {own}"
    return MTU.finding(port.name, said) if switch.mtu_bytes < own else MTU.ok(port.name, said)


CHECK = NodeCheck(id="switch_qos", rules=_RULES, check=check)
