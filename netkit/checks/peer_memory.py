"""GPUDirect RDMA: whether NICs can reach GPU memory at all, and whether NCCL lets them.

NVIDIA NCCL, src/graph/paths.cc, ncclTopoCheckGdr; a peer-memory module, or DMA-BUF of an open GPU driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.errors import InputError
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.host import Module
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciPath
from netkit.topology.effective import NcclSettings
from netkit.topology.nic_choice import parse_gdr_level
from netkit.topology.view import TopologyView

READY = Rule(
    id="G01",
    name="gpudirect-ready",
    severity=Severity.WARNING,
    question="Can NICs reach GPU memory directly?",
    reads="the modules nvidia_peermem, nv_peer_mem and /sys/kernel/mm/memory_peers; kernel version; NCCL_DMABUF_ENABLE",
    passes="a peer-memory module is loaded, or kernel 5.12 or newer offers DMA-BUF and NCCL may use it",
    why="without it every byte takes the way over host memory: half the bandwidth, and PHB paths in the log",
    remedy="modprobe nvidia_peermem, or the open GPU kernel modules with a kernel that has DMA-BUF",
    source="nccl issues 465 and 489",
    caution="whether the GPU driver offers DMA-BUF is not visible in files: without a module the answer is incomplete "
    "unless DMA-BUF is ruled out; look for `GPU Direct RDMA Enabled` in the NCCL log",
    playbook="nccl-slow",
)
BOTH = Rule(
    id="G09",
    name="gpudirect-way",
    severity=Severity.INFO,
    question="Which way to GPU memory will NCCL take?",
    reads="peer-memory modules, kernel version, NCCL_DMABUF_ENABLE",
    passes="exactly one way is open, or it is known which one is used",
    why="NCCL prefers DMA-BUF; a node whose siblings use the other way behaves differently under the same settings",
    remedy="nothing; NCCL_DMABUF_ENABLE=0 forces the module for a comparison",
    source="NVIDIA NCCL, src/transport/net_ib",
    caution="information: both ways are good ones",
)
LEVEL = Rule(
    id="G05",
    name="gpudirect-level",
    severity=Severity.WARNING,
    question="Does NCCL use GPUDirect RDMA over the paths this node has?",
    reads="the path of each GPU to the NIC it uses; NCCL_NET_GDR_LEVEL, NCCL_NET_GDR_C2C",
    passes="no path is longer than the level allows",
    why="beyond the level NCCL stages through host memory although the hardware could do without",
    remedy="mend the pairing first (T01); only where the platform has no nearer NIC, raise NCCL_NET_GDR_LEVEL",
    source="Azure AKS measurements, aks-rdma-infiniband PR 36",
    caution="in a virtual machine with hidden switches the path NCCL sees is not the real one: incomplete",
    playbook="gpu-nic-pairing",
)
BLANKET = Rule(
    id="E18",
    name="gpudirect-level-blanket",
    severity=Severity.INFO,
    question="Is NCCL_NET_GDR_LEVEL=SYS hiding a bad pairing?",
    reads="NCCL_NET_GDR_LEVEL; the pairing of T01",
    passes="it is not SYS, or every GPU is well paired anyway",
    why="SYS makes GPUDirect work over any distance, and a NIC of the other socket unnoticeable in the log",
    remedy="mend the pairing, then unset the variable",
    source="Azure AKS and MetaX MCCL guides set it where the pairing cannot be mended",
    caution="in a flattened virtual machine SYS may be the right answer",
    playbook="gpu-nic-pairing",
)
_MODULES = frozenset({"nvidia_peermem", "nv_peer_mem", "nv_mem", "nv_mem_nc"})
_DMABUF_KERNEL = (5, 12)
_NVIDIA = 0x10DE


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge what is loaded, then what NCCL makes of it."""
    if not any(gpu.vendor == _NVIDIA for gpu in context.pci.gpus) or not context.pci.nics:
        for rule in (READY, BOTH):
            yield rule.not_applicable("no NVIDIA GPU, or no RDMA NIC on PCI")
    else:
        yield from _ways(snapshot, context)
    view = context.view
    if isinstance(view, Missing) or not view.choices:
        for rule in (LEVEL, BLANKET):
            yield rule.not_applicable("no GPU with a choice of NICs")
        return
    yield from _levels(context, view)
    yield _blanket(context, view)


def _ways(snapshot: NodeSnapshot, context: Context) -> Iterator[Result]:
    loaded = sorted(module.name for module in snapshot.host.modules if _serves(module))
    allowed = context.environment.number("NCCL_DMABUF_ENABLE") != 0
    kernel = _kernel(snapshot.host.kernel)
    possible = None if kernel is None else allowed and kernel >= _DMABUF_KERNEL
    if loaded:
        yield READY.ok(NODE, f"{', '.join(loaded)} is loaded")
    elif possible is False:
        why = "NCCL_DMABUF_ENABLE=0" if not allowed else f"kernel {snapshot.host.kernel} has no DMA-BUF for it"
        yield READY.finding(NODE, f"no peer-memory module is loaded, and {why}")
    else:
        yield READY.incomplete(NODE, "no peer-memory module; whether the GPU driver offers DMA-BUF cannot be read")
    if loaded and possible:
        yield BOTH.finding(NODE, f"{', '.join(loaded)} is loaded and DMA-BUF may be there: NCCL prefers DMA-BUF")
    else:
        yield BOTH.ok(NODE, "the module" if loaded else "DMA-BUF, if anything")


def _serves(module: Module) -> bool:
    return module.name in _MODULES


def _kernel(release: str | Missing) -> tuple[int, int] | None:
    parts = [] if isinstance(release, Missing) else release.split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() else None


def _levels(context: Context, view: TopologyView) -> Iterator[Result]:
    if view.matrix.hidden is not None:
        yield LEVEL.incomplete(NODE, view.matrix.hidden)
        return
    farthest = _settings(context).farthest_gdr
    for choice in view.choices:
        used = [one for one in choice.candidates if one.chosen and one.relay is None]
        far = [one for one in used if one.physical.type > farthest]
        if far:
            said = f"{far[0].name} at {far[0].physical.type.name}; GPUDirect RDMA ends at {farthest.name}"
            yield LEVEL.finding(choice.gpu, said)
        else:
            yield LEVEL.ok(choice.gpu, f"within {farthest.name}")


def _settings(context: Context) -> NcclSettings:
    level = context.environment.text("NCCL_NET_GDR_LEVEL")
    coherent = context.environment.number("NCCL_NET_GDR_C2C") != 0 and not context.environment.before((2, 27, 0))
    return NcclSettings(gdr_level=None if level is None else _level(level), gdr_c2c=coherent)


def _level(text: str) -> PciPath | None:
    try:
        return parse_gdr_level(text)
    except InputError:
        return None


def _blanket(context: Context, view: TopologyView) -> Result:
    if not context.environment.given:
        return BLANKET.not_applicable("no environment of a job was given (--env)")
    level = _level(context.environment.text("NCCL_NET_GDR_LEVEL") or "LOC")
    if level is not PciPath.SYS:
        return BLANKET.ok("job", "not SYS")
    bad = [one.gpu for one in view.pairing.gpus if one.answer.value != "ok"]
    if bad:
        return BLANKET.finding("job", f"SYS, and the pairing of {', '.join(bad)} is not proven good")
    return BLANKET.ok("job", "SYS, and every GPU is well paired")


CHECK = NodeCheck(id="peer_memory", rules=(READY, BOTH, LEVEL, BLANKET), check=check, needs=("pci_devices",))
