"""The PCI tree of a machine from the text of `lspci -vvv` (or `-vvvnn`), as bug reports carry it.

Layout: pciutils, lspci.c, ls-caps.c, ls-ecaps.c. Without root lspci prints `<access denied>` for capabilities, which
makes them Missing. What lspci does not print (drivers' own data, RDMA, interfaces) is Missing too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress, PciDevice, PciLink
from netkit.model.pci_capabilities import NO_CAPABILITY, AcsControl, PciCapabilities, PortType
from netkit.model.text import visible
from netkit.sources.snapshot import on_data_path, read_node
from netkit.sources.tree import READ_LIMIT

MOST_BYTES = 16 << 20
_WHERE = "lspci"
_HEAD = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^:\[]+?)(?: \[([0-9a-f]{4})\])?: (.*)")
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_UNNAMED = re.compile(r"Device ([0-9a-f]{4})\b")
_BUSES = re.compile(r"Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
_SPEED = re.compile(r"Speed ([0-9.]{1,5})GT/s.*?Width x([0-9]{1,2})")
_PAYLOAD = re.compile(r"MaxPayload ([0-9]{3,4}) bytes, MaxReadReq ([0-9]{3,4}) bytes")
_SUPPORTED = re.compile(r"MaxPayload ([0-9]{3,4}) bytes, PhantFunc")
_FLAG = re.compile(r"([A-Za-z]+)([+-])")
_NUMA = re.compile(r"NUMA node: ([0-9]{1,4})")
_DRIVER = re.compile(r"Kernel driver in use: (\S{1,64})")

_CLASSES: Mapping[str, int] = MappingProxyType(
    {
        "PCI bridge": 0x060400,
        "Bridge": 0x068000,
        "3D controller": 0x030200,
        "VGA compatible controller": 0x030000,
        "Display controller": 0x038000,
        "Processing accelerators": 0x120000,
        "Ethernet controller": 0x020000,
        "Infiniband controller": 0x020700,
        "Network controller": 0x028000,
    }
)
_VENDORS: Mapping[str, int] = MappingProxyType(
    {
        "NVIDIA": 0x10DE,
        "Mellanox": 0x15B3,
        "Advanced Micro Devices": 0x1002,
        "Broadcom / LSI": 0x1000,
        "Broadcom": 0x14E4,
        "Intel": 0x8086,
        "Amazon": 0x1D0F,
    }
)
_PORTS: Mapping[str, PortType] = MappingProxyType(
    {
        "Endpoint": PortType.ENDPOINT,
        "Legacy Endpoint": PortType.LEGACY_ENDPOINT,
        "Root Port": PortType.ROOT_PORT,
        "Upstream Port": PortType.UPSTREAM,
        "Downstream Port": PortType.DOWNSTREAM,
        "Root Complex Integrated Endpoint": PortType.INTEGRATED_ENDPOINT,
    }
)
_EXPRESS = re.compile(rf"Express (?:\(v\d\) )?({'|'.join(sorted(_PORTS, key=len, reverse=True))})")
_ACS_FIELDS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")


def looks_like_lspci(text: str) -> bool:
    """Tell whether a text starts as lspci's does."""
    return _HEAD.match(text.lstrip()) is not None


def parse_lspci(text: str, now: float) -> NodeSnapshot:
    """Return the node as far as `lspci -vvv` tells; InputError when no function is in the text."""
    blocks = dict(_blocks(text))
    if not blocks:
        raise InputError("a text without a PCI function", "the output of lspci -vvv, best as root")
    chains = _chains(blocks)
    devices = tuple(sorted((_device(*one, chains) for one in blocks.items()), key=lambda one: one.address))
    path = [device.address for device in devices if on_data_path(device)]
    return replace(
        read_node(_Nothing(), now),
        pci_devices=devices,
        pci_capabilities=tuple(_capabilities(address, blocks[address]) for address in path),
    )


class _Nothing:
    """The files of a machine of which there is only a text: no question has an answer."""

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        del limit
        return _absent(path)

    def list(self, path: str) -> tuple[str, ...] | Missing:
        return _absent(path)

    def link(self, path: str) -> str | Missing:
        return _absent(path)

    def exists(self, path: str) -> bool:
        del path
        return False

    def lines(self, path: str, keep: re.Pattern[bytes], most: int) -> bytes | Missing:
        del keep, most
        return _absent(path)


def _absent(path: str) -> Missing:
    return Missing(reason=Reason.ABSENT, where=path, detail="not in the output of lspci")


def _blocks(text: str) -> Iterator[tuple[PciAddress, str]]:
    for block in re.split(r"\n(?=[0-9a-f]{2,8}:[0-9a-f]{2}[.:])", text):
        if match := _HEAD.match(block.lstrip()):
            yield PciAddress.parse(match[1]), block.lstrip()


