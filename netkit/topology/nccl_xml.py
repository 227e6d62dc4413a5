"""NCCL's topology XML to a device graph.

The format is that of NCCL_TOPO_FILE and NCCL_TOPO_DUMP_FILE (NVIDIA NCCL, src/graph/xml.cc and topo.cc): system, cpu,
nested pci, then gpu with nvlink, xgmi or c2c, and nic with net. Files of cloud providers hold bare pci tags only; NCCL
finds the devices by address at run time, so here the PCI class says what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from netkit.errors import InputError
from netkit.model.pci import PciAddress
from netkit.model.text import visible
from netkit.model.topology import Cpu, Gpu, LinkKind, Nic, Topology, VertexKind
from netkit.topology.attributes import Problems, address, describe, flag, integer, speed, width
from netkit.topology.constants import (
    GIGA,
    LOCAL_BANDWIDTH,
    UNSTATED_NET_RATE,
    nvlink_bandwidth,
    pcie_bandwidth,
    pcie_lane_known,
    xgmi_bandwidth,
)
from netkit.topology.draft import Draft
from netkit.topology.xml_tree import Tag, parse

NCCL_MAX_TAGS = 256
_ABSURD_RATE = 2_000_000 / 8000.0 * GIGA
_NVSWITCH = "nvs:0"
_ACCELERATOR_VENDORS = frozenset({0x10DE, 0x1002, 0x19E5, 0x8086})


def read_topology(text: str | bytes, source: str) -> Topology:
    """Return the graph a topology XML describes; what cannot be used is listed in `problems`.

    Raises:
        InputError: not XML, hostile or oversized XML, or no <system> with a <cpu> in it.
    """
    root, tags = parse(text)
    if root.name != "system":
        raise InputError(f"XML that starts with <{root.name}>", "a topology XML, which starts with <system>")
    reader = _Reader(visible(source))
    reader.read(root, tags)
    return reader.finish()


class _Reader:
    """One pass over the tags to place devices, a second one for links between them."""

    def __init__(self, source: str) -> None:
        self.draft = Draft(source)
        self.problems = Problems()
        self._addresses: dict[str, str] = {}
        self._gpu_tags: list[tuple[Tag, str]] = []
        self._bare_gpus: list[tuple[PciAddress | None, str, int | None]] = []
        self._bare_nics: list[tuple[PciAddress | None, str, int | None]] = []
        self._pci_links: list[tuple[str, Tag]] = []
        self._net_names: set[str] = set()
        self._net_devs: set[int] = set()

    def read(self, root: Tag, tags: int) -> None:
        if tags > NCCL_MAX_TAGS:
            self.problems.note(f"{tags} tags: NCCL itself holds at most {NCCL_MAX_TAGS}")
        for tag in root.children:
            if tag.name == "cpu":
                self._cpu(tag)
            else:
                self.problems.lose(f"{describe(tag)} directly in <system>")
        if not self.draft.cpus:
            raise InputError(f"topology XML {self.draft.source} without any <cpu>", "at least one <cpu> in <system>")
        self._place_bare()
        self._connect_gpus()
        self._connect_switches()

    def finish(self) -> Topology:
        graph = self.draft.finish()
        partial = self.problems.partial or graph.partial
        return replace(graph, problems=tuple(self.problems.all()), partial=partial)

    # Placing devices.

    def _cpu(self, tag: Tag) -> None:
        numa = integer(tag, "numaid", self.problems)
        if numa is None:
            self.problems.note(f"{describe(tag)}: no numaid")
        key = f"cpu:{tag.attributes.get('host_hash', '')}/{-1 if numa is None else numa}"
        if key in self.draft.kinds:
            self.problems.note(f"{describe(tag)}: this NUMA node appears twice; its devices are taken together")
        else:
            self._add_cpu(tag, key, numa)
        here = None if numa is None or numa < 0 else numa
        for child in tag.children:
            if child.name == "pci":
                self._pci(child, key, here)
            elif child.name == "nic":
                self._nic(child, key, None, LOCAL_BANDWIDTH, here)
            else:
                self.problems.lose(f"{describe(child)} directly in <cpu>")

    def _add_cpu(self, tag: Tag, key: str, numa: int | None) -> None:
        self.draft.add(key, VertexKind.CPU)
        family, model = (integer(tag, name, self.problems) for name in ("familyid", "modelid"))
        arch, vendor = tag.attributes.get("arch"), tag.attributes.get("vendor")
        self.draft.cpus.append(Cpu(key=key, numa=numa, arch=arch, vendor=vendor, family=family, model=model))

    def _pci(self, tag: Tag, parent: str, numa: int | None) -> None:
        where = address(tag, "busid", self.problems)
        key = self._unique(tag, where)
        gt_per_second = speed(tag, self.problems)
        if gt_per_second is not None and not pcie_lane_known(gt_per_second):
            self.problems.note(f"{describe(tag)}: {gt_per_second:g} GT/s is unknown to NCCL, which plans with 8 GT/s")
        bandwidth = pcie_bandwidth(gt_per_second, width(tag, self.problems))
        inner = {child.name for child in tag.children}
        if "gpu" in inner:
            self._gpus(tag, key, where, parent, bandwidth, numa)
        elif "nic" in inner:
            for nic in (child for child in tag.children if child.name == "nic"):
                self._nic(nic, parent, where, bandwidth, numa, key)
        else:
            self._by_class(tag, key, where, parent, bandwidth, numa)

    def _unique(self, tag: Tag, where: PciAddress | None) -> str:
        name = str(where) if where is not None else f"?{len(self._addresses)}"
        key = f"pci:{name}"
        if key in self._addresses:
            self.problems.note(f"{describe(tag)}: this busid appears twice; NCCL takes them for one device")
            key = f"{key}#{len(self._addresses)}"
        self._addresses[key] = name
        return key

    def _by_class(
        self, tag: Tag, key: str, where: PciAddress | None, parent: str, bandwidth: float, numa: int | None
    ) -> None:
        kind = self._kind(tag)
        if kind is VertexKind.SWITCH:
            self.draft.hang(key, kind, parent, bandwidth, self._pci_id(tag))
            for child in tag.children:
                self._inside_switch(child, key, numa)
            return
        if kind is VertexKind.NVSWITCH:
            return
        if tag.children:
            self.problems.lose(f"{describe(tag)}: NCCL ignores what stands inside a {kind.value}")
        self.draft.hang(key, kind, parent, bandwidth)
        (self._bare_gpus if kind is VertexKind.GPU else self._bare_nics).append((where, key, numa))

    def _inside_switch(self, child: Tag, key: str, numa: int | None) -> None:
        if child.name == "pci":
            self._pci(child, key, numa)
        elif child.name == "pcilink":
            self._pci_links.append((key, child))
        else:
            self.problems.lose(f"{describe(child)} directly in a PCIe switch")

    def _kind(self, tag: Tag) -> VertexKind:
        text = tag.attributes.get("class", "").lower()
        if not text:
            self.problems.note(f"{describe(tag)}: no class; taken for a switch, as NCCL does")
        vendor = integer(tag, "vendor", self.problems)
        for prefix, kind in (
            ("0x060400", VertexKind.SWITCH),
            ("0x080100", VertexKind.SWITCH),
            ("0x0680", VertexKind.NVSWITCH),
            ("0x03", VertexKind.GPU),
            ("0x12", VertexKind.GPU),
            ("0x02", VertexKind.NIC),
        ):
            if text.startswith(prefix):
                foreign = kind is VertexKind.GPU and vendor is not None and vendor not in _ACCELERATOR_VENDORS
                return VertexKind.NVSWITCH if foreign else kind
        return VertexKind.SWITCH

    def _pci_id(self, tag: Tag) -> int:
        packed = 0
        for name in ("vendor", "device", "subsystem_vendor", "subsystem_device"):
            packed = packed << 16 | (integer(tag, name, self.problems) or 0) & 0xFFFF
        return packed

    def _gpus(
        self, tag: Tag, key: str, where: PciAddress | None, parent: str, bandwidth: float, numa: int | None
    ) -> None:
        self.draft.hang(key, VertexKind.GPU, parent, bandwidth)
        inner = [child for child in tag.children if child.name == "gpu"]
        if len(inner) > 1:
            self.problems.note(f"{describe(tag)}: {len(inner)} ranks share one GPU; they are taken as one")
        one = inner[0]
        index = integer(one, "dev", self.problems)
        if index is None:
            self.problems.note(f"{describe(tag)}: its <gpu> has no dev; it is numbered by order")
            index = 1 + max((gpu.index for gpu in self.draft.gpus), default=-1)
        self._gpu_tags.append((one, key))
        self._add_gpu(key, index, where, numa, one)

    def _capability(self, tag: Tag) -> int | None:
        # In RCCL's files `sm` counts compute units and `gcn` names the architecture.
        return None if "gcn" in tag.attributes else integer(tag, "sm", self.problems)

    def _add_gpu(self, key: str, index: int, where: PciAddress | None, numa: int | None, tag: Tag | None) -> None:
        name = f"gpu{index}"
        if any(gpu.id == name for gpu in self.draft.gpus):
            self.problems.note(f"{name} at {where}: this dev appears twice")
            name = f"{name}@{where or key}"
        self.draft.gpus.append(
            Gpu(
                key=key,
                id=name,
                index=index,
                address=where,
                numa=numa,
                compute_capability=None if tag is None else self._capability(tag),
                architecture=None if tag is None else tag.attributes.get("gcn"),
                gdr=None if tag is None else flag(tag, "gdr", self.problems),
                bridged=self.draft.bridged(key),
            )
        )

    def _nic(
        self,
        tag: Tag,
        parent: str,
        where: PciAddress | None,
        bandwidth: float,
        numa: int | None,
        key: str | None = None,
    ) -> None:
        vertex = key or f"pci:{parent}/nic{len(self.draft.kinds)}"
        if vertex not in self.draft.kinds:
            self.draft.hang(vertex, VertexKind.NIC, parent, bandwidth)
        for net in tag.children:
            if net.name == "net" and integer(net, "net", self.problems) != 0:
                self._net(net, vertex, where, numa)

    def _net(self, tag: Tag, nic: str, where: PciAddress | None, numa: int | None) -> None:
        index = integer(tag, "dev", self.problems)
        if index is None:
            self.problems.lose(f"{describe(tag)}: no dev, so NCCL ignores it")
            return
        if index in self._net_devs:
            self.problems.note(f"{describe(tag)}: this dev appears twice; NCCL then mixes the two up")
        self._net_devs.add(index)
        rate = self._rate(tag)
        port, guid = integer(tag, "port", self.problems), tag.attributes.get("guid")
        gdr = flag(tag, "gdr", self.problems)
        name = self._net_name(tag.attributes.get("name") or f"net{index}", where or nic)
        self._add_net(name, nic, index, where, numa, rate)
        rail = tag.attributes.get("rail")
        self.draft.nics[-1] = replace(self.draft.nics[-1], port=port, guid=guid, rail=rail, gdr=gdr)

    def _rate(self, tag: Tag) -> float:
        mbps = integer(tag, "speed", self.problems)
        if mbps is None or mbps <= 0:
            stated = tag.attributes.get("speed")
            self.problems.note(f"{describe(tag)}: speed={stated!r}; NCCL plans with 10 Gbit/s")
            return UNSTATED_NET_RATE
        rate = mbps / 8000.0 * GIGA
        if rate > _ABSURD_RATE:
            self.problems.note(f"{describe(tag)}: speed={mbps} Mbit/s is beyond any NIC; NCCL believes it")
        return rate

    def _net_name(self, name: str, where: object) -> str:
        unique = name if name not in self._net_names else f"{name}@{where}"
        while unique in self._net_names:
            unique += "'"
        self._net_names.add(unique)
        return unique

    def _add_net(
        self, name: str, nic: str, index: int, where: PciAddress | None, numa: int | None, rate: float | None
    ) -> None:
        key = f"net:{name}"
        self.draft.add(key, VertexKind.NET)
        self.draft.join(nic, key, LinkKind.NET, LOCAL_BANDWIDTH if rate is None else rate)
        self.draft.nics.append(
            Nic(
                key=key,
                name=name,
                index=index,
                members=(name,),
                address=where,
                numa=numa,
                rate=rate,
                bridged=self.draft.bridged(nic),
            )
        )

    def _place_bare(self) -> None:
        """Devices known by class only are numbered by address, as the driver and the verbs plugin number them."""
        numbers = _by_address(self._bare_gpus, 1 + max((gpu.index for gpu in self.draft.gpus), default=-1))
        for where, key, numa in self._bare_gpus:
            self._add_gpu(key, numbers[key], where, numa, None)
        numbers = _by_address(self._bare_nics, 1 + max(self._net_devs, default=-1))
        for where, key, numa in self._bare_nics:
            self._add_net(self._net_name(key.removeprefix("pci:"), key), key, numbers[key], where, numa, None)
        if self._bare_nics:
            self.draft.notes.append("NIC rates are not in this file: path bandwidths are those of PCIe alone")

    # Connecting devices.

    def _connect_gpus(self) -> None:
        connect: dict[str, Callable[[Tag, Tag, str], None]] = {
            "nvlink": self._nvlink,
            "xgmi": self._nvlink,
            "c2c": self._c2c,
        }
        for gpu, key in self._gpu_tags:
            for link in gpu.children:
                if link.name in connect:
                    connect[link.name](gpu, link, key)

    def _nvlink(self, gpu: Tag, link: Tag, key: str) -> None:
        lanes = integer(link, "count", self.problems)
        if lanes is None or not 0 < lanes <= 64:
            self.problems.lose(f"{describe(link)} of {key}: count={link.attributes.get('count')!r}")
            return
        bandwidth = lanes * self._lane_bandwidth(gpu)
        target_class = link.attributes.get("tclass", "").lower()
        if target_class.startswith(("0x03", "0x12")):
            self._peer_link(link, key, bandwidth, lanes)
        elif target_class.startswith("0x068001"):
            self._join_cpu(key, LinkKind.NVL, bandwidth, lanes)
        else:
            if _NVSWITCH not in self.draft.kinds:
                self.draft.add(_NVSWITCH, VertexKind.NVSWITCH)
            self.draft.join(key, _NVSWITCH, LinkKind.NVL, bandwidth, lanes)

    def _lane_bandwidth(self, gpu: Tag) -> float:
        architecture = gpu.attributes.get("gcn")
        return xgmi_bandwidth(architecture) if architecture else nvlink_bandwidth(self._capability(gpu))

    def _peer_link(self, link: Tag, key: str, bandwidth: float, lanes: int) -> None:
        target = address(link, "target", self.problems)
        peer = f"pci:{target}"
        if target is None or self.draft.kinds.get(peer) is not VertexKind.GPU:
            self.problems.lose(f"{describe(link)} of {key}: target {link.attributes.get('target')!r} is no GPU here")
        elif peer == key:
            self.problems.lose(f"{describe(link)} of {key}: a link to itself")
        else:
            self.draft.connect(key, peer, LinkKind.NVL, bandwidth, lanes)

    def _c2c(self, _gpu: Tag, link: Tag, key: str) -> None:
        count, mbytes = integer(link, "count", self.problems), integer(link, "bw", self.problems)
        if not count or not mbytes or count < 0 or mbytes < 0:
            self.problems.lose(f"{describe(link)} of {key}: count or bw missing or not positive")
            return
        self._join_cpu(key, LinkKind.C2C, count * mbytes / 1000.0 * GIGA, count)

    def _join_cpu(self, key: str, kind: LinkKind, bandwidth: float, lanes: int) -> None:
        cpu = self.draft.cpu_above(key)
        if cpu is not None:
            self.draft.join(key, cpu, kind, bandwidth, lanes)

    def _connect_switches(self) -> None:
        for key, link in self._pci_links:
            target = address(link, "target", self.problems)
            other = f"pci:{target}"
            if target is None or other == key or self.draft.kinds.get(other) is not VertexKind.SWITCH:
                self.problems.lose(f"{describe(link)} of {key}: target is no other switch here")
            else:
                self.draft.connect(key, other, LinkKind.LOC, LOCAL_BANDWIDTH)


def _by_address(devices: Sequence[tuple[PciAddress | None, str, int | None]], first: int) -> dict[str, int]:
    ordered = sorted(devices, key=lambda one: (one[0] is None, one[0] or PciAddress(0, 0, 0, 0), one[1]))
    return {key: number for number, (_, key, _) in enumerate(ordered, first)}
