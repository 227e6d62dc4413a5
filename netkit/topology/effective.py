"""The paths NCCL works with: physical ones, changed by GPUDirect RDMA, PXN and coherent links.

NVIDIA NCCL, src/graph/paths.cc (ncclTopoComputePaths, ncclTopoCheckGdr, addInterStep) and src/graph/topo.cc
(ncclTopoGetLocal, ncclTopoGetLocalNetType, ncclTopoGetLocalGpu). Their order matters and is kept: PXN and the detour
through the CPU change the very paths that the choice of a local NIC reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from netkit.model.pci import PciPath
from netkit.model.topology import Gpu, Nic, Path, Topology
from netkit.topology.paths import PathTable, physical_paths

_CHANNELS = 64

Device = TypeVar("Device", Gpu, Nic)


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclSettings:
    """What changes paths and choices. Defaults are NCCL's.

    `gdr` is False where the peer-memory module and DMA-BUF are known to be missing. `gdr_level` is None for the
    default: P2C with `gdr_c2c`, PXB without. `most_nics` is the number of NCCL_NETDEVS_POLICY=MAX:n, 0 for ALL.
    """

    gdr: bool = True
    gdr_level: PciPath | None = None
    gdr_c2c: bool = True
    pxn: bool = True
    pxn_c2c: bool = True
    most_nics: int | None = None

    @property
    def farthest_gdr(self) -> PciPath:
        """The farthest path over which GPUDirect RDMA is used."""
        return self.gdr_level if self.gdr_level is not None else (PciPath.P2C if self.gdr_c2c else PciPath.PXB)


class EffectivePaths:
    """Every GPU-NIC path after NCCL has decided what it can use."""

    def __init__(self, topology: Topology, settings: NcclSettings, paths: PathTable | None = None) -> None:
        # NCCL walks devices in the order of the file, which need not be the order of their numbers.
        order = {key: at for at, key in enumerate(topology.kinds)}
        self.gpus = tuple(sorted(topology.gpus, key=lambda gpu: order[gpu.key]))
        self.nics = tuple(sorted(topology.nics, key=lambda nic: order[nic.key]))
        self.settings = settings
        self._table = paths or PathTable(topology)
        self.out = {(gpu.key, nic.key): self._table.between(gpu.key, nic.key) for gpu in self.gpus for nic in self.nics}
        self.back = {
            (nic.key, gpu.key): self._table.between(nic.key, gpu.key) for gpu in self.gpus for nic in self.nics
        }
        self._physical = {gpu.key: physical_paths(self._table, gpu, self.nics) for gpu in self.gpus}
        self.relay: dict[tuple[str, str], Gpu] = {}
        self._owners: dict[str, Gpu | None] = {}
        self._prefer_coherent()
        for nic in self.nics:
            for gpu in self.gpus:
                self._relay_through_peer(gpu, nic)
                self._detour_through_cpu(gpu, nic)

    def gdr_works(self, gpu: Gpu, nic: Nic) -> bool:
        """Tell whether NCCL would let this NIC reach the memory of this GPU directly."""
        if not self.settings.gdr or gpu.gdr is False or nic.gdr is False:
            return False
        near = self.relay.get((gpu.key, nic.key), gpu)
        return self.out[near.key, nic.key].type <= self.settings.farthest_gdr

    def physical(self, gpu: Gpu, nic: Nic) -> Path:
        """Return the path as slots and cables give it, whatever drivers and settings make of it."""
        return self._physical[gpu.key][nic.key]

    def local_nics(self, gpu: Gpu) -> list[Nic]:
        """Return the NICs of the widest path, and among those the nearest."""
        return _local(self.nics, [self.out[gpu.key, nic.key] for nic in self.nics])

    def local_gpus(self, nic: Nic) -> list[Gpu]:
        """Return the GPUs a NIC reaches over its widest, then nearest, paths."""
        return _local(self.gpus, [self.back[nic.key, gpu.key] for gpu in self.gpus])

    def nics_by_channel(self, gpu: Gpu, channels: int = _CHANNELS) -> list[Nic]:
        """Return the NICs the first channels of a GPU use, in order of first use."""
        local = self.local_nics(gpu)
        if not local:
            return []
        sharing = len(self.local_gpus(local[0])) or 1
        ordered, offsets = _by_rail(local)
        rails = len(offsets) - 1
        rail, each = starting_rail(gpu.index, rails, sharing)
        last = rail + each
        count = offsets[last % rails] + (0 if last < rails else offsets[rails]) - offsets[rail]
        most = self.settings.most_nics
        if most is not None:
            count = min(most or len(local), len(local))
        first, count = offsets[rail], max(count, 1)
        turns = range(min(channels, count))
        return list(dict.fromkeys(ordered[(first + turn) % len(local)] for turn in turns))

    def _owner(self, nic: Nic) -> Gpu | None:
        """Return the first of the local GPUs that uses this NIC, by channel; valid until a path changes."""
        if nic.key not in self._owners:
            self._owners[nic.key] = self._find_owner(nic)
        return self._owners[nic.key]

    def _find_owner(self, nic: Nic) -> Gpu | None:
        local = self.local_gpus(nic)
        uses = {gpu.key: self.nics_by_channel(gpu) for gpu in local}
        found = [(uses[gpu.key].index(nic), order, gpu) for order, gpu in enumerate(local) if nic in uses[gpu.key]]
        return min(found, key=lambda one: one[:2])[2] if found else None

    def _prefer_coherent(self) -> None:
        for gpu in self.gpus:
            cpu = self._table.local_cpu(gpu.key)
            if cpu is None or self._table.between(gpu.key, cpu).type is not PciPath.C2C:
                continue
            for nic in self.local_nics(gpu):
                if self._table.between(nic.key, cpu).type is PciPath.PHB:
                    _cap_type(self.out, (gpu.key, nic.key), PciPath.P2C)
                    _cap_type(self.back, (nic.key, gpu.key), PciPath.P2C)

    def _relay_through_peer(self, gpu: Gpu, nic: Nic) -> None:
        peer = self._owner(nic) if self.settings.pxn else None
        if peer is None or peer.key == gpu.key:
            return
        theirs, ours = self.out[peer.key, nic.key], self.out[gpu.key, nic.key]
        farthest = PciPath.P2C if self.settings.pxn_c2c else PciPath.PXB
        hop = self._table.between(gpu.key, peer.key)
        near = theirs.type <= farthest and self.gdr_works(peer, nic) and hop.type <= PciPath.NVL
        if near and (theirs.bandwidth > ours.bandwidth or ours.type > PciPath.PXN):
            self.out[gpu.key, nic.key] = Path(
                type=PciPath.PXN,
                bandwidth=min(hop.bandwidth, theirs.bandwidth),
                links=(*hop.links, *theirs.links),
            )
            self.relay[gpu.key, nic.key] = peer
            self._owners.clear()

    def _detour_through_cpu(self, gpu: Gpu, nic: Nic) -> None:
        cpu = self._table.local_cpu(gpu.key)
        if cpu is None or self.out[gpu.key, nic.key].type >= PciPath.PHB or self.gdr_works(gpu, nic):
            return
        self.relay.pop((gpu.key, nic.key), None)
        self._owners.clear()
        to_nic = (self._table.between(gpu.key, cpu), self._table.between(cpu, nic.key))
        to_gpu = (self._table.between(nic.key, cpu), self._table.between(cpu, gpu.key))
        self.out[gpu.key, nic.key], self.back[nic.key, gpu.key] = _chained(*to_nic), _chained(*to_gpu)


def _local(devices: Sequence[Device], paths: Sequence[Path]) -> list[Device]:
    widest = max((path.bandwidth for path in paths), default=0.0)
    if widest <= 0:
        return []
    nearest = min(path.type for path in paths if path.bandwidth == widest)
    return [
        device for device, path in zip(devices, paths, strict=True) if path.bandwidth == widest and path.type is nearest
    ]


def _by_rail(nics: Sequence[Nic]) -> tuple[list[Nic], list[int]]:
    """Order NICs rail by rail: as the file says, or ports of one GUID together, even where that is 0, as of sockets.

    Return them and where each rail starts.
    """
    rails: dict[str, list[Nic]] = {}
    for nic in nics:
        rails.setdefault(nic.rail or nic.guid or nic.key, []).append(nic)
    ordered = [nic for rail in rails.values() for nic in rail]
    offsets = [0]
    for rail in rails.values():
        offsets.append(offsets[-1] + len(rail))
    return ordered, offsets


def starting_rail(index: int, rails: int, sharing: int) -> tuple[int, int]:
    """Return where a GPU starts among `rails` that `sharing` GPUs share, and how many it takes."""
    each = -(-rails // sharing)
    return (_mirrored(index, rails) if rails & (rails - 1) == 0 else index * each % rails), each


def _mirrored(value: int, power_of_two: int) -> int:
    """Reverse the low bits, so that GPUs 0, 1, 2, 3 start at NICs 0, 2, 1, 3."""
    bits = power_of_two.bit_length() - 1
    return sum(1 << (bits - 1 - bit) for bit in range(bits) if value >> bit & 1)


def _chained(first: Path, second: Path) -> Path:
    kind = max(first.type, second.type)
    if {first.type, second.type} == {PciPath.C2C, PciPath.PHB}:
        kind = PciPath.P2C
    return Path(type=kind, bandwidth=min(first.bandwidth, second.bandwidth), links=(*first.links, *second.links))


def _cap_type(paths: dict[tuple[str, str], Path], key: tuple[str, str], most: PciPath) -> None:
    paths[key] = replace(paths[key], type=min(most, paths[key].type))
