"""Capabilities in a PCI function's configuration space.

`/sys/bus/pci/devices/<address>/config`: 64 bytes for everybody, all of it with CAP_SYS_ADMIN. Layouts: PCI Express
Base Specification 6.0, 7.5.3 (PCI Express), 7.7.11 (ACS), 7.8.9 (ATS); list walking as in Linux drivers/pci/pci.c.
The IOMMU domain beside it: Linux Documentation/ABI/testing/sysfs-kernel-iommu_groups, `type`.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.model.pci_capabilities import NO_CAPABILITY, AcsControl, PciCapabilities, PortType
from netkit.sources.attributes import text
from netkit.sources.pci import DEVICES
from netkit.sources.tree import Tree

CONFIG_BYTES = 4096
PUBLIC_BYTES = 64
SERIAL_NUMBER = 0x0003
_CONVENTIONAL_BYTES = 256
_PCI_EXPRESS = 0x10
_ACS = 0x000D
_ATS = 0x000F
_CAPABILITY_LIST_BIT = 0x10
_SMALLEST_PAYLOAD = 128
_LARGEST_CODE = 5

_PORT_TYPES = MappingProxyType(
    {
        0: PortType.ENDPOINT,
        1: PortType.LEGACY_ENDPOINT,
        4: PortType.ROOT_PORT,
        5: PortType.UPSTREAM,
        6: PortType.DOWNSTREAM,
        7: PortType.TO_PCI_BRIDGE,
        8: PortType.FROM_PCI_BRIDGE,
        9: PortType.INTEGRATED_ENDPOINT,
        10: PortType.EVENT_COLLECTOR,
    }
)


def read_pci_capabilities(tree: Tree, address: PciAddress) -> PciCapabilities:
    """Return what the function's configuration space says; without privilege its fields are Missing (denied)."""
    where = f"{DEVICES}/{address}/config"
    data = tree.read(where, CONFIG_BYTES)
    found = _nothing(address, data) if isinstance(data, Missing) else parse_config(address, data, where)
    return replace(found, iommu_domain=text(tree, f"{DEVICES}/{address}/iommu_group/type"))


def parse_config(address: PciAddress, data: bytes, where: str) -> PciCapabilities:
    """Read the PCI Express, ACS and ATS capabilities out of the raw bytes."""
    if len(data) <= PUBLIC_BYTES:
        return _nothing(address, Missing(reason=Reason.DENIED, where=where, detail=f"{len(data)} bytes shown"))
    express = find_capability(data, _PCI_EXPRESS)
    if express is None or express + 10 > len(data):
        return _nothing(address, Missing(reason=Reason.UNSUPPORTED, where=where, detail="not PCI Express"))
    control = _word(data, express + 8)
    ats = _extended(data, _ATS, where)
    acs = _extended(data, _ACS, where)
    return PciCapabilities(
        address=address,
        port_type=_PORT_TYPES.get(_word(data, express + 2) >> 4 & 0xF, _odd(where, "port type")),
        max_payload_bytes=_size(control >> 5, where),
        max_payload_supported_bytes=_size(_word(data, express + 4), where),
        max_read_request_bytes=_size(control >> 12, where),
        relaxed_ordering=bool(control & 1 << 4),
        no_snoop=bool(control & 1 << 11),
        extended_tags=bool(control & 1 << 8),
        acs=acs if isinstance(acs, Missing) else _acs(_word(data, acs + 6)),
        ats_enabled=ats if isinstance(ats, Missing) else bool(_word(data, ats + 6) & 1 << 15),
        iommu_domain=Missing(reason=Reason.UNSUPPORTED, where=where, detail="not in configuration space"),
    )


def find_capability(data: bytes, wanted: int) -> int | None:
    """Return where a conventional capability starts; a list that loops or leaves the space ends there."""
    if len(data) < PUBLIC_BYTES or not data[6] & _CAPABILITY_LIST_BIT:
        return None
    at, seen = data[0x34] & 0xFC, set[int]()
    while PUBLIC_BYTES <= at <= len(data) - 2 and at not in seen:
        if data[at] == wanted:
            return at
        seen.add(at)
        at = data[at + 1] & 0xFC
    return None


def find_extended(data: bytes, wanted: int) -> int | None:
    """Return where an extended capability starts, 8 bytes of it at least."""
    at, seen = _CONVENTIONAL_BYTES, set[int]()
    while _CONVENTIONAL_BYTES <= at <= len(data) - 8 and at not in seen:
        header = int.from_bytes(data[at : at + 4], "little")
        if header & 0xFFFF == wanted:
            return at
        seen.add(at)
        at = header >> 20 & 0xFFC
    return None


def _extended(data: bytes, wanted: int, where: str) -> int | Missing:
    found = find_extended(data, wanted)
    return Missing(reason=Reason.UNSUPPORTED, where=where, detail=NO_CAPABILITY) if found is None else found


def _acs(control: int) -> AcsControl:
    bits = [bool(control & 1 << bit) for bit in range(7)]
    return AcsControl(
        source_validation=bits[0],
        translation_blocking=bits[1],
        request_redirect=bits[2],
        completion_redirect=bits[3],
        upstream_forwarding=bits[4],
        egress_control=bits[5],
        direct_translated=bits[6],
    )


def _size(field: int, where: str) -> int | Missing:
    code = field & 7
    return _SMALLEST_PAYLOAD << code if code <= _LARGEST_CODE else _odd(where, f"size code {code}")


def _odd(where: str, what: str) -> Missing:
    return Missing(reason=Reason.MALFORMED, where=where, detail=f"reserved {what}")


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _nothing(address: PciAddress, why: Missing) -> PciCapabilities:
    return PciCapabilities(
        address=address,
        port_type=why,
        max_payload_bytes=why,
        max_payload_supported_bytes=why,
        max_read_request_bytes=why,
        relaxed_ordering=why,
        no_snoop=why,
        extended_tags=why,
        acs=why,
        ats_enabled=why,
        iommu_domain=why,
    )
