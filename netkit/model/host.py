"""What the kernel of one node says about itself: settings, limits and the events in its log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.model.counter import Setting
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress


class KernelEventKind(StrEnum):
    """The lines of a kernel log netkit understands."""

    XID = "xid"
    SXID = "sxid"
    GPU_LOST = "gpu-lost"
    MLX5_SYNDROME = "mlx5-syndrome"
    MLX5_TIMEOUT = "mlx5-timeout"
    MLX5_HEALTH = "mlx5-health"
    MODULE_TEMPERATURE = "module-temperature"
    MODULE_ERROR = "module-error"
    SLOT_POWER = "slot-power"
    LINK_DOWN = "link-down"
    LINK_UP = "link-up"
    AER = "aer"
    PEERMEM = "peermem"
    TRANSMIT_TIMEOUT = "transmit-timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEvent:
    """One event of the log; `code` is the XID, the syndrome or the watts, where the line has one."""

    kind: KernelEventKind
    seconds_since_boot: float | Missing
    address: PciAddress | Missing
    interface: str | Missing
    code: int | Missing
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A resource limit of this process; None is unlimited. Bytes for memory, a count otherwise."""

    name: str
    soft: int | None
    hard: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlGroup:
    """The control group this process runs in; None is unlimited."""

    path: str
    memory_max_bytes: int | Missing | None
    cpu_quota_cores: float | Missing | None
    cpus: str | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A loaded kernel module that matters to the data path, with its version where it publishes one."""

    name: str
    version: str | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Everything of a node that is neither a PCI function, an RDMA device nor a network interface."""

    name: str | Missing
    kernel: str | Missing
    boot_id: str | Missing
    vendor: str | Missing
    product: str | Missing
    virtual_machine: bool | Missing
    numa_nodes: str | Missing
    command_line: tuple[str, ...] | Missing
    iommu_units: tuple[str, ...] | Missing
    iommu_groups: int | Missing
    sysctls: tuple[Setting, ...]
    limits: tuple[Limit, ...] | Missing
    control_group: ControlGroup | Missing
    modules: tuple[Module, ...]
