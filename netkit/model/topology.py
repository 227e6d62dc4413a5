"""One node as a graph of devices and links, and as a matrix of distances between GPUs and NICs.

The graph has NCCL's vertices and links (NVIDIA NCCL, src/graph/topo.h): a CPU is a NUMA node, a switch is a PCIe
bridge, a NIC is a PCIe function and a NET one of its ports. The matrix is what `nvidia-smi topo -m` prints and what
any graph boils down to; pairing is judged on it. Bandwidths are bytes per second in one direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from netkit.model.finding import Severity
from netkit.model.pci import PciAddress, PciPath


class VertexKind(StrEnum):
    """What a vertex of the graph stands for."""

    CPU = "cpu"
    SWITCH = "pci"
    GPU = "gpu"
    NIC = "nic"
    NET = "net"
    NVSWITCH = "nvs"


class LinkKind(StrEnum):
    """What a link is made of."""

    LOC = "loc"
    NVL = "nvl"
    C2C = "c2c"
    PCI = "pci"
    SYS = "sys"
    NET = "net"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """One NUMA node. Fields are None where the source does not say."""

    key: str
    numa: int | None
    arch: str | None = None
    vendor: str | None = None
    family: int | None = None
    model: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One accelerator. `index` is the one NVML gives; `compute_capability` is 90 for sm_90, `architecture` gfx942."""

    key: str
    id: str
    index: int
    address: PciAddress | None = None
    numa: int | None = None
    compute_capability: int | None = None
    architecture: str | None = None
    gdr: bool | None = None
    bridged: bool = False
    root: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One network port. `index` orders ports as the network plugin does; `rate` is None where nobody says.

    `rail` is what NCCL 2.30 and later writes into its files, None elsewhere.
    `members` names the physical ports of a merged NIC, and is the port's own name for one that is not merged.
    """

    key: str
    name: str
    index: int
    members: tuple[str, ...]
    address: PciAddress | None = None
    numa: int | None = None
    rate: float | None = None
    port: int | None = None
    guid: str | None = None
    rail: str | None = None
    gdr: bool | None = None
    bridged: bool = False
    root: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One direction of a link; `lanes` counts bonded NVLinks."""

    source: str
    target: str
    kind: LinkKind
    bandwidth: float
    lanes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The device graph of one node.

    `links` of one vertex stand in the order NCCL walks them. `problems` says what of the source could not be used;
    `partial` is True when something that belongs to the graph is missing because of it.
    """

    source: str
    kinds: Mapping[str, VertexKind]
    cpus: tuple[Cpu, ...]
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    links: Mapping[str, tuple[Link, ...]]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The way between two vertices: its type, its narrowest bandwidth, and every link from start to end."""

    type: PciPath
    bandwidth: float
    links: tuple[Link, ...] = ()

    @property
    def vertices(self) -> tuple[str, ...]:
        """The vertices passed, both ends included; empty for a path of no links."""
        return (self.links[0].source, *(link.target for link in self.links)) if self.links else ()

    @property
    def unbroken(self) -> bool:
        """Whether each link starts where the one before it ends."""
        return all(first.target == second.source for first, second in pairwise(self.links))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How a GPU reaches a NIC physically: NCCL's path type, nvidia-smi's word for it, bytes per second if known."""

    path: PciPath
    label: str
    bandwidth: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEnd:
    """A GPU as a row of the matrix."""

    id: str
    address: PciAddress | None = None
    numa: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NicEnd:
    """A NIC port as a column of the matrix; `rate` is None where nobody says."""

    name: str
    address: PciAddress | None = None
    rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMatrix:
    """Distances between every GPU and every NIC. `hidden` says why they mean nothing, None when they do."""

    source: str
    gpus: tuple[GpuEnd, ...]
    nics: tuple[NicEnd, ...]
    reach: Mapping[tuple[str, str], Reach]
    peers: Mapping[tuple[str, str], str] = field(default_factory=dict)
    hidden: str | None = None
    problems: tuple[str, ...] = ()
    partial: bool = False


class PairingAnswer(StrEnum):
    """The one-word verdict on the NICs of one GPU."""

    OK = "ok"
    MISPAIRED = "mispaired"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyFinding:
    """Something about one device of the node that costs bandwidth or cannot be trusted."""

    id: str
    severity: Severity
    subject: str
    summary: str
    evidence: tuple[str, ...]
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPairing:
    """The NICs one GPU uses, and whether they are the right ones."""

    gpu: str
    used: tuple[str, ...]
    nearest: tuple[str, ...]
    answer: PairingAnswer
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingReport:
    """The verdict on every GPU, and the findings behind it."""

    gpus: tuple[GpuPairing, ...]
    findings: tuple[TopologyFinding, ...]
