"""A topology XML for NCCL_TOPO_FILE: virtual switches that say which GPUs and NICs belong together.

For virtual machines that hide their switches. The form is that of the files providers ship (microsoft/superbenchmark
ndv4-topo.xml, aws/aws-ofi-nccl p4d-24xl-topo.xml): bare pci tags, which NCCL matches to real devices by address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from netkit.catalogue.platforms import Platform, PlatformGroup
from netkit.errors import InputError
from netkit.model.pci import PciAddress

_GPU_CLASS = "0x030200"
_NIC_CLASS = "0x020000"
_SWITCH_CLASS = "0x060400"
CPU_IDS = MappingProxyType({"GenuineIntel": (6, 143), "AuthenticAMD": (25, 17)})
"""CPUID family and model written for each vendor; NCCL derives the inter-socket bandwidth from them."""
_ACCEPTED = "gpu address = nic address[,nic address] such as 0001:00:00.0=0101:00:00.0"


def from_platform(platform: Platform) -> str:
    """Return the XML of a platform; InputError when its addresses were never published, or it has no switches."""
    if not platform.addressed:
        given = f"platform {platform.id}, whose PCI addresses are not all published"
        raise InputError(given, "a platform with addresses, or pairs given with --pair")
    if not platform.switched:
        given = f"platform {platform.id}, whose GPUs reach NICs over their CPU and not over a switch"
        raise InputError(given, "a platform with PCIe switches")
    return xml_of(platform.groups, platform.pcie_gt_per_second, platform.cpu_vendor)


def groups_of(pairs: Sequence[str], numa: Mapping[PciAddress, int] | None = None) -> tuple[PlatformGroup, ...]:
    """Read declared pairs; GPUs that name the same NICs share a switch. InputError when an address is used twice."""
    together: dict[tuple[PciAddress, ...], list[PciAddress]] = {}
    for pair in pairs:
        gpu, equals, nics = pair.partition("=")
        if not equals:
            raise InputError(f"pair {pair!r}", _ACCEPTED)
        key = tuple(PciAddress.parse(nic) for nic in nics.split(","))
        together.setdefault(key, []).append(PciAddress.parse(gpu))
    _refuse_repeats([gpu for gpus in together.values() for gpu in gpus])
    _refuse_repeats([nic for nics in together for nic in nics])
    nodes = numa or {}
    return tuple(
        PlatformGroup(numa=nodes.get(gpus[0], 0), gpus=tuple(gpus), nics=nics) for nics, gpus in together.items()
    )


def _refuse_repeats(addresses: Sequence[PciAddress]) -> None:
    repeated = next((one for one in addresses if addresses.count(one) > 1), None)
    if repeated is not None:
        raise InputError(
            f"address {repeated} in two pairs", "each device in one pair, GPUs of one NIC with equal lists"
        )


def xml_of(groups: Sequence[PlatformGroup], gt_per_second: float, vendor: str) -> str:
    """Return the XML of these groups, one switch each, under the NUMA node of each group."""
    family, model = CPU_IDS[vendor]
    cpu = f'arch="x86_64" vendor="{vendor}" familyid="{family}" modelid="{model}"'
    lines = ['<system version="1">']
    for numa in sorted({group.numa for group in groups}):
        lines.append(f'  <cpu numaid="{numa}" {cpu}>')
        for number, group in enumerate(groups, 1):
            if group.numa == numa:
                lines += _switch(number, group, gt_per_second)
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>", ""])


def _switch(number: int, group: PlatformGroup, gt_per_second: float) -> list[str]:
    leaves = [(gpu, _GPU_CLASS) for gpu in group.gpus] + [(nic, _NIC_CLASS) for nic in group.nics]
    return [
        f"    {_pci(f'ffff:ff:{number:02x}.0', _SWITCH_CLASS, gt_per_second)}>",
        *(f"      {_pci(str(leaf), kind, gt_per_second)}/>" for leaf, kind in leaves),
        "    </pci>",
    ]


def _pci(busid: str, kind: str, gt_per_second: float) -> str:
    return f'<pci busid="{busid}" class="{kind}" link_speed="{gt_per_second:g} GT/s" link_width="16"'
