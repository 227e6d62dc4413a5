"""Settings of the kernel and of GPUs: page migration, address resolution, queues, modules, limits, power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from netkit.model.advice import ByHand, KernelFile, Program, Target
from netkit.model.counter import Setting
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.interfaces import safe

_ARP = (("arp_ignore", (1, 2), 1), ("arp_announce", (2,), 2), ("rp_filter", (0, 2), 2))
"""Linux Documentation/networking/ip-sysctl.rst: name, values that do, the one to set."""


def _sysctl(facts: Facts, name: str, wanted: int, evidence: tuple[str, ...]) -> Iterator[Proposal]:
    found: Setting | None = next((one for one in facts.snapshot.host.sysctls if one.name == name), None)
    if found is not None and isinstance(found.value, int) and found.value != wanted:
        path = "/proc/sys/" + name.replace(".", "/")
        yield Proposal(
            setting=name,
            now=str(found.value),
            proposed=str(wanted),
            evidence=(*evidence, f"{name} is {found.value}"),
            changes=(KernelFile(path=path, present=str(found.value), proposed=str(wanted)),),
        )


def _numa_balancing(facts: Facts) -> Iterator[Proposal]:
    found = facts.findings("S03")
    if found:
        yield from _sysctl(facts, "kernel.numa_balancing", 0, said(found))


def _address_resolution(facts: Facts) -> Iterator[Proposal | Blank]:
    """The kernel uses the larger of an interface's value and that of `all`, except that rp_filter 2 beats 1."""
    found = facts.findings("R21")
    for name, good, wanted in _ARP:
        wrong = [one for one in found if f"{name} is " in one.summary]
        values = [one.value for one in facts.snapshot.host.sysctls if one.name == f"net.ipv4.conf.all.{name}"]
        if wrong and values and values[0] not in good:
            yield from _sysctl(facts, f"net.ipv4.conf.all.{name}", wanted, said(wrong))
        elif wrong:
            why = f"{name} of all is right, of single interfaces it is not: see their own values"
            yield Blank(subject=f"net.ipv4.conf.all.{name}", why=why)


