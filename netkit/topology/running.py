"""Which NIC each GPU's process really uses in a running job, without touching it.

A GPU's driver names the processes on it, RDMA netlink names the process of every queue pair; the process number joins
the two. Where NCCL sends through a peer (PXN) the queue pairs belong to the peer's process, which owns that NIC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.process import Process
from netkit.model.rdma_resources import QueuePair
from netkit.model.topology import DeviceMatrix
from netkit.topology.pairing import Used

_CONNECTED = frozenset({"RTR", "RTS", "SQD"})
_MANAGEMENT = frozenset({"SMI", "GSI"})
_MINOR = 0.25
"""A NIC with less than this share of the pairs of the busiest carries control messages, not data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NicUse:
    """Connected queue pairs of one process on one NIC; `minor` when they are few beside those on another."""

    nic: str
    queue_pairs: int
    minor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProcess:
    """A process with a GPU, or with connected queue pairs, or both."""

    pid: int
    name: str | None
    about: Process | None
    gpus: tuple[str, ...]
    nics: tuple[NicUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJobs:
    """Every such process, what each GPU is seen to use, and what could not be seen.

    `used` has no entry for a GPU whose process has other GPUs too: which of its NICs serves which cannot be told.
    """

    processes: tuple[JobProcess, ...]
    used: Used
    notes: tuple[str, ...]


def running_jobs(node: NodeSnapshot, matrix: DeviceMatrix) -> RunningJobs:
    """Join the processes of GPUs and of queue pairs."""
    gpus = _gpus_of_processes(node, matrix)
    pairs = _pairs_of_processes(node, matrix)
    owners = {pair.process: pair.owner for _, pair in _queue_pairs(node) if isinstance(pair.owner, str)}
    listed = () if isinstance(node.processes, Missing) else node.processes.processes
    known = {process.pid: process for process in listed}
    processes = tuple(
        JobProcess(
            pid=pid,
            name=known[pid].name if pid in known else owners.get(pid),
            about=known.get(pid),
            gpus=tuple(gpus.get(pid, ())),
            nics=_uses(pairs.get(pid, Counter())),
        )
        for pid in sorted({*gpus, *pairs})
    )
    alone = [process for process in processes if len(process.gpus) == 1]
    shared = Counter(gpu for process in processes for gpu in process.gpus)
    used = {process.gpus[0]: _major(process) for process in alone if shared[process.gpus[0]] == 1 and process.nics}
    return RunningJobs(processes=processes, used=used, notes=tuple(_notes(node, processes, shared)))


def _major(process: JobProcess) -> tuple[str, ...]:
    return tuple(use.nic for use in process.nics if not use.minor)


def _gpus_of_processes(node: NodeSnapshot, matrix: DeviceMatrix) -> Mapping[int, list[str]]:
    ids = {gpu.address: gpu.id for gpu in matrix.gpus if gpu.address is not None}
    found: dict[int, list[str]] = {}
    for gpu in node.accelerators.gpus:
        name = None if isinstance(gpu.address, Missing) else ids.get(gpu.address)
        listed = () if isinstance(gpu.processes, Missing) or name is None else gpu.processes
        for pid in {process.pid for process in listed if process.compute}:
            found.setdefault(pid, []).append(name or "")
    return found


def _pairs_of_processes(node: NodeSnapshot, matrix: DeviceMatrix) -> Mapping[int, Counter[str]]:
    names = frozenset(nic.name for nic in matrix.nics)
    found: dict[int, Counter[str]] = {}
    for device, pair in _queue_pairs(node):
        if isinstance(pair.process, int) and pair.kind not in _MANAGEMENT and pair.state in _CONNECTED:
            found.setdefault(pair.process, Counter())[_port_name(device, pair, names)] += 1
    return found


def _queue_pairs(node: NodeSnapshot) -> Iterator[tuple[str, QueuePair]]:
    links = () if isinstance(node.rdma_links, Missing) else node.rdma_links.links
    for link in links:
        for pair in () if isinstance(link.queue_pairs, Missing) else link.queue_pairs:
            yield link.name, pair


def _port_name(device: str, pair: QueuePair, names: frozenset[str]) -> str:
    """Return the matrix's name of a port: the device's own, or with the port where it has several."""
    with_port = f"{device}:{pair.port}"
    return with_port if with_port in names else device


def _uses(counted: Counter[str]) -> tuple[NicUse, ...]:
    most = max(counted.values(), default=0)
    return tuple(
        NicUse(nic=nic, queue_pairs=count, minor=count < _MINOR * most)
        for nic, count in sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    )


def _notes(node: NodeSnapshot, processes: tuple[JobProcess, ...], shared: Counter[str]) -> Iterator[str]:
    if isinstance(node.rdma_links, Missing):
        yield f"queue pairs: {node.rdma_links}"
    elif node.rdma_links.partial or any(link.partial for link in node.rdma_links.links):
        yield "queue pairs changed while they were listed: the list may lack some"
    if not node.accelerators.gpus:
        yield (
            f"processes on GPUs: {node.accelerators.nvidia}"
            if isinstance(node.accelerators.nvidia, Missing)
            else "processes on GPUs: no GPU answered"
        )
    hidden = node.processes if isinstance(node.processes, Missing) else node.processes.hidden
    if hidden is not None:
        yield f"processes: {hidden}"
    for process in processes:
        if len(process.gpus) > 1 and process.nics:
            yield f"process {process.pid} has {len(process.gpus)} GPUs: which of its NICs serves which cannot be seen"
    for gpu, count in sorted(shared.items()):
        if count > 1:
            yield f"{gpu} has {count} processes: which of their NICs serves it cannot be seen"
