"""NCCL_TOPO_FILE: a file NCCL believes before it looks for itself.

NVIDIA NCCL, src/graph/xml.cc: bus ids the machine does not have are passed over in silence, and so is a missing file.
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.job import JOB, not_given
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.topology import Topology

FILE = Rule(
    id="E06",
    name="nccl-topo-file",
    severity=Severity.WARNING,
    question="Does NCCL_TOPO_FILE name a topology of this machine?",
    reads="NCCL_TOPO_FILE; the file (--topo-file, or on a live node the path itself); the PCI tree",
    passes="it is not set, or the file parses and its GPUs and NICs are PCI functions of this node",
    why="NCCL ignores a file it cannot read and bus ids it cannot find, and plans without the topology people rely on",
    remedy="correct the path, or write the file anew: netkit topo emit --platform P",
    source="Azure/azurehpc-health-checks (exports it empty by accident); NVIDIA NCCL, src/graph/xml.cc",
    caution="what the file claims about speeds is not judged: clouds lower them on purpose",
    playbook="gpu-nic-pairing",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge the path, the file, then its bus ids."""
    yield not_given(context, FILE) or _judged(snapshot, context)


def _judged(snapshot: NodeSnapshot, context: Context) -> Result:
    path = context.environment.text("NCCL_TOPO_FILE")
    given = context.wishes.topology_file
    if path is None:
        return FILE.ok(JOB, "not set")
    if not path.strip():
        return FILE.finding(JOB, "set, and empty: neither a file of its own nor NCCL's default is read")
    if given is None:
        return FILE.incomplete(JOB, f"{path} was not given (--topo-file)")
    if isinstance(given, str):
        return FILE.finding(JOB, f"NCCL cannot use it: {given}")
    if isinstance(snapshot.pci_devices, Missing):
        return FILE.incomplete(JOB, snapshot.pci_devices)
    return _compared(given, context)


def _compared(file: Topology, context: Context) -> Result:
    addresses = (*(gpu.address for gpu in file.gpus), *(nic.address for nic in file.nics))
    named = {address for address in addresses if address is not None}
    if not named:
        return FILE.finding(JOB, "the file names neither a GPU nor a NIC by bus id")
    strangers = sorted(named - set(context.pci.devices))
    if strangers:
        shown = ", ".join(map(str, strangers[:8]))
        return FILE.finding(JOB, f"{len(strangers)} of its {len(named)} devices are not on this node: {shown}")
    return FILE.ok(JOB, f"its {len(named)} GPUs and NICs are on this node")


CHECK = NodeCheck(id="env_topo_file", rules=(FILE,), check=check)