def _queue(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("N14")
    netdevs = [port.netdev for port in facts.context.ports if port.netdev is not None]
    lengths = {one.name: one.queue_length for one in netdevs if isinstance(one.queue_length, int)}
    if not found or not lengths:
        return
    votes = Counter(lengths.values())
    usual = max(votes, key=lambda length: (votes[length], length))
    for name, length in lengths.items():
        if length != usual and safe(name):
            path = f"/sys/class/net/{name}/tx_queue_len"
            yield Proposal(
                setting=f"transmit queue of {name}",
                now=str(length),
                proposed=str(usual),
                evidence=(*said(found), f"{votes[usual]} of {len(lengths)} interfaces have {usual}"),
                changes=(KernelFile(path=path, present=str(length), proposed=str(usual)),),
            )


def _rings(facts: Facts) -> Iterator[Blank]:
    for port in facts.context.ports:
        if port.roce and port.hardware and port.netdev is not None:
            why = "ring sizes are not among what netkit reads: ethtool -g shows them (OCI publishes 8192)"
            yield Blank(subject=f"rings of {port.netdev.name}", why=why)


def _peer_memory(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("G01")
    if found and facts.context.environment.number("NCCL_DMABUF_ENABLE") != 0:
        yield Proposal(
            setting="kernel module nvidia_peermem",
            now="not loaded",
            proposed="loaded",
            evidence=said(found),
            changes=(
                Program(
                    changes=("modprobe", "nvidia_peermem"),
                    restores=("modprobe", "--remove", "nvidia_peermem"),
                    shows=("grep", "-c", "^nvidia_peermem", "/proc/modules"),
                ),
            ),
        )


def _locked_memory(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("G06"):
        now = found.summary.partition(" ")[0]
        yield Proposal(
            setting="limit of locked memory",
            now=f"{now} bytes",
            proposed="unlimited",
            evidence=said([found]),
            changes=(
                ByHand(
                    apply="LimitMEMLOCK=infinity in a drop-in of the container runtime's and the scheduler's unit, "
                    "then restart it; for ssh sessions /etc/security/limits.d",
                    rollback=f"remove the drop-in and restart the unit; the limit was {now} bytes",
                ),
            ),
        )


def _power_limits(facts: Facts) -> Iterator[Proposal | Blank]:
    found = [one for one in facts.findings("J10") if one.summary.startswith("power limit")]
    limits = Counter(
        gpu.power.limit_watts
        for member in facts.fellows
        for gpu in member.snapshot.accelerators.gpus
        if isinstance(gpu.power.limit_watts, float)
    )
    if not found or not limits:
        return
    usual = max(limits, key=lambda watts: (limits[watts], watts))
    for gpu in facts.snapshot.accelerators.gpus:
        now = gpu.power.limit_watts
        if isinstance(now, float) and now != usual and isinstance(gpu.index, int):
            command = ("nvidia-smi", "-i", str(gpu.index), "-pl")
            yield Proposal(
                setting=f"power limit of gpu{gpu.index}",
                now=f"{now:g} W",
                proposed=f"{usual:g} W",
                evidence=said(found),
                changes=(
                    Program(
                        changes=(*command, f"{usual:g}"),
                        restores=(*command, f"{now:g}"),
                        shows=("nvidia-smi", "-i", str(gpu.index), "--query-gpu=power.limit", "--format=csv,noheader"),
                    ),
                ),
            )


FAMILY = Family(
    id="host_system",
    recommendations=(
        Recommendation(
            id="numa-balancing",
            target=Target.HOST,
            rules=("S03",),
            reason="pages that migrate while a NIC or GPU works on them stall the transfer",
            source="ROCm RCCL documentation, system settings",
            effect="steadier bandwidth on machines with AMD GPUs",
            risk="programs of the host that do not place their memory themselves may run slower; lost at reboot",
            propose=_numa_balancing,
        ),
        Recommendation(
            id="arp-flux",
            target=Target.HOST,
            rules=("R21",),
            reason="NICs of one network answer for each other's addresses, and peers send to the wrong rail",
            source="Linux Documentation/networking/ip-sysctl.rst; oracle-quickstart/oci-hpc",
            effect="every address is reached by its own NIC",
            risk="other services on several networks of one host may rely on the default; lost at reboot",
            propose=_address_resolution,
        ),
        Recommendation(
            id="transmit-queue",
            target=Target.HOST,
            rules=("N14",),
            reason="one interface was set up by another hand than the rest",
            source="Linux Documentation/ABI/testing/sysfs-class-net, tx_queue_len; oracle-quickstart/oci-hpc (20000)",
            effect="none for RDMA, which passes the queue by; TCP beside it behaves alike on every rail",
            risk="lost at reboot",
            propose=_queue,
        ),
        Recommendation(
            id="ring-size",
            target=Target.HOST,
            rules=(),
            reason="short rings drop bursts of TCP and of control traffic",
            source="ethtool(8), -G; oracle-quickstart/oci-hpc (8192)",
            effect="none for RDMA, which has rings of its own",
            risk="the link restarts on some drivers",
            propose=_rings,
        ),
        Recommendation(
            id="peer-memory",
            target=Target.HOST,
            rules=("G01",),
            reason="without a peer-memory module or DMA-BUF every byte goes through the host's memory",
            source="NVIDIA GPUDirect RDMA documentation; nccl issue 465 (half the bandwidth)",
            effect="GPUDirect RDMA: up to twice the bandwidth",
            risk="the module must fit the RDMA stack that is loaded (rule G02); lost at reboot",
            propose=_peer_memory,
        ),
        Recommendation(
            id="locked-memory",
            target=Target.HOST,
            rules=("G06",),
            reason="RDMA registers memory by locking it, and fails at start when the limit is small",
            source="NVIDIA NCCL user guide, troubleshooting, system limits",
            effect="memory registration works",
            risk="processes may lock as much memory as they like",
            propose=_locked_memory,
        ),
        Recommendation(
            id="gpu-power-limit",
            target=Target.HOST,
            rules=("J10",),
            reason="the GPU with the lower limit is late to every collective",
            source="nvidia-smi(1), -pl; NVML",
            effect="all GPUs of the gang keep pace",
            risk="somebody may have lowered it for cooling or supply; lost at reboot without persistence mode",
            propose=_power_limits,
        ),
    ),
)
