"""Which NIC each GPU has, judged from the PCI tree the way NCCL sees it, and against a platform's table.

The judgement itself is `netkit.topology.pairing`; these rules put it beside the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.topology import DeviceMatrix, GpuPairing, PairingAnswer
from netkit.topology.platform_match import golden
from netkit.topology.view import TopologyView

PAIRED = Rule(
    id="T01",
    name="gpu-nic-pairing",
    severity=Severity.WARNING,
    question="Does every GPU use a NIC that is as near as any, and none that belongs to another GPU?",
    reads="where GPUs and NICs sit in /sys/devices, their link speeds and NUMA nodes",
    passes="the NIC NCCL chooses is under the GPU's own switch (or CPU, on coherent platforms) and nearest of all",
    why="traffic over a CPU or a socket link moves at a fraction: 25 instead of 56 GB/s on one aligned pair",
    remedy="netkit topo explain GPU; move the card, list the right NICs in NCCL_IB_HCA, or give NCCL a topology file",
    source="Azure AKS measurements (SYS 25, aligned 56 GB/s); NVIDIA NCCL, src/graph/topo.cc",
    caution="distances alone are judged, names never; where a hypervisor hides the switches the answer is incomplete; "
    "PHB in an NCCL log may mean missing peer memory (G01), not a bad slot",
    playbook="gpu-nic-pairing",
)
TABLE = Rule(
    id="T02",
    name="platform-pairing",
    severity=Severity.WARNING,
    question="Are GPUs and NICs paired as this machine type pairs them?",
    reads="PCI addresses of GPUs and NICs; the platform's published table",
    passes="every GPU has the NICs the table gives it, where the table puts them",
    why="comparing bus addresses and NUMA nodes as sets lets two swapped NICs of one socket pass; pairs do not",
    remedy="compare slots and BIOS settings with a node that is right: netkit topo diff GOOD THIS",
    source="oracle-quickstart/oci-hpc shapes, microsoft/superbenchmark topology files",
    caution="needs a platform whose addresses are published, recognised by them or named by --profile",
    playbook="gpu-nic-pairing",
)
BALANCE = Rule(
    id="T03",
    name="nic-balance",
    severity=Severity.WARNING,
    question="Do NICs serve about equally many GPUs?",
    reads="NCCL's choice of NIC for every GPU",
    passes="no NIC that is used serves two GPUs more than another one that is used or free",
    why="two GPUs on one NIC have half each while another NIC idles; the slowest ring sets the pace",
    remedy="netkit topo explain GPU; NCCL_NETDEVS_POLICY, the list in NCCL_IB_HCA, or the slots",
    source="nccl issue 685",
    caution="NICs slower than half the fastest do not count: they are there for storage",
    playbook="gpu-nic-pairing",
)
NEAREST_FASTEST = Rule(
    id="T04",
    name="slow-nic-nearest",
    severity=Severity.WARNING,
    question="Is the nearest NIC of a GPU also the fastest?",
    reads="port rates and paths",
    passes="no slow NIC is nearer to a GPU than every fast one",
    why="NCCL takes the widest path first; a slow NIC nearby invites both PXN detours and wrong manual lists",
    remedy="leave the slow NIC out of NCCL_IB_HCA, or put a fast one into that slot",
    source="ROCm RCCL topology test topo_8p_rome_n2_1",
    caution="derived from NCCL's choice, not measured",
    playbook="gpu-nic-pairing",
)
SHARED_SLOT = Rule(
    id="T27",
    name="storage-nic-in-use",
    severity=Severity.INFO,
    question="Does NCCL leave NICs alone that are there for storage?",
    reads="port rates, NCCL_IB_HCA",
    passes="no NIC below half the rate of the fastest is used by a GPU",
    why="a 100 Gbit/s storage NIC in a 400 Gbit/s ring sets the pace, and storage traffic suffers too",
    remedy="list the compute NICs exactly: NCCL_IB_HCA==mlx5_0,mlx5_1,…",
    source="nccl issues 595 and 820",
    caution="judged by rate; a storage NIC as fast as the others cannot be told from them",
    playbook="gpu-nic-pairing",
)
_RULES = (PAIRED, TABLE, BALANCE, NEAREST_FASTEST, SHARED_SLOT)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge GPU by GPU, then the node as a whole."""
    view = context.view
    if isinstance(view, Missing):
        for rule in _RULES:
            missing = isinstance(snapshot.pci_devices, Missing)
            yield rule.incomplete(NODE, view) if missing else rule.not_applicable(view.detail)
        return
    for pairing in view.pairing.gpus:
        yield _paired(context, view, pairing)
    yield from _against_table(context, view)
    yield _balance(view)
    yield from _speeds(view)


