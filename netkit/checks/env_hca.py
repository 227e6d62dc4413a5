"""NCCL_IB_HCA, NCCL_SOCKET_IFNAME and their likes: names that must match devices of this node.

Grammar: `netkit.topology.hca_filter`; NCCL user guide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.job import JOB, not_given
from netkit.errors import InputError
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.topology.hca_filter import HcaFilter

RESOLVES = Rule(
    id="N08",
    name="hca-list",
    severity=Severity.CRITICAL,
    question="Does NCCL_IB_HCA name ports that are here and up, and leave out none that a GPU needs?",
    reads="NCCL_IB_HCA; names, states and pairings of the RDMA ports",
    passes="every name matches a port that is up, and every NIC that is nearest to a GPU passes",
    why="a name that matches nothing is skipped silently; a compute NIC left out idles for good",
    remedy="list the compute NICs exactly: NCCL_IB_HCA==NAME,NAME,…",
    source="oracle-quickstart/oci-hpc (exact lists); nccl issue 1591",
    caution="leaving a near NIC out is a warning only: somebody may reserve it",
    playbook="gpu-nic-pairing",
)
GREEDY = Rule(
    id="N09",
    name="hca-prefix",
    severity=Severity.WARNING,
    question="Does every name of NCCL_IB_HCA mean the one port it spells?",
    reads="NCCL_IB_HCA; names of the RDMA ports",
    passes="no name without = is the beginning of another port's name as well",
    why="mlx5_1 also takes mlx5_10 to mlx5_19, storage ports among them",
    remedy="put = in front of the list: NCCL_IB_HCA==mlx5_1,…",
    source="NCCL user guide, NCCL_IB_HCA",
    caution="a prefix that is no port's whole name (mlx5) is taken for intended",
    playbook="gpu-nic-pairing",
)
MOST = Rule(
    id="N10",
    name="hca-count",
    severity=Severity.CRITICAL,
    question="Are there few enough RDMA ports for NCCL?",
    reads="RDMA ports that pass NCCL_IB_HCA",
    passes="at most 32 ports",
    why="NCCL holds 32 and drops the rest in the order it finds them",
    remedy="filter with NCCL_IB_HCA; hide virtual functions the job does not use",
    source="NVIDIA NCCL, src/transport/net_ib (MAX_IB_DEVS)",
    caution="virtual functions are not counted unless they were read",
    playbook="gpu-nic-pairing",
)
INTERFACE = Rule(
    id="E12",
    name="socket-interface",
    severity=Severity.CRITICAL,
    question="Does NCCL_SOCKET_IFNAME match an interface that is up?",
    reads="NCCL_SOCKET_IFNAME; interfaces of this network namespace",
    passes="it is not set, or at least one interface that is up matches",
    why="bootstrap goes over that interface: without one NCCL ends at once, over a wrong one ranks cannot meet",
    remedy="name the interface exactly: NCCL_SOCKET_IFNAME==eth0",
    source="NCCL user guide, NCCL_SOCKET_IFNAME",
    caution="whether the nodes can reach each other over it is not asked here",
    playbook="nccl-probe-failing",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge the port list, then the interface."""
    yield from _ports(snapshot, context)
    yield _interface(snapshot, context)


def _ports(snapshot: NodeSnapshot, context: Context) -> Iterator[Result]:
    yield _most(snapshot, context)
    text = context.environment.text("NCCL_IB_HCA")
    if text is None:
        for rule in (RESOLVES, GREEDY):
            unasked = not_given(context, rule)
            yield unasked or rule.ok(JOB, "NCCL_IB_HCA is not set: NCCL takes every port")
        return
    if not context.all_ports:
        for rule in (RESOLVES, GREEDY):
            yield no_ports(rule, snapshot)
        return
    try:
        wanted = HcaFilter.parse(text)
    except InputError as fault:
        yield RESOLVES.finding(JOB, str(fault))
        yield GREEDY.incomplete(JOB, "the list cannot be read")
        return
    yield from _resolved(context, wanted, text)
    yield from _greedy(context, wanted)


