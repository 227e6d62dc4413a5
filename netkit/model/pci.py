"""PCI addresses, devices and the path types NCCL gives to the way between two of them.

Path types and their order: NVIDIA NCCL, src/include/graph.h (LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from netkit.errors import InputError
from netkit.model.missing import Missing
from netkit.model.text import visible

_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.IGNORECASE)


class PciPath(IntEnum):
    """How far apart two devices sit; a smaller value is nearer."""

    LOC = 0
    NVL = 1
    NVB = 2
    C2C = 3
    PIX = 4
    PXB = 5
    P2C = 6
    PXN = 7
    PHB = 8
    SYS = 9
    NET = 10
    DIS = 11


@dataclass(frozen=True, slots=True, order=True)
class PciAddress:
    """domain:bus:device.function, as the kernel prints it: `0000:3a:00.0`."""

    domain: int
    bus: int
    device: int
    function: int

    @classmethod
    def parse(cls, text: str) -> PciAddress:
        """Read `0000:3a:00.0`, NVML's `00000000:3A:00.0`, or the short `3a:00.0`; InputError for anything else."""
        match = _ADDRESS.fullmatch(text.strip())
        if match is None:
            raise InputError(f"PCI address {visible(text)!r}", "domain:bus:device.function such as 0000:3a:00.0")
        domain, bus, device, function = (int(part or "0", 16) for part in match.groups())
        return cls(domain, bus, device, function)

    def __str__(self) -> str:
        """The kernel's form."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function:x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PciLink:
    """One end of a PCIe link: transfers per second per lane in GT/s, and lanes."""

    speed_gt_per_second: float | Missing
    width: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One PCI function as sysfs shows it.

    `chain` lists the bridges from the root complex down to (not including) the device; `root` is the kernel's
    name of the host bridge, such as `pci0000:3a`. `class_code` is the 24-bit class, 0x030200 for a 3D controller.
    """

    address: PciAddress
    root: str
    chain: tuple[PciAddress, ...]
    class_code: int
    vendor: int
    device: int
    subsystem_vendor: int | Missing
    subsystem_device: int | Missing
    numa_node: int | Missing
    driver: str | Missing
    current_link: PciLink
    max_link: PciLink
