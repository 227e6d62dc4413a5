"""What must be one and the same on every node of a gang: names, versions, RoCE settings, NVLink domains, GPUs.

Whatever most nodes have is taken for meant; the nodes that differ are the findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netkit.doctor.contract import GangCheck, Member
from netkit.doctor.nic_ports import NicPort, gid_family
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.roce.qos import HostQos

GANG = "gang"
NAMES = Rule(
    id="J01",
    name="gang-hca-names",
    severity=Severity.CRITICAL,
    question="Do all nodes have the same RDMA device names in the same order?",
    reads="names and PCI order of the training ports of every node",
    passes="one list on all nodes",
    why="NCCL pairs NIC i with NIC i and one NCCL_IB_HCA serves all ranks: another name is another rail, or a hang",
    remedy="udev rules that name by slot (rdma-core's rdma-ndd), or exact lists for each node type",
    source="nccl issues 1277 and 1591",
    caution="nodes of two machine types may differ by nature: check each type by itself",
    playbook="gpu-nic-pairing",
)
COUNTS = Rule(
    id="J11",
    name="gang-device-counts",
    severity=Severity.CRITICAL,
    question="Do all nodes have as many GPUs and training ports?",
    reads="GPUs in the PCI tree and active training ports of every node",
    passes="one count each",
    why="NCCL 2.30 ignores a missing NIC by default, and the whole gang runs at that node's pace",
    remedy="T21 and N01 of the odd node",
    source="NCCL user guide, NCCL_IGNORE_NET_MISMATCH",
    caution="virtual functions are not counted",
    playbook="rdma-device-missing",
)
VERSIONS = Rule(
    id="J04",
    name="gang-versions",
    severity=Severity.WARNING,
    question="Do all nodes run the same kernel, drivers and NIC firmware?",
    reads="kernel release, versions of the GPU, RDMA and peer-memory modules, firmware by board",
    passes="one value each",
    why="the node with the other version is the one whose bugs nobody has seen yet",
    remedy="one image and one firmware bundle for the gang",
    source="oracle-quickstart/oci-hpc; common practice",
    caution="a rolling update shows here while it lasts",
    playbook="nccl-slow",
)
ROCE = Rule(
    id="J05",
    name="gang-roce-settings",
    severity=Severity.CRITICAL,
    question="Do all nodes agree on MTU, GID family, trust and lossless priorities?",
    reads="MTU, GID tables and DCB settings of the training ports of every node",
    passes="one value each",
    why="unlike MTUs end in error 12, unlike priorities in drops on one side only, which look like a bad cable",
    remedy="set the odd node up like the others; R03 to R09 say what it has",
    source="nccl issues 709, 1427 and 1573",
    caution="a node whose settings could not be read is left out, and named incomplete",
    playbook="qos-mismatch",
)
RATES = Rule(
    id="J12",
    name="gang-port-rates",
    severity=Severity.WARNING,
    question="Are the training ports of all nodes equally fast?",
    reads="rates of the active training ports of every node",
    passes="one list of rates",
    why="one node at half the rate halves every collective it takes part in",
    remedy="N02 of the odd node: cable, module, negotiation",
    source="common practice; the gang runs at its slowest port",
    caution="nodes of two machine types may differ by nature",
    playbook="rdma-port-speed",
)
CLIQUE = Rule(
    id="J08",
    name="gang-nvlink-clique",
    severity=Severity.CRITICAL,
    question="Are nodes of one NVLink domain in one clique?",
    reads="fabric cluster and clique of every GPU",
    passes="GPUs of one cluster have one clique",
    why="GPUs of another clique are reached over the network although NVLink is there",
    remedy="nvidia-imex and the fabric manager on the odd node; IMEX node list",
    source="nccl issue 2186",
    caution="operators may split a domain into cliques on purpose",
    playbook="nvlink",
)
CLOCKS = Rule(
    id="J10",
    name="gang-gpu-limits",
    severity=Severity.WARNING,
    question="Do all GPUs of the gang have the same power limit and maximal clock?",
    reads="power limits and maximal clocks of every GPU",
    passes="one value each",
    why="the GPU with the lower limit is late to every collective",
    remedy="nvidia-smi -pl and -rac on the odd node",
    source="common practice; NVML",
    caution="GPUs of two models differ by nature",
    playbook="gpu-throttle",
)
_MODULES = ("nvidia", "nvidia_peermem", "mlx5_core", "amdgpu", "bnxt_re", "irdma", "ionic_rdma")
Value = str | None


@dataclass(frozen=True, slots=True)
class _Trait:
    """One thing that must be alike; `read` gives it as text, None where a node could not say."""

    rule: Rule
    what: str
    read: Callable[[Member], Value]


def check(members: Sequence[Member]) -> Iterable[Result]:
    """Compare every trait over all members."""
    for trait in _TRAITS:
        values = {member.name: trait.read(member) for member in members}
        yield from _compared(trait, values)
    yield from _cliques(members)


def _compared(trait: _Trait, values: Mapping[str, Value]) -> Iterator[Result]:
    known = {name: value for name, value in values.items() if value is not None}
    unread = [name for name in values if name not in known]
    if len(known) < 2:
        yield trait.rule.incomplete(GANG, f"{trait.what} of fewer than two nodes is known")
        return
    usual, count = Counter(known.values()).most_common(1)[0]
    odd = {name: value for name, value in known.items() if value != usual}
    for name, value in odd.items():
        said = f"{trait.what} {value}; {count} of {len(known)} nodes have {usual}"
        yield trait.rule.finding(name, said)
    if not odd:
        rest = f"; {len(unread)} nodes could not say" if unread else ""
        yield trait.rule.ok(GANG, f"{trait.what}: {usual} on {len(known)} nodes{rest}")
    for name in unread[:1]:
        yield trait.rule.incomplete(name, f"{trait.what} is not known here, nor on {len(unread) - 1} more nodes")


def _names(member: Member) -> Value:
    ports = sorted(member.context.ports, key=_slot)
    return ",".join(port.name for port in ports) or None


def _slot(port: NicPort) -> tuple[str, str]:
    return str(port.device.address), port.name


def _gpus(member: Member) -> Value:
    return str(len(member.context.pci.gpus)) if not isinstance(member.snapshot.pci_devices, Missing) else None


def _ports(member: Member) -> Value:
    known = not isinstance(member.snapshot.rdma_devices, Missing)
    return str(sum(port.active for port in member.context.ports)) if known else None


def _rates(member: Member) -> Value:
    texts = [port.port.rate.text for port in sorted(member.context.ports, key=_slot) if port.active]
    known = [text for text in texts if isinstance(text, str)]
    return ", ".join(f"{count} x {text}" for text, count in Counter(known).items()) or None


def _kernel(member: Member) -> Value:
    release = member.snapshot.host.kernel
    return release if isinstance(release, str) else None


def _module(name: str) -> Callable[[Member], Value]:
    def read(member: Member) -> Value:
        found = next((one for one in member.snapshot.host.modules if one.name == name), None)
        if found is None:
            return "not loaded"
        return found.version if isinstance(found.version, str) else "loaded"

    return read


def _firmware(member: Member) -> Value:
    pairs = {(port.device.board_id, port.device.firmware) for port in member.context.ports}
    known = sorted(f"{board} {version}" for board, version in pairs if isinstance(version, str))
    return ", ".join(known) or None


def _mtus(member: Member) -> Value:
    found = {port.netdev.mtu_bytes for port in member.context.ports if port.roce and port.netdev is not None}
    return ",".join(sorted(str(mtu) for mtu in found if isinstance(mtu, int))) or None


def _families(member: Member) -> Value:
    tables = [port.port.gid_table for port in member.context.ports if port.roce]
    rows = [gid for table in tables if not isinstance(table, Missing) for gid in table.gids if gid.kind == "RoCE v2"]
    return ",".join(sorted({f"IPv{number}" for gid in rows if (number := gid_family(gid)) is not None})) or None


def _qos(field: str) -> Callable[[Member], Value]:
    def read(member: Member) -> Value:
        found = [member.context.qos[port.name] for port in member.context.ports if port.roce and port.hardware]
        values = [getattr(qos, field) for qos in found if isinstance(qos, HostQos)]
        known = [value for value in values if not isinstance(value, Missing)]
        shown = {",".join(map(str, sorted(value))) if isinstance(value, frozenset) else str(value) for value in known}
        return " and ".join(sorted(shown)) or ("none" if known else None)

    return read


def _limit(member: Member) -> Value:
    limits = {gpu.power.limit_watts for gpu in member.snapshot.accelerators.gpus}
    return ", ".join(sorted(f"{watts:.0f} W" for watts in limits if isinstance(watts, float))) or None


def _clock(member: Member) -> Value:
    clocks = {gpu.clocks.max_graphics_hertz for gpu in member.snapshot.accelerators.gpus}
    return ", ".join(sorted(f"{hertz / 1e6:.0f} MHz" for hertz in clocks if isinstance(hertz, int))) or None


_TRAITS = (
    _Trait(NAMES, "RDMA devices", _names),
    _Trait(COUNTS, "GPUs", _gpus),
    _Trait(COUNTS, "active training ports", _ports),
    _Trait(RATES, "rates", _rates),
    _Trait(VERSIONS, "kernel", _kernel),
    *(_Trait(VERSIONS, f"module {name}", _module(name)) for name in _MODULES),
    _Trait(VERSIONS, "NIC firmware", _firmware),
    _Trait(ROCE, "MTU", _mtus),
    _Trait(ROCE, "GID family", _families),
    _Trait(ROCE, "trust", _qos("trust")),
    _Trait(ROCE, "lossless priorities", _qos("lossless")),
    _Trait(CLOCKS, "power limit", _limit),
    _Trait(CLOCKS, "maximal clock", _clock),
)


def _cliques(members: Sequence[Member]) -> Iterator[Result]:
    cliques: dict[str, Counter[int]] = {}
    where: dict[tuple[str, int], list[str]] = {}
    for member in members:
        for gpu in member.snapshot.accelerators.gpus:
            fabric = gpu.fabric
            if isinstance(fabric, Missing) or not isinstance(fabric.cluster, str) or not isinstance(fabric.clique, int):
                continue
            cliques.setdefault(fabric.cluster, Counter())[fabric.clique] += 1
            where.setdefault((fabric.cluster, fabric.clique), []).append(member.name)
    if not cliques:
        yield CLIQUE.not_applicable("no GPU belongs to an NVLink domain of several nodes", GANG)
    for cluster, counts in cliques.items():
        usual = counts.most_common(1)[0][0]
        odd = dict.fromkeys(name for clique in counts if clique != usual for name in where[cluster, clique])
        for name in odd:
            yield CLIQUE.finding(name, f"GPUs of domain {cluster} outside its clique {usual}")
        if not odd:
            yield CLIQUE.ok(GANG, f"domain {cluster}: {sum(counts.values())} GPUs in clique {usual}")


CHECK = GangCheck(id="gang_uniform", rules=(NAMES, COUNTS, VERSIONS, ROCE, RATES, CLIQUE, CLOCKS), check=check)
