"""The RoCE QoS chain of every training port, link by link; `netkit check qos` draws it.

`netkit.roce.qos_chain` proves or breaks the links; each rule here is one of them, or those a person mends together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.nic_ports import NicPort
from netkit.doctor.roce import chain_of, lossless_meant
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.roce.qos_chain import ChainLink, LinkName, LinkState, QosChain

TRUST = Rule(
    id="R05",
    name="roce-trust",
    severity=Severity.WARNING,
    question="Does the NIC take the priority of RoCE packets from their DSCP?",
    reads="trust order and application table of the interface (DCB netlink)",
    passes="DSCP is trusted first",
    why="RoCE v2 packets carry no VLAN tag: trusting the tag puts all of them on priority 0, PFC or not",
    remedy="mlnx_qos -i INTERFACE --trust dscp, or dcb apptrust set dev INTERFACE order dscp; a reboot undoes both",
    source="NVIDIA network operator; the default of mlx5 is the tag",
    caution="kernels before 6.2 do not name the trust: then it is told from the application table",
    playbook="qos-mismatch",
)
PRIORITY = Rule(
    id="R06",
    name="roce-lossless-priority",
    severity=Severity.WARNING,
    question="Does NCCL's traffic travel on the priority that is lossless?",
    reads="NCCL_IB_TC; the NIC's DSCP table and PFC bits",
    passes="the DSCP of NCCL_IB_TC maps to a priority with PFC on",
    why="on a lossy priority one full buffer drops packets, and RoCE resends whole windows: 0.x GB/s in public cases",
    remedy="set NCCL_IB_TC to the class of the lossless priority (106 where DSCP 26 has priority 3), or PFC on its own",
    source="nccl issue 378; NVIDIA Cumulus, SONiC and OCI conventions",
    caution="asked only where something on the way is lossless at all, and of a job only where its settings are given; "
    "cma_roce_tos does not reach NCCL, which sets its own class",
    playbook="qos-mismatch",
)
ECN = Rule(
    id="R08",
    name="roce-ecn",
    severity=Severity.WARNING,
    question="Does congestion control work on the lossless priority?",
    reads="ecn/roce_np/enable and ecn/roce_rp/enable of the interface (NVIDIA's out-of-tree driver shows them)",
    passes="notification and reaction are on for that priority",
    why="without it PFC is the only brake, and congestion spreads to ports that have nothing to do with it",
    remedy="echo 1 > /sys/class/net/INTERFACE/ecn/roce_np/enable/P and roce_rp/enable/P",
    source="DCQCN, SIGCOMM 2015; NVIDIA network operator",
    caution="fabrics with another congestion control (NIC firmware, receiver-driven) switch it off on purpose",
    playbook="ecn-cnp",
)
CNP = Rule(
    id="R09",
    name="roce-cnp-priority",
    severity=Severity.WARNING,
    question="Do congestion notifications overtake the data they should slow down?",
    reads="cnp_802p_prio of the interface; PFC bits",
    passes="their priority is not a lossless one",
    why="a notification that waits behind paused data arrives when it is too late",
    remedy="mlxconfig -d DEVICE set CNP_802P_PRIO_P1=6, CNP_DSCP_P1=48 and a strict queue for it on the switch",
    source="NVIDIA Cumulus (priority 6, strict)",
    caution="the switch's part of it is rule F11",
    playbook="ecn-cnp",
)
BUFFER = Rule(
    id="R20",
    name="roce-buffer",
    severity=Severity.WARNING,
    question="Has the lossless priority a receive buffer of its own?",
    reads="buffers of the interface by priority (DCB netlink)",
    passes="its buffer has bytes and is shared with no lossy priority",
    why="lossy traffic fills a shared buffer, and then lossless packets are dropped or all is paused",
    remedy="mlnx_qos -i INTERFACE --prio2buffer=0,0,0,1,0,0,0,0 --buffer_size=…, or give the driver the --cable_len",
    source="NVIDIA mlnx_qos documentation; IEEE 802.1Qbb annex O",
    caution="only drivers that show their buffers can be judged",
    playbook="lossless-drops",
)
COUNT = Rule(
    id="R07",
    name="roce-lossless-count",
    severity=Severity.WARNING,
    question="Are few priorities lossless?",
    reads="PFC bits of the interface",
    passes="one, or two at most",
    why="every lossless priority takes buffer from the others, and pauses for storage stop training too",
    remedy="mlnx_qos -i INTERFACE --pfc 0,0,0,1,0,0,0,0",
    source="NVIDIA Cumulus (1), OCI (2)",
    caution="two are usual where storage is RoCE as well",
    playbook="qos-mismatch",
)
_RULES = (TRUST, PRIORITY, ECN, CNP, BUFFER, COUNT)
_RULE_OF = MappingProxyType(
    {
        LinkName.NIC_TRUST: TRUST,
        LinkName.TRAFFIC_CLASS: PRIORITY,
        LinkName.NIC_PRIORITY: PRIORITY,
        LinkName.NIC_PFC: PRIORITY,
        LinkName.NIC_ECN: ECN,
        LinkName.NIC_CNP: CNP,
        LinkName.NIC_BUFFER: BUFFER,
    }
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every RoCE port with hardware behind it."""
    ports = [port for port in context.ports if port.roce and port.hardware]
    if not ports:
        for rule in _RULES:
            yield no_ports(rule, snapshot) if not context.ports else rule.not_applicable("no port is RoCE hardware")
        return
    lossless = lossless_meant(context)
    for port in ports:
        yield from _port(context, port, lossless=lossless)


