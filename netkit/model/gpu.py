"""GPUs and other accelerators of one node, whatever told about them: NVML, `nvidia-smi`, sysfs, vendors' tools.

Throttle reasons carry NVML's names (nvml.h, nvmlClocksEventReason*). A value the device, driver or tool does not give
is `Missing`; zero is only ever a zero somebody measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.model.counter import Counter, Setting
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress


class GpuVendor(StrEnum):
    """Who made the accelerator."""

    NVIDIA = "nvidia"
    AMD = "amd"
    ASCEND = "ascend"
    CAMBRICON = "cambricon"
    HYGON = "hygon"


class Throttle(StrEnum):
    """Why a clock is below what was asked for; `IDLE` and `APPLICATION_CLOCKS` are no trouble."""

    IDLE = "idle"
    APPLICATION_CLOCKS = "application-clocks"
    SOFTWARE_POWER_CAP = "software-power-cap"
    HARDWARE_SLOWDOWN = "hardware-slowdown"
    SYNC_BOOST = "sync-boost"
    SOFTWARE_THERMAL = "software-thermal"
    HARDWARE_THERMAL = "hardware-thermal"
    HARDWARE_POWER_BRAKE = "hardware-power-brake"
    DISPLAY_CLOCKS = "display-clocks"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMemory:
    """Memory of the device, in bytes."""

    total_bytes: int | Missing
    used_bytes: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUtilisation:
    """Fraction of the last sample period in which any kernel ran, or memory was accessed: 0 to 1."""

    compute: float | Missing
    memory: float | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuClocks:
    """Frequencies in hertz, now and at most."""

    graphics_hertz: int | Missing
    memory_hertz: int | Missing
    max_graphics_hertz: int | Missing
    max_memory_hertz: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPower:
    """Watts drawn and allowed."""

    draw_watts: float | Missing
    limit_watts: float | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuTemperature:
    """Degrees Celsius of the chip and of its memory."""

    core_celsius: float | Missing
    memory_celsius: float | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPcie:
    """PCIe generation (1 for 2.5 GT/s, 5 for 32 GT/s) and lanes, now and at most; replays since the last reset."""

    generation: int | Missing
    width: int | Missing
    max_generation: int | Missing
    max_width: int | Missing
    replays: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLink:
    """One NVLink: whether it is up, and its speed in each direction in bytes per second."""

    index: int
    active: bool | Missing
    bytes_per_second: float | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFabric:
    """What the fabric manager made of the device: `completed` and `success` when it may use NVSwitch."""

    state: str | Missing
    status: str | Missing
    cluster: str | Missing
    clique: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEcc:
    """Memory errors since the driver was loaded, and rows waiting to be remapped at the next reset."""

    enabled: bool | Missing
    corrected: int | Missing
    uncorrected: int | Missing
    remapped_rows: int | Missing
    remap_pending: bool | Missing
    remap_failed: bool | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process with a context on the device; `graphics` alone is no training rank."""

    pid: int
    compute: bool
    name: str | Missing
    memory_bytes: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One accelerator that answered; `index` is the position in the driver's own order."""

    vendor: GpuVendor
    index: int
    uuid: str | Missing
    address: PciAddress | Missing
    name: str | Missing
    memory: GpuMemory
    utilisation: GpuUtilisation
    clocks: GpuClocks
    power: GpuPower
    temperature: GpuTemperature
    throttle: tuple[Throttle, ...] | Missing
    pcie: GpuPcie
    links: tuple[GpuLink, ...] | Missing
    fabric: GpuFabric | Missing
    mig_enabled: bool | Missing
    ecc: GpuEcc
    processes: tuple[GpuProcess, ...] | Missing
    counters: tuple[Counter, ...] = ()
    """What the driver counts since it was loaded (NVML only): energy, NVLink and PCIe traffic, errors, throttling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentGpu:
    """A GPU that gave no answer, with what was last known of it; `lost` only where the driver itself said so.

    A driver that does not answer in time says nothing about the hardware.
    """

    index: int | Missing
    uuid: str | Missing
    address: PciAddress | Missing
    lost: bool
    why: Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuInventory:
    """All accelerators of one vendor in one node: those that answered and those that did not.

    `features_off` names what this driver's library cannot do.
    """

    driver: str | Missing
    gpus: tuple[Gpu, ...]
    silent: tuple[SilentGpu, ...]
    features_off: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuPort:
    """The network port inside one Ascend device; `counters` keep the names `hccn_tool -stat -g` gives them."""

    device: int
    up: bool | Missing
    address: str | Missing
    speed_bytes_per_second: float | Missing
    health: str | Missing
    fec: str | Missing
    lossless: tuple[int, ...] | Missing
    """Priorities with PFC on."""
    tls: bool | Missing
    link_ups: int | Missing
    module_present: bool | Missing
    module_celsius: float | Missing
    counters: tuple[Setting, ...] | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerators:
    """What each vendor's way of asking gave; Missing (absent) is a node without that vendor's driver."""

    nvidia: GpuInventory | Missing
    amd: GpuInventory | Missing
    ascend: GpuInventory | Missing
    cambricon: GpuInventory | Missing
    hygon: GpuInventory | Missing
    npu_ports: tuple[NpuPort, ...] | Missing
    """The ports inside Ascend devices, in the order of their devices."""
    nvidia_matrix: str | Missing
    """What `nvidia-smi topo -m` printed, for `netkit.topology.topo_m`."""

    @property
    def inventories(self) -> tuple[GpuInventory, ...]:
        """Those of the vendors whose devices are here."""
        asked = (self.nvidia, self.amd, self.ascend, self.cambricon, self.hygon)
        return tuple(found for found in asked if isinstance(found, GpuInventory))

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """Every accelerator that answered, whoever made it."""
        return tuple(gpu for inventory in self.inventories for gpu in inventory.gpus)

    @property
    def silent(self) -> tuple[SilentGpu, ...]:
        """Every accelerator that was known and gave no answer."""
        return tuple(gpu for inventory in self.inventories for gpu in inventory.silent)