def _chains(blocks: Mapping[PciAddress, str]) -> dict[tuple[int, int], PciAddress]:
    """Return the bridge above each bus, by domain and bus number."""
    found = {}
    for address, block in blocks.items():
        if match := _BUSES.search(block):
            found[address.domain, int(match[2], 16)] = address
    return found


def _above(address: PciAddress, bridges: Mapping[tuple[int, int], PciAddress]) -> tuple[PciAddress, ...]:
    chain: list[PciAddress] = []
    here = bridges.get((address.domain, address.bus))
    while here is not None and here not in chain:
        chain.append(here)
        here = bridges.get((here.domain, here.bus))
    return tuple(reversed(chain))


def _device(address: PciAddress, block: str, bridges: Mapping[tuple[int, int], PciAddress]) -> PciDevice:
    head = _HEAD.match(block)
    kind, code, name = (head[2], head[3], head[4]) if head else ("", None, "")
    ids = _IDS.search(name)
    unnamed = _UNNAMED.search(name)
    chain = _above(address, bridges)
    absent = Missing(reason=Reason.ABSENT, where=_WHERE)
    numa, driver = _NUMA.search(block), _DRIVER.search(block)
    return PciDevice(
        address=address,
        root=f"pci{address.domain:04x}:{(chain[0] if chain else address).bus:02x}",
        chain=chain,
        class_code=int(code, 16) << 8 if code else _CLASSES.get(kind, 0),
        vendor=int(ids[1], 16) if ids else next((code for word, code in _VENDORS.items() if word in name), 0),
        device=int(ids[2], 16) if ids else int(unnamed[1], 16) if unnamed else 0,
        subsystem_vendor=absent,
        subsystem_device=absent,
        numa_node=int(numa[1]) if numa else absent,
        driver=visible(driver[1]) if driver else absent,
        current_link=_link(block, "LnkSta"),
        max_link=_link(block, "LnkCap"),
    )


def _link(block: str, which: str) -> PciLink:
    line = _line(block, f"{which}:")
    match = _SPEED.search(line) if line else None
    if match is None or int(match[2]) == 0:
        missing = _denied(block)
        return PciLink(speed_gt_per_second=missing, width=missing)
    return PciLink(speed_gt_per_second=float(match[1]), width=int(match[2]))


def _line(block: str, title: str) -> str | None:
    """Return what follows `title`, its continuation lines joined."""
    found = re.search(rf"^(\s*){re.escape(title)}(.*(?:\n\1\s+(?![A-Za-z0-9]+:).*)*)", block, re.MULTILINE)
    return found[2] if found else None


def _denied(block: str) -> Missing:
    if "<access denied>" in block:
        return Missing(reason=Reason.DENIED, where=_WHERE, detail="lspci was not run as root")
    return Missing(reason=Reason.UNSUPPORTED, where=_WHERE, detail=NO_CAPABILITY)


def _capabilities(address: PciAddress, block: str) -> PciCapabilities:
    port = _EXPRESS.search(block)
    sizes, supported = _PAYLOAD.search(block), _SUPPORTED.search(block)
    control = _flags(_line(block, "DevCtl:") or "")
    express = _denied(block)
    ats = _flags(_line(block, "ATSCtl:") or "").get("Enable")
    return PciCapabilities(
        address=address,
        port_type=_PORTS[port[1]] if port else express,
        max_payload_bytes=int(sizes[1]) if sizes else express,
        max_payload_supported_bytes=int(supported[1]) if supported else express,
        max_read_request_bytes=int(sizes[2]) if sizes else express,
        relaxed_ordering=control.get("RlxdOrd", express),
        no_snoop=control.get("NoSnoop", express),
        extended_tags=control.get("ExtTag", express),
        acs=_acs(block),
        ats_enabled=_denied(block) if ats is None else ats,
        iommu_domain=_absent(f"iommu group of {address}"),
    )


def _acs(block: str) -> AcsControl | Missing:
    bits = _flags(_line(block, "ACSCtl:") or "")
    if not all(name in bits for name in _ACS_FIELDS):
        return _denied(block)
    return AcsControl(
        source_validation=bits["SrcValid"],
        translation_blocking=bits["TransBlk"],
        request_redirect=bits["ReqRedir"],
        completion_redirect=bits["CmpltRedir"],
        upstream_forwarding=bits["UpstreamFwd"],
        egress_control=bits["EgressCtrl"],
        direct_translated=bits["DirectTrans"],
    )


def _flags(line: str) -> dict[str, bool]:
    return {name: sign == "+" for name, sign in _FLAG.findall(line)}
