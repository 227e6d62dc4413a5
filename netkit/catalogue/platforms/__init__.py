"""Known platforms, one TOML file each: how many GPUs and NICs, how fast, and which belong together.

A file names its source. `[[group]]` lists PCI addresses (or device names) of GPUs and NICs that share a switch, or a
CPU over coherent links; a platform whose addresses nobody published has counts only.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from netkit.errors import InputError
from netkit.model.pci import PciAddress
from netkit.model.text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformGroup:
    """GPUs and the NICs that are theirs. NICs are addresses, or device names where only those were published."""

    numa: int
    gpus: tuple[PciAddress, ...]
    nics: tuple[PciAddress | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """One machine type. Rates are bytes per second of one port; `ports_per_slot` ports share one PCIe slot."""

    id: str
    name: str
    source: str
    gpu_model: str
    gpus: int
    nics: int
    nic_rate: float
    ports_per_slot: int
    pcie_gt_per_second: float
    groups: tuple[PlatformGroup, ...] = ()
    switched: bool = True
    cpu_vendor: str = "GenuineIntel"

    @property
    def addressed(self) -> bool:
        """Whether every GPU and NIC is known by PCI address."""
        return bool(self.groups) and all(isinstance(nic, PciAddress) for group in self.groups for nic in group.nics)


@cache
def platforms() -> MappingProxyType[str, Platform]:
    """Return every platform by id, in order of id."""
    found = sorted(
        (one for one in files(__package__).iterdir() if one.name.endswith(".toml")), key=lambda one: one.name
    )
    read = (_platform(one.name.removesuffix(".toml"), tomllib.loads(one.read_text("utf-8"))) for one in found)
    return MappingProxyType({platform.id: platform for platform in read})


def platform(name: str) -> Platform:
    """Return one platform; InputError with the nearest id when there is none of that name."""
    known = platforms()
    if name not in known:
        from difflib import get_close_matches

        nearest = get_close_matches(name, known, n=1)
        raise InputError(f"platform {visible(name)!r}", ", ".join(known), nearest[0] if nearest else None)
    return known[name]


def _platform(name: str, raw: dict[str, Any]) -> Platform:
    return Platform(
        id=name,
        name=raw["name"],
        source=raw["source"],
        gpu_model=raw["gpu_model"],
        gpus=raw["gpus"],
        nics=raw["nics"],
        nic_rate=raw["nic_gbit_per_second"] * 1e9 / 8,
        ports_per_slot=raw.get("ports_per_slot", 1),
        pcie_gt_per_second=float(raw["pcie_gt_per_second"]),
        groups=tuple(_group(group) for group in raw.get("group", [])),
        switched=raw.get("switched", True),
        cpu_vendor=raw.get("cpu_vendor", "GenuineIntel"),
    )


def _group(raw: dict[str, Any]) -> PlatformGroup:
    return PlatformGroup(
        numa=raw["numa"],
        gpus=tuple(map(PciAddress.parse, raw["gpus"])),
        nics=tuple(PciAddress.parse(nic) if ":" in nic else nic for nic in raw["nics"]),
    )