def _most(snapshot: NodeSnapshot, context: Context) -> Result:
    if not context.all_ports:
        return no_ports(MOST, snapshot)
    count, most = len(context.ports), context.thresholds.most_hcas
    said = f"{count} ports for NCCL"
    return MOST.finding(NODE, f"{said}, it holds {most}") if count > most else MOST.ok(NODE, said)


def _resolved(context: Context, wanted: HcaFilter, text: str) -> Iterator[Result]:
    names = {port.device.name: port for port in context.all_ports}
    unmatched = [
        name
        for name, _ in wanted.entries
        if not any(other == name if wanted.exact else other.startswith(name) for other in names)
    ]
    if unmatched and not wanted.exclude:
        yield RESOLVES.finding(JOB, f"{', '.join(unmatched)} matches no RDMA device here", f"NCCL_IB_HCA={text}")
    elif not context.ports:
        yield RESOLVES.finding(JOB, f"NCCL_IB_HCA={text} leaves no port to use")
    else:
        yield from _left_out(context, text)


def _left_out(context: Context, text: str) -> Iterator[Result]:
    passing = {port.device.address for port in context.ports}
    rates = {port.device.address: port.port.rate.bytes_per_second for port in context.all_ports}
    fastest = max((rate for rate in rates.values() if isinstance(rate, float)), default=0.0)
    near = dict.fromkeys(pair.nic.address for pair in context.pci.pairs)
    missing = [
        address
        for address in near
        if address not in passing and isinstance(rate := rates.get(address), float) and rate >= fastest
    ]
    if missing:
        said = f"{', '.join(map(context.pci.name, missing))} shares a switch with a GPU and is left out"
        yield RESOLVES.finding(JOB, said, f"NCCL_IB_HCA={text}", severity=Severity.WARNING)
    else:
        yield RESOLVES.ok(JOB, f"{len(context.ports)} ports pass")


def _greedy(context: Context, wanted: HcaFilter) -> Iterator[Result]:
    names = sorted({port.device.name for port in context.all_ports})
    taken = {name: [other for other in names if other.startswith(name)] for name, _ in wanted.entries}
    greedy = {} if wanted.exact else {name: got for name, got in taken.items() if name in got and len(got) > 1}
    for name, got in greedy.items():
        others = ", ".join(other for other in got if other != name)
        yield GREEDY.finding(name, f"{name} also takes {others}; ={name} takes it alone")
    if not greedy:
        yield GREEDY.ok(JOB, "every name means what it spells")


def _interface(snapshot: NodeSnapshot, context: Context) -> Result:
    unasked = not_given(context, INTERFACE)
    if unasked is not None:
        return unasked
    text = context.environment.text("NCCL_SOCKET_IFNAME")
    if not text:
        return INTERFACE.ok(JOB, "not set: NCCL chooses")
    if isinstance(snapshot.netdevs, Missing):
        return INTERFACE.incomplete(JOB, snapshot.netdevs)
    rest = text.removeprefix("^")
    exact, names = rest.startswith("="), rest.removeprefix("=").split(",")
    matched = [
        netdev
        for netdev in snapshot.netdevs
        if any(netdev.name == name if exact else netdev.name.startswith(name) for name in names) != text.startswith("^")
    ]
    up = [netdev.name for netdev in matched if netdev.operational_state in {"up", "unknown"}]
    if up:
        return INTERFACE.ok(JOB, f"{', '.join(up[:4])}")
    known = ", ".join(netdev.name for netdev in snapshot.netdevs[:12])
    why = "the interface it matches is down" if matched else "it matches no interface"
    return INTERFACE.finding(JOB, f"NCCL_SOCKET_IFNAME={text}: {why}", f"here are {known}")


CHECK = NodeCheck(id="env_hca", rules=(RESOLVES, GREEDY, MOST, INTERFACE), check=check)
