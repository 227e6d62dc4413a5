"""Processes on AMD GPUs, from the compute driver's class: `/sys/class/kfd/kfd/proc/<pid>/vram_<gpu id>`.

Linux: drivers/gpu/drm/amd/amdkfd/{kfd_process,kfd_topology}.c. A GPU's id has its PCI address beside it in
`topology/nodes/<n>/properties`: `domain`, and `location_id` with bus, device and function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from netkit.model.gpu import GpuProcess
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.sources.attributes import names, natural
from netkit.sources.tree import Tree

_CLASS = "sys/class/kfd/kfd"
_PROPERTY = re.compile(rb"^(domain|location_id) ([0-9]{1,10})$", re.MULTILINE)
_MOST_PROCESSES = 4096
_NOT_NAMED = Missing(reason=Reason.UNSUPPORTED, where=f"{_CLASS}/proc", detail="named by /proc")


def read_amd_processes(tree: Tree) -> Mapping[PciAddress, tuple[GpuProcess, ...]] | Missing:
    """Return the processes with memory on each GPU; Missing without the compute driver."""
    found = tree.list(f"{_CLASS}/proc")
    if isinstance(found, Missing):
        return found
    processes = [name for name in found if re.fullmatch(r"[1-9][0-9]{0,9}", name)][:_MOST_PROCESSES]
    return {
        address: tuple(_on(tree, processes, gpu))
        for node in names(tree, f"{_CLASS}/topology/nodes")
        if (gpu := _id(tree, node)) and (address := _address(tree, node)) is not None
    }


def _id(tree: Tree, node: str) -> int:
    """Return a node's GPU id; 0 is a processor."""
    found = natural(tree, f"{_CLASS}/topology/nodes/{node}/gpu_id")
    return 0 if isinstance(found, Missing) else found


def _address(tree: Tree, node: str) -> PciAddress | None:
    data = tree.read(f"{_CLASS}/topology/nodes/{node}/properties")
    values = {} if isinstance(data, Missing) else {name: int(value) for name, value in _PROPERTY.findall(data)}
    place = values.get(b"location_id")
    if place is None or place > 0xFFFF:
        return None
    return PciAddress(domain=values.get(b"domain", 0), bus=place >> 8, device=place >> 3 & 0x1F, function=place & 0x7)


def _on(tree: Tree, processes: list[str], gpu: int) -> Iterator[GpuProcess]:
    for name in processes:
        memory = natural(tree, f"{_CLASS}/proc/{name}/vram_{gpu}")
        if isinstance(memory, int) and memory > 0:
            yield GpuProcess(pid=int(name), compute=True, name=_NOT_NAMED, memory_bytes=memory)
