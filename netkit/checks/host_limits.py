"""Settings of the host that decide whether RDMA works at all, and how steadily.

proc_pid_limits(5); Linux Documentation/admin-guide/sysctl/kernel.rst (numa_balancing).
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot

LOCKED = Rule(
    id="G06",
    name="locked-memory",
    severity=Severity.CRITICAL,
    question="May a process lock as much memory as RDMA registers?",
    reads="Max locked memory of the process that reads",
    passes="the limit is unlimited",
    why="every buffer a NIC touches is locked; at the limit registration fails and the job ends with it",
    remedy="ulimit -l unlimited; LimitMEMLOCK=infinity of the container runtime's unit; Slurm: PropagateResourceLimits",
    source="NCCL user guide, troubleshooting, memory issues",
    caution="the limit is that of the process that reads: judged as the job's inside a container, information outside, "
    "where a login shell has another one than the job",
    playbook="nccl-probe-failing",
)
BALANCING = Rule(
    id="S03",
    name="numa-balancing",
    severity=Severity.WARNING,
    question="Does the kernel leave pages where they are?",
    reads="/proc/sys/kernel/numa_balancing, GPU vendor",
    passes="0 on machines with AMD GPUs",
    why="pages that migrate while a NIC or GPU works on them stall the transfer",
    remedy="sysctl kernel.numa_balancing=0, and a file in /etc/sysctl.d",
    source="ROCm RCCL documentation, system settings",
    caution="on other machines it is information: no vendor asks for it there",
    playbook="nccl-slow",
)
_AMD = 0x1002
_NAME = "Max locked memory"
_CONTAINERS = ("kubepods", "docker", "libpod", "crio", "containerd")


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge limits and settings of the node."""
    yield _locked(snapshot, context)
    yield _balancing(snapshot, context)


def _locked(snapshot: NodeSnapshot, context: Context) -> Result:
    if not context.ports:
        return LOCKED.not_applicable("no RDMA port carries training traffic")
    limits = snapshot.host.limits
    if isinstance(limits, Missing):
        return LOCKED.incomplete(NODE, limits)
    found = next((limit for limit in limits if limit.name == _NAME), None)
    if found is None:
        return LOCKED.incomplete(NODE, "the limit is not listed")
    if found.soft is None:
        return LOCKED.ok(NODE, "unlimited")
    group = snapshot.host.control_group
    inside = not isinstance(group, Missing) and any(word in group.path for word in _CONTAINERS)
    said = f"{found.soft} bytes where netkit ran; the job needs unlimited"
    return LOCKED.finding(NODE, said, severity=None if inside else Severity.INFO)


def _balancing(snapshot: NodeSnapshot, context: Context) -> Result:
    value = next((one.value for one in snapshot.host.sysctls if one.name == "kernel.numa_balancing"), None)
    if not any(gpu.vendor == _AMD for gpu in context.pci.gpus):
        return BALANCING.not_applicable("no AMD GPU")
    if value is None or isinstance(value, Missing):
        return BALANCING.incomplete(NODE, "the setting was not read" if value is None else value)
    return BALANCING.ok(NODE, "off") if value == 0 else BALANCING.finding(NODE, f"kernel.numa_balancing is {value}")


CHECK = NodeCheck(id="host_limits", rules=(LOCKED, BALANCING), check=check, needs=("pci_devices", "rdma_devices"))
