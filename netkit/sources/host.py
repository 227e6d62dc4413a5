"""The node itself: kernel, command line, settings, limits, control group, modules.

Linux Documentation/admin-guide/{kernel-parameters,cgroup-v2}.rst, admin-guide/sysctl/, proc_pid_limits(5),
Documentation/ABI/testing/{sysfs-firmware-dmi-tables,sysfs-class-iommu}. Only what decides how fast data moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from netkit.model.counter import Setting
from netkit.model.host import ControlGroup, Host, Limit, Module
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.attributes import malformed, names, natural, text
from netkit.sources.tree import Tree

COMMAND_LINE_BYTES = 1 << 16
_SYSCTLS = (
    "kernel/numa_balancing",
    "vm/nr_hugepages",
    "vm/zone_reclaim_mode",
    "net/core/rmem_max",
    "net/core/wmem_max",
    "net/core/netdev_max_backlog",
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/arp_ignore",
    "net/ipv4/conf/all/arp_announce",
    "net/ipv4/conf/all/rp_filter",
    "net/ipv4/conf/default/arp_ignore",
    "net/ipv4/conf/default/arp_announce",
    "net/ipv4/conf/default/rp_filter",
    "net/ipv4/fib_multipath_hash_policy",
)
_MODULES = (
    *("nvidia", "nvidia_peermem", "nv_peer_mem", "nvidia_fs", "gdrdrv", "amdgpu", "ib_core", "ib_uverbs"),
    *("mlx5_core", "mlx5_ib", "bnxt_en", "bnxt_re", "ice", "irdma", "ionic", "ionic_rdma", "efa", "rdma_rxe", "siw"),
)
_LIMIT = re.compile(r"(Max [a-z ]+?) {2,}(unlimited|[0-9]{1,20}) +(unlimited|[0-9]{1,20})(?: .*)?")
_HYPERVISOR_FLAG = re.compile(rb"^(?:flags|Features)\b.*")
_VIRTUAL_PRODUCTS = re.compile(r"virtual machine|kvm|qemu|bochs|vmware|hvm domu|google compute engine", re.IGNORECASE)
_GROUP = re.compile(r"0::(/[^\n]{0,1024})")


def read_host(tree: Tree) -> Host:
    """Return what the node says about itself."""
    return Host(
        name=text(tree, "proc/sys/kernel/hostname"),
        kernel=text(tree, "proc/sys/kernel/osrelease"),
        boot_id=text(tree, "proc/sys/kernel/random/boot_id"),
        vendor=text(tree, "sys/class/dmi/id/sys_vendor"),
        product=text(tree, "sys/class/dmi/id/product_name"),
        virtual_machine=_virtual_machine(tree),
        numa_nodes=text(tree, "sys/devices/system/node/online"),
        command_line=_command_line(tree),
        iommu_units=_iommu_units(tree),
        iommu_groups=_iommu_groups(tree),
        sysctls=tuple(
            Setting(name=name.replace("/", "."), value=natural(tree, f"proc/sys/{name}")) for name in _SYSCTLS
        ),
        limits=_limits(tree),
        control_group=_control_group(tree),
        modules=tuple(_modules(tree)),
    )


def _virtual_machine(tree: Tree) -> bool | Missing:
    """Ask the processor first: the flag is there in every virtual machine that does not hide itself."""
    flags = tree.lines("proc/cpuinfo", _HYPERVISOR_FLAG, 1)
    if isinstance(flags, bytes) and b" hypervisor" in flags:
        return True
    product = text(tree, "sys/class/dmi/id/product_name")
    if isinstance(product, str) and _VIRTUAL_PRODUCTS.search(product):
        return True
    if isinstance(flags, Missing):
        return flags
    return False if flags else Missing(reason=Reason.ABSENT, where="proc/cpuinfo", detail="no processor flags")


def _command_line(tree: Tree) -> tuple[str, ...] | Missing:
    shown = text(tree, "proc/cmdline", COMMAND_LINE_BYTES)
    return shown if isinstance(shown, Missing) else tuple(shown.split())


def _iommu_units(tree: Tree) -> tuple[str, ...] | Missing:
    found = tree.list("sys/class/iommu")
    return found if isinstance(found, Missing) else tuple(visible(name) for name in found)


def _iommu_groups(tree: Tree) -> int | Missing:
    found = tree.list("sys/kernel/iommu_groups")
    return found if isinstance(found, Missing) else len(found)


def _limits(tree: Tree) -> tuple[Limit, ...] | Missing:
    data = tree.read("proc/self/limits")
    return data if isinstance(data, Missing) else parse_limits(data)


def parse_limits(data: bytes) -> tuple[Limit, ...] | Missing:
    """Read the table of /proc/<pid>/limits; the heading and lines of another form are passed over."""
    lines = data.decode(errors="surrogateescape").splitlines()
    rows = [match.groups() for line in lines if (match := _LIMIT.fullmatch(line.rstrip()))]
    limits = tuple(Limit(name=name, soft=_bound(soft), hard=_bound(hard)) for name, soft, hard in rows)
    return limits or malformed(data, "proc/self/limits")


def _bound(shown: str) -> int | None:
    return None if shown == "unlimited" else int(shown)


def _control_group(tree: Tree) -> ControlGroup | Missing:
    data = tree.read("proc/self/cgroup", 1 << 16)
    if isinstance(data, Missing):
        return data
    match = _GROUP.search(data.decode(errors="surrogateescape"))
    if match is None:
        return Missing(reason=Reason.UNSUPPORTED, where="proc/self/cgroup", detail="no version 2 group")
    at = f"sys/fs/cgroup{match[1].rstrip('/')}"
    return ControlGroup(
        path=visible(match[1]),
        memory_max_bytes=_memory_max(tree, f"{at}/memory.max"),
        cpu_quota_cores=_cpu_quota(tree, f"{at}/cpu.max"),
        cpus=text(tree, f"{at}/cpuset.cpus.effective"),
    )


def _memory_max(tree: Tree, path: str) -> int | Missing | None:
    return None if text(tree, path) == "max" else natural(tree, path)


def _cpu_quota(tree: Tree, path: str) -> float | Missing | None:
    shown = text(tree, path)
    if isinstance(shown, Missing):
        return shown
    match = re.fullmatch(r"(max|[0-9]{1,12}) ([1-9][0-9]{0,11})", shown)
    if match is None:
        return malformed(shown.encode(), path)
    return None if match[1] == "max" else int(match[1]) / int(match[2])


def _modules(tree: Tree) -> Iterator[Module]:
    for name in _MODULES:
        if tree.exists(f"sys/module/{name}"):
            yield Module(name=name, version=text(tree, f"sys/module/{name}/version"))
    for peer in names(tree, "sys/kernel/mm/memory_peers"):
        yield Module(name=visible(peer), version=text(tree, f"sys/kernel/mm/memory_peers/{peer}/version"))
