"""What all-reduce reaches in public: ceilings, the share of them that is met in practice, and readings to hold against.

Rates are bytes per second. `busbw` is that of NVIDIA nccl-tests. A reading is what somebody measured and published; a
floor is what a health check of a provider demands, so a healthy node lies above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

GIGA = 1e9


class Algorithm(StrEnum):
    """How large all-reduces cross nodes: one ring, or a tree over nodes with reduction inside each."""

    RING = "ring"
    NVLS_TREE = "nvls_tree"
    TREE = "tree"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModel:
    """One GPU generation: all-reduce busbw inside a node, and how NCCL or RCCL crosses nodes with it."""

    id: str
    name: str
    intra_busbw: float
    across: Algorithm
    source: str


_MODELS = (
    GpuModel(
        id="v100",
        name="V100, 6 NVLinks",
        intra_busbw=6 * 20 * 0.98 * GIGA,
        across=Algorithm.RING,
        source="NCCL plans 20 GB/s a link; 0.98 of that is met on A100",
    ),
    GpuModel(
        id="a100",
        name="A100, 12 NVLinks",
        intra_busbw=12 * 20 * 0.98 * GIGA,
        across=Algorithm.RING,
        source="NCCL plans 20 GB/s a link; microsoft/superbenchmark log: 235 GB/s on 8 GPUs",
    ),
    GpuModel(
        id="h100",
        name="H100 or H200, 18 NVLinks, NVLink SHARP",
        intra_busbw=480 * GIGA,
        across=Algorithm.NVLS_TREE,
        source="published: 474 (one node), 484 and 489 GB/s (two nodes, NVLink-bound)",
    ),
    GpuModel(
        id="b200",
        name="B200, 18 NVLinks, NVLink SHARP",
        intra_busbw=820 * GIGA,
        across=Algorithm.NVLS_TREE,
        source="NCCL plans 40.1 GB/s a link; scaled from H100 and not held against a reading",
    ),
    GpuModel(
        id="mi300x",
        name="MI300X, 7 XGMI links",
        intra_busbw=7 * 48 * 0.95 * GIGA,
        across=Algorithm.RING,
        source="RCCL plans 48 GB/s a link; Azure health check demands 314 GB/s",
    ),
)
GPU_MODELS: Mapping[str, GpuModel] = MappingProxyType({model.id: model for model in _MODELS})
BY_CAPABILITY: Mapping[int, str] = MappingProxyType({70: "v100", 80: "a100", 90: "h100", 100: "b200", 103: "b200"})
BY_ARCHITECTURE: Mapping[str, str] = MappingProxyType({"gfx942": "mi300x"})

WIRE_SHARE = 0.98
"""Payload of a 4096-byte MTU, headers taken off (RoCE v2 over IPv4; InfiniBand is within a percent)."""
PCIE_RAW = MappingProxyType({8.0: 15.8 * GIGA, 16.0: 31.5 * GIGA, 32.0: 63.0 * GIGA, 64.0: 126.0 * GIGA})
"""Raw rate of sixteen lanes by transfer rate in GT/s."""
PCIE_PAYLOAD_BYTES = 256
PCIE_OVERHEAD_BYTES = 26
NETWORK_SHARE = 0.86
"""Share of the network ceiling met in the network-bound readings below: 0.82 to 0.87."""
ALIGNED_SHARE = 0.98
"""Share of the PCIe ceiling met by one GPU and one or two aligned NICs."""
TREE_SHARE = 0.85
"""NCCL's own discount for a tree of two directions (src/graph/tuning.cc)."""
BAND = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedReading:
    """An all-reduce busbw somebody published. `low` equals `high` for one figure; `floor` marks a demanded minimum."""

    id: str
    platform: str
    nodes: int
    low: float
    high: float
    source: str
    gpus_per_node: int | None = None
    nics_per_node: int | None = None
    floor: bool = False
    healthy: bool = True


def _reading(  # noqa: PLR0913 - a row of a table
    name: str,
    platform: str,
    nodes: int,
    low: float,
    high: float,
    source: str,
    *,
    gpus: int | None = None,
    nics: int | None = None,
    floor: bool = False,
    healthy: bool = True,
) -> PublishedReading:
    return PublishedReading(
        id=name,
        platform=platform,
        nodes=nodes,
        low=low * GIGA,
        high=high * GIGA,
        source=source,
        gpus_per_node=gpus,
        nics_per_node=nics,
        floor=floor,
        healthy=healthy,
    )


READINGS: tuple[PublishedReading, ...] = (
    _reading("h200-4nic-2x8", "hgx-h200", 2, 320, 320, "NVIDIA/nccl-tests issue 380", nics=4),
    _reading("h200-8nic-2x8", "hgx-h200", 2, 484, 489, "NVIDIA/nccl-tests issue 256"),
    _reading("h200-8nic-2x8-clouds", "hgx-h200", 2, 422, 490, "CoreWeave and SkyPilot write-ups"),
    _reading("ndv4-2x8", "azure-ndv4", 2, 164, 169, "NVIDIA/NVSentinel preflight figures"),
    _reading("ndv4-3x8", "azure-ndv4", 3, 160, 168, "NVIDIA/NVSentinel preflight figures"),
    _reading("a100-1x8", "azure-ndv4", 1, 235, 235, "microsoft/superbenchmark log"),
    _reading("h100-1x8", "hgx-h100", 1, 474, 474, "NVIDIA/nccl issue 2171"),
    _reading("gb300-1nic", "azure-gb300", 2, 56, 56, "Azure/AKS blog, one aligned NIC", gpus=1, nics=1),
    _reading("gb300-2nic", "azure-gb300", 2, 112, 112, "Azure/AKS blog, two aligned NICs", gpus=1, nics=2),
    _reading("ndv4-floor", "azure-ndv4", 1, 228, 228, "Azure/azurehpc-health-checks", floor=True),
    _reading("ndv5-floor", "azure-ndv5", 1, 460, 460, "Azure/azurehpc-health-checks", floor=True),
    _reading("h200-floor", "hgx-h200", 1, 432, 432, "Azure/azurehpc-health-checks", floor=True),
    _reading("mi300x-floor", "mi300x", 1, 314, 314, "Azure/azurehpc-health-checks", floor=True),
    _reading("ndv2-floor", "azure-ndv2", 1, 110, 110, "Azure/azurehpc-health-checks", floor=True),
    _reading("h100-eks-floor", "aws-p5", 2, 300, 300, "NVIDIA AI cluster runtime, declared not portable", floor=True),
    _reading("h200-vm-flat", "hgx-h200", 2, 27.5, 55, "NVIDIA/nccl-tests issue 256, PCIe hidden", healthy=False),
    _reading("h100-vm", "hgx-h100", 2, 155, 155, "NVIDIA/nccl issue 2171, Cloud Hypervisor", healthy=False),
    _reading(
        "gb300-sys", "azure-gb300", 2, 25, 25, "Azure/AKS blog, NIC across sockets", gpus=1, nics=1, healthy=False
    ),
)