def _paired(context: Context, view: TopologyView, pairing: GpuPairing) -> Result:
    subject = _name(context, view.matrix, pairing.gpu)
    if pairing.answer is PairingAnswer.UNKNOWN:
        return PAIRED.incomplete(subject, pairing.why)
    if pairing.answer is PairingAnswer.OK:
        return PAIRED.ok(subject, pairing.why)
    evidence = next((one.evidence for one in view.pairing.findings if one.subject == pairing.gpu), ())
    return PAIRED.finding(subject, pairing.why, *evidence)


def _against_table(context: Context, view: TopologyView) -> Iterator[Result]:
    platform = context.platform
    table = golden(view.matrix, platform) if platform is not None else {}
    if platform is None or not table:
        yield TABLE.not_applicable("no platform table knows these GPUs by address")
        return
    about = {one.subject: one for one in view.pairing.findings if one.id in {"nic-missing", "not-the-platform"}}
    for gpu, nics in table.items():
        subject = _name(context, view.matrix, gpu)
        if gpu in about:
            yield TABLE.finding(subject, about[gpu].summary, *about[gpu].evidence)
        elif view.matrix.hidden is not None:
            yield TABLE.incomplete(subject, f"{view.matrix.hidden}; {platform.id} pairs it with {', '.join(nics)}")
        else:
            yield TABLE.ok(subject, f"{', '.join(nics)}, as {platform.id} has it")


def _balance(view: TopologyView) -> Result:
    if view.matrix.hidden is not None:
        return BALANCE.incomplete(NODE, "the switches are hidden, so which GPUs share a NIC is not known")
    load = {nic.name: 0 for nic in view.matrix.nics if _fast(view.matrix, nic.name)}
    for pairing in view.pairing.gpus:
        for nic in pairing.used:
            load[nic] = load.get(nic, 0) + 1
    used = {nic: count for nic, count in load.items() if count}
    if len(load) < 2 or not used:
        return BALANCE.not_applicable("fewer than two NICs to balance")
    busiest = max(used, key=lambda nic: used[nic])
    idlest = min(load, key=lambda nic: load[nic])
    if used[busiest] - load[idlest] > 1:
        said = f"{busiest} serves {used[busiest]} GPUs while {idlest} serves {load[idlest]}"
        return BALANCE.finding(NODE, said, *(f"{nic}: {count} GPUs" for nic, count in sorted(load.items())))
    return BALANCE.ok(NODE, f"{len(used)} NICs serve {used[busiest]} GPUs each at most")


def _speeds(view: TopologyView) -> Iterator[Result]:
    slow = {nic.name for nic in view.matrix.nics if not _fast(view.matrix, nic.name)}
    if not slow or view.matrix.hidden is not None:
        for rule in (NEAREST_FASTEST, SHARED_SLOT):
            yield rule.not_applicable("all NICs are about equally fast" if not slow else "the switches are hidden")
        return
    near = [gpu.id for gpu in view.matrix.gpus if _slow_is_nearer(view.matrix, gpu.id, slow)]
    used = sorted({nic for pairing in view.pairing.gpus for nic in pairing.used} & slow)
    if near:
        yield NEAREST_FASTEST.finding(NODE, f"a slow NIC is nearer than any fast one to {', '.join(near)}")
    else:
        yield NEAREST_FASTEST.ok(NODE, f"{', '.join(sorted(slow))} slower, and nearer to no GPU than the fast ones")
    if used:
        yield SHARED_SLOT.finding(NODE, f"NCCL uses {', '.join(used)}, much slower than the others")
    else:
        yield SHARED_SLOT.ok(NODE, f"{', '.join(sorted(slow))} left alone")


def _slow_is_nearer(matrix: DeviceMatrix, gpu: str, slow: set[str]) -> bool:
    paths = {nic.name: matrix.reach[gpu, nic.name].path for nic in matrix.nics}
    fast = [path for nic, path in paths.items() if nic not in slow]
    return bool(fast) and min(paths[nic] for nic in slow) < min(fast)


def _fast(matrix: DeviceMatrix, name: str) -> bool:
    rates = {nic.name: nic.rate for nic in matrix.nics}
    fastest = max((rate for rate in rates.values() if rate is not None), default=0.0)
    rate = rates[name]
    return rate is None or rate >= fastest / 2


def _name(context: Context, matrix: DeviceMatrix, gpu: str) -> str:
    address = next(end.address for end in matrix.gpus if end.id == gpu)
    return gpu if address is None else context.pci.name(address)


CHECK = NodeCheck(id="pairing", rules=_RULES, check=check, needs=("pci_devices",))