def _port(context: Context, port: NicPort, *, lossless: bool | Missing) -> Iterator[Result]:
    if isinstance(lossless, Missing):
        yield from (rule.incomplete(port.name, lossless) for rule in _RULES)
        return
    if not lossless:
        yield from (rule.not_applicable("nothing on this node is lossless", port.name) for rule in _RULES)
        return
    chain = chain_of(context, port)
    by_rule: dict[str, list[ChainLink]] = {}
    for link in chain.links:
        rule = _RULE_OF.get(link.name)
        if rule is not None:
            by_rule.setdefault(rule.id, []).append(link)
    for rule in _RULES[:-1]:
        links = by_rule.get(rule.id, [])
        yield _judged(context, rule, port, chain, links) if links else rule.incomplete(port.name, _unreached(chain))
    yield _count(context, port)


def _unreached(chain: QosChain) -> str:
    return f"the chain of {chain.interface} names no lossless priority"


def _judged(context: Context, rule: Rule, port: NicPort, chain: QosChain, links: list[ChainLink]) -> Result:
    if rule is PRIORITY and not context.environment.given:
        # Without a job only the NIC's own part is known: DSCP 0 is nobody's wish.
        links = [link for link in links if link.name is LinkName.NIC_PFC]
    broken = [link for link in links if link.state is LinkState.BROKEN]
    unknown = [link for link in links if link.state is LinkState.UNKNOWN]
    if broken:
        first = next((link.name.value for link in chain.links if link.state is LinkState.BROKEN), "")
        return rule.finding(port.name, "; ".join(link.said for link in broken), f"first broken link: {first}")
    if unknown:
        return rule.incomplete(port.name, unknown[0].said)
    return rule.ok(port.name, "; ".join(link.said for link in links))


def _count(context: Context, port: NicPort) -> Result:
    qos = context.qos[port.name]
    lossless = qos if isinstance(qos, Missing) else qos.lossless
    if isinstance(lossless, Missing):
        return COUNT.incomplete(port.name, lossless)
    shown = ", ".join(map(str, sorted(lossless))) or "none"
    if len(lossless) > context.thresholds.most_lossless_priorities:
        return COUNT.finding(port.name, f"{len(lossless)} priorities are lossless: {shown}")
    return COUNT.ok(port.name, f"lossless: {shown}")


CHECK = NodeCheck(id="roce_qos", rules=_RULES, check=check)
