"""The all-reduce busbw to expect of a healthy gang: the ceilings that apply, which one binds, and a band around it.

Ceilings: the node's network is the sum, over distinct NICs, of the lower of wire, PCIe slot and path; a ring over nodes
is bound by it as it stands, a tree with reduction inside each node by (R-1)/R * N/(N-1) of it, twice the line rate on
two nodes. Inside a node the GPU links bind. busbw as in NVIDIA nccl-tests, doc/PERFORMANCE.md; step latencies as in
NVIDIA NCCL, src/graph/tuning.cc.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from netkit.catalogue.bandwidth import (
    ALIGNED_SHARE,
    BAND,
    GPU_MODELS,
    NETWORK_SHARE,
    PCIE_OVERHEAD_BYTES,
    PCIE_PAYLOAD_BYTES,
    PCIE_RAW,
    TREE_SHARE,
    WIRE_SHARE,
    Algorithm,
    GpuModel,
)
from netkit.catalogue.platforms import Platform
from netkit.errors import InputError
from netkit.model.text import visible

MOST_NODES = 131_072
_BASE_SECONDS = 8.4e-6
_INTRA_STEP_SECONDS = 3.4e-6
_NET_STEP_SECONDS = 14e-6
_MOST_NODES_READ = 3
_LARGE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One PCIe slot with a NIC in it: payload bytes per second of its ports, of the slot, of the path to its GPU."""

    wire: float
    pcie: float
    path: float = math.inf

    @property
    def ceiling(self) -> float:
        """What the slot can carry."""
        return min(self.wire, self.pcie, self.path)

    @property
    def binding(self) -> str:
        """Which of the three binds."""
        named = ((self.wire, "NIC wire rate"), (self.pcie, "NIC PCIe slot"), (self.path, "GPU-NIC path"))
        return min(named)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeShape:
    """What of a node decides its collectives; `assumptions` names what had to be inferred."""

    name: str
    gpu_model: str
    gpus: int
    slots: tuple[Slot, ...]
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """One upper bound on busbw, bytes per second, and what of it is met in practice."""

    name: str
    bound: float
    reached: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The busbw to expect, bytes per second, with the ceiling that binds and every other one."""

    shape: str
    nodes: int
    ranks: int
    size_bytes: int
    busbw: float
    low: float
    high: float
    binding: str
    ceilings: tuple[Ceiling, ...]
    assumptions: tuple[str, ...]


def shape_of_platform(platform: Platform, gpus: int | None = None, nics: int | None = None) -> NodeShape:
    """Return the shape of a platform, or of part of one node: `gpus` GPUs using `nics` ports."""
    ports = platform.nics if nics is None else nics
    taken = platform.gpus if gpus is None else gpus
    _require(0 < taken <= platform.gpus, f"{taken} GPUs a node", f"1 to {platform.gpus} on {platform.id}")
    _require(0 < ports <= platform.nics, f"{ports} NICs a node", f"1 to {platform.nics} on {platform.id}")
    per_slot = platform.ports_per_slot
    full, rest = divmod(ports, per_slot)
    loads = [per_slot] * full + ([rest] if rest else [])
    pcie = slot_rate(platform.pcie_gt_per_second, 16)
    slots = tuple(Slot(wire=load * platform.nic_rate * WIRE_SHARE, pcie=pcie) for load in loads)
    inferred = (f"{platform.id}: {platform.source}",) if "inferred" in platform.source else ()
    return NodeShape(name=platform.id, gpu_model=platform.gpu_model, gpus=taken, slots=slots, assumptions=inferred)


def slot_rate(gt_per_second: float, width: int) -> float:
    """Return payload bytes per second of a PCIe link at 256-byte payloads; InputError for an unknown speed."""
    if gt_per_second not in PCIE_RAW:
        raise InputError(f"PCIe at {gt_per_second:g} GT/s", ", ".join(f"{one:g}" for one in PCIE_RAW))
    share = PCIE_PAYLOAD_BYTES / (PCIE_PAYLOAD_BYTES + PCIE_OVERHEAD_BYTES)
    return PCIE_RAW[gt_per_second] * width / 16 * share


def expect(shape: NodeShape, nodes: int, size_bytes: int) -> Expectation:
    """Return the busbw of an all-reduce of `size_bytes` over `nodes` nodes of this shape.

    Raises:
        InputError: no such number of nodes, a single rank, an unknown GPU model, or several nodes without any NIC.
    """
    _require(1 <= nodes <= MOST_NODES, f"{nodes} nodes", f"1 to {MOST_NODES}")
    _require(size_bytes > 0, f"{size_bytes} bytes", "a positive size")
    ranks = nodes * shape.gpus
    _require(ranks > 1, "one rank", "two ranks or more: an all-reduce of one moves nothing")
    _require(nodes == 1 or bool(shape.slots), f"{nodes} nodes of {shape.name} without a NIC", "nodes with NICs")
    model = _model(shape.gpu_model)
    ceilings = _ceilings(shape, model, nodes, ranks)
    tightest = min(ceilings, key=lambda one: one.reached)
    at_size = max(
        _with_latency(tightest.reached * share, steps, ranks, size_bytes)
        for share, steps in _ways(model, shape.gpus, nodes, ranks)
    )
    return Expectation(
        shape=shape.name,
        nodes=nodes,
        ranks=ranks,
        size_bytes=size_bytes,
        busbw=at_size,
        low=at_size * (1 - _band(shape, nodes, size_bytes)),
        high=at_size * (1 + _band(shape, nodes, size_bytes)),
        binding=tightest.name,
        ceilings=ceilings,
        assumptions=(*shape.assumptions, *_assumptions(model, shape, nodes, size_bytes)),
    )


def _model(name: str) -> GpuModel:
    if name not in GPU_MODELS:
        raise InputError(f"GPU model {visible(name)!r}, for which no public figure is known", ", ".join(GPU_MODELS))
    return GPU_MODELS[name]


def _ceilings(shape: NodeShape, model: GpuModel, nodes: int, ranks: int) -> tuple[Ceiling, ...]:
    inside = Ceiling(name="GPU links inside a node", bound=model.intra_busbw, reached=model.intra_busbw)
    if nodes == 1:
        return (inside,)
    network = _network(shape, model, nodes, ranks)
    return (network,) if shape.gpus == 1 else (network, inside)


def _network(shape: NodeShape, model: GpuModel, nodes: int, ranks: int) -> Ceiling:
    total = sum(slot.ceiling for slot in shape.slots)
    binding = max({slot.binding for slot in shape.slots}, key=[slot.binding for slot in shape.slots].count)
    if shape.gpus == 1:
        share = ALIGNED_SHARE if binding == "NIC PCIe slot" else NETWORK_SHARE
        return Ceiling(name=f"{binding}, ring", bound=total, reached=total * share)
    if model.across is Algorithm.RING:
        return Ceiling(name=f"{binding}, ring", bound=total, reached=total * NETWORK_SHARE)
    tree = total * (ranks - 1) / ranks * nodes / (nodes - 1)
    return Ceiling(name=f"{binding}, tree over nodes", bound=tree, reached=tree * NETWORK_SHARE)


def _ways(model: GpuModel, gpus: int, nodes: int, ranks: int) -> list[tuple[float, float]]:
    """Return (share of the ceiling, seconds of latency) of the algorithms NCCL could take; it takes the fastest."""
    levels = 2 * math.ceil(math.log2(nodes)) if nodes > 1 else 0
    tree = _BASE_SECONDS + levels * _NET_STEP_SECONDS + 2 * (gpus - 1) * _INTRA_STEP_SECONDS
    if model.across is Algorithm.NVLS_TREE and gpus > 1:
        return [(1.0, tree)]
    net_steps = 2 * (nodes - 1) if nodes > 1 else 0
    ring = _BASE_SECONDS + net_steps * _NET_STEP_SECONDS + (2 * (ranks - 1) - net_steps) * _INTRA_STEP_SECONDS
    return [(1.0, ring), (TREE_SHARE, tree)]


def _with_latency(busbw: float, latency: float, ranks: int, size_bytes: int) -> float:
    moved = size_bytes * 2 * (ranks - 1) / ranks
    return moved / (moved / busbw + latency)


def _band(shape: NodeShape, nodes: int, size_bytes: int) -> float:
    wide = BAND * (1.5 if shape.assumptions or nodes > _MOST_NODES_READ else 1.0)
    # Below this size protocol switches and start-up decide, which this model follows only roughly.
    return wide if size_bytes >= _LARGE_BYTES else 0.5


def _assumptions(model: GpuModel, shape: NodeShape, nodes: int, size_bytes: int) -> list[str]:
    said = [f"inside a node: {model.source}"]
    if nodes > 1:
        said.append(f"{len(shape.slots)} NIC slots a node, all used, {NETWORK_SHARE:.0%} of a network ceiling met")
    if nodes > _MOST_NODES_READ:
        said.append(f"no public reading above {_MOST_NODES_READ} nodes stands behind this: the band is wider")
    if size_bytes < _LARGE_BYTES:
        said.append("below 256 MiB latency and protocol decide: the band is wide")
    return said


def _require(holds: bool, given: str, accepted: str) -> None:
    if not holds:
        raise InputError(given, accepted)
