"""NCCL's graph, paths and NIC choice once more, step by step as NCCL does them, to hold the engine against.

Follows NVIDIA NCCL, src/graph/topo.cc and paths.cc (ncclTopoAddPci, ncclTopoConnectNodes, ncclTopoFlattenBcmSwitches,
ncclTopoSortSystem, ncclTopoSetPaths, ncclTopoComputePaths, ncclTopoGetLocalNet), with arrays and in-place updates where
`netkit.topology` has records. Shares nothing with the engine but the tables of link bandwidths. GPUDirect RDMA works
wherever both ends say gdr="1" and the path is not beyond P2C.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, fromstring

from netkit.model.topology import Cpu
from netkit.topology.constants import inter_cpu_bandwidth, nvlink_bandwidth, pcie_bandwidth, xgmi_bandwidth

LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, DIS = range(11)
WORDS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "DIS")
CHANNELS = 64
_LOCAL = 5000e9
_NET = -1


@dataclass(eq=False)
class Vertex:
    kind: str
    name: str
    element: Element | None = None
    host: str = ""
    links: list[list] = field(default_factory=list)  # type: ignore[type-arg]  # [far vertex, link type, bandwidth]
    paths: dict[int, Route] = field(default_factory=dict)
    device_id: int = 0
    dev: int = 0
    rail: object = None
    up: Vertex | None = None


@dataclass
class Route:
    count: int = 0
    bandwidth: float = 0.0
    type: int = DIS
    steps: list[Vertex] = field(default_factory=list)


class Oracle:
    """One topology XML as NCCL sees it."""

    def __init__(self, xml: str) -> None:
        self.cpus: list[Vertex] = []
        self.switches: list[Vertex] = []
        self.gpus: list[Vertex] = []
        self.nics: list[Vertex] = []
        self.nets: list[Vertex] = []
        self.nvswitch: Vertex | None = None
        self._by_bus: dict[str, Vertex] = {}
        root = fromstring(xml)
        for element in root:
            self._cpu(element)
        for gpu in self.gpus:
            self._gpu_links(gpu)
        for switch in list(self.switches):
            self._switch_links(switch)
        self._flatten()
        self._connect_cpus()
        for cpu in self.cpus:
            _sort(cpu, None)
        for base in (*self.cpus, *self.gpus, *self.nets):
            self._set_paths(base)
        self._compute()

    # Building, topo.cc.

    def _cpu(self, element: Element) -> None:
        cpu = Vertex("cpu", element.get("numaid", "-1"), element, element.get("host_hash", ""))
        self.cpus.append(cpu)
        for child in element:
            if child.tag == "pci":
                self._pci(child, cpu)
            elif child.tag == "nic":
                nic = Vertex("nic", f"nic at cpu {cpu.name}", host=cpu.host)
                self._nets(child, nic)
                connect(cpu, nic, PIX, _LOCAL)
                connect(nic, cpu, PIX, _LOCAL)

    def _pci(self, element: Element, parent: Vertex) -> None:
        node = self._device(element, parent)
        if node is None:
            return
        self._by_bus[element.get("busid", "")] = node
        node.up = parent
        speed = float(element.get("link_speed", "").split()[0]) if element.get("link_speed", "")[:1].isdigit() else None
        bandwidth = pcie_bandwidth(speed, int(element.get("link_width", "0") or 0))
        connect(node, parent, PIX, bandwidth)
        connect(parent, node, PIX, bandwidth)

    def _device(self, element: Element, parent: Vertex) -> Vertex | None:
        gpu, nic = element.find("gpu"), element.find("nic")
        if gpu is not None:
            node = Vertex("gpu", f"gpu{gpu.get('dev')}", gpu, parent.host, dev=int(gpu.get("dev", "0")))
            self.gpus.append(node)
            return node
        if nic is not None:
            node = Vertex("nic", element.get("busid", ""), element, parent.host)
            self._nets(nic, node)
            return node
        node = Vertex("pci", element.get("busid", ""), element, parent.host, device_id=_device_id(element))
        self.switches.append(node)
        for child in element:
            if child.tag == "pci":
                self._pci(child, node)
        return node

    def _nets(self, element: Element, nic: Vertex) -> None:
        for child in element:
            if child.tag != "net" or child.get("net") == "0":
                continue
            net = Vertex("net", child.get("name", ""), child, nic.host, dev=int(child.get("dev", "0")))
            guid = child.get("guid")
            net.rail = child.get("rail") or (int(guid, 16) if guid is not None else object())
            self.nets.append(net)
            mbps = int(child.get("speed", "0"))
            bandwidth = (mbps if mbps > 0 else 10_000) / 8000 * 1e9
            connect(nic, net, _NET, bandwidth)
            connect(net, nic, _NET, bandwidth)

    def _gpu_links(self, gpu: Vertex) -> None:
        assert gpu.element is not None
        architecture = gpu.element.get("gcn")
        lane = xgmi_bandwidth(architecture) if architecture else nvlink_bandwidth(int(gpu.element.get("sm", "0")))
        for link in gpu.element:
            if link.tag == "c2c":
                bandwidth = float(link.get("bw", "0")) * int(link.get("count", "0")) / 1000 * 1e9
                connect(gpu, _cpu_of(gpu), C2C, bandwidth)
                connect(_cpu_of(gpu), gpu, C2C, bandwidth)
            else:
                self._nvlink(gpu, link, int(link.get("count", "0")) * lane)

    def _nvlink(self, gpu: Vertex, link: Element, bandwidth: float) -> None:
        if link.get("tclass", "").startswith(("0x03", "0x12")):
            connect(gpu, self._by_bus[link.get("target", "")], NVL, bandwidth)
            return
        if link.get("tclass", "").startswith("0x068001"):
            far = _cpu_of(gpu)
        else:
            self.nvswitch = self.nvswitch or Vertex("nvs", "nvs")
            far = self.nvswitch
        connect(gpu, far, NVL, bandwidth)
        connect(far, gpu, NVL, bandwidth)

    def _switch_links(self, switch: Vertex) -> None:
        assert switch.element is not None
        for link in switch.element.findall("pcilink"):
            far = self._by_bus.get(link.get("target", ""))
            if far is not None:
                connect(switch, far, LOC, _LOCAL)

    def _flatten(self) -> None:
        at = 0
        while at < len(self.switches):
            upper = self.switches[at]
            generation = _generation(upper.device_id, 0)
            if not generation:
                at += 1
                continue
            lower = [
                link[0]
                for link in upper.links
                if link[0].kind == "pci" and _generation(link[0].device_id, 1) == generation
            ]
            upper.links = [link for link in upper.links if link[0] not in lower]
            for sub in lower:
                for link in sub.links:
                    if link[0] is upper:
                        continue
                    upper.links.append(link)
                    back = next(one for one in link[0].links if one[0] is sub)
                    back[0] = upper
                    link[0].up = upper
                self.switches.remove(sub)
            upper.device_id |= 0xFFFF
            at = 0

    def _connect_cpus(self) -> None:
        for one in self.cpus:
            assert one.element is not None
            about = Cpu(
                key="",
                numa=None,
                arch=one.element.get("arch"),
                vendor=one.element.get("vendor"),
                family=int(one.element.get("familyid", "0")),
                model=int(one.element.get("modelid", "0")),
            )
            for other in self.cpus:
                if one is not other and one.host == other.host:
                    connect(one, other, SYS, inter_cpu_bandwidth(about))

    # Paths, paths.cc.

    def _set_paths(self, base: Vertex) -> None:
        key = id(base)
        base.paths[key] = Route(0, _LOCAL, 0)
        frontier = [base]
        while frontier:
            following: list[Vertex] = []
            for node in frontier:
                path = node.paths[key]
                for far, link_type, link_bandwidth in node.links:
                    there = far.paths.setdefault(key, Route())
                    bandwidth = min(path.bandwidth, link_bandwidth)
                    if (
                        node is not base
                        and node.kind == "gpu"
                        and (link_type != NVL or far.kind != "gpu" or path.count > 1)
                    ):
                        continue
                    if not ((there.bandwidth == 0 or there.count > path.count) and there.bandwidth < bandwidth):
                        continue
                    kind = 0 if link_type == _NET else link_type
                    if node.kind == far.kind == "pci":
                        kind = PXB
                    if link_type == PIX and "cpu" in (node.kind, far.kind):
                        kind = PHB
                    if node.kind == "gpu" and path.type == NVL and kind == NVL and path.count + 1 > 1:
                        kind = NVB
                    far.paths[key] = Route(path.count + 1, bandwidth, max(path.type, kind), [node, *path.steps])
                    if far not in following:
                        following.append(far)
            frontier = following

    def path(self, one: Vertex, other: Vertex) -> Route:
        return one.paths.get(id(other), Route())

    def _local_cpu(self, gpu: Vertex) -> Vertex:
        reached = [(self.path(gpu, cpu).count, cpu) for cpu in self.cpus if self.path(gpu, cpu).count > 0]
        return min(reached, key=lambda one: one[0])[1]

    def _compute(self) -> None:
        for gpu in self.gpus:
            cpu = self._local_cpu(gpu)
            for net in self._local(gpu, self.nets):
                if {self.path(gpu, cpu).type, self.path(net, cpu).type} == {PHB, C2C}:
                    self.path(gpu, net).type = min(P2C, self.path(gpu, net).type)
                    self.path(net, gpu).type = min(P2C, self.path(net, gpu).type)
        self.physical = {
            (gpu.name, net.name): (WORDS[self.path(gpu, net).type], self.path(gpu, net).bandwidth)
            for gpu in self.gpus
            for net in self.nets
        }
        for net in self.nets:
            for gpu in self.gpus:
                self._relay(gpu, net)
                if self.path(gpu, net).type < PHB and not self._gdr(gpu, net):
                    self._through_cpu(gpu, net)

    def _gdr(self, gpu: Vertex, net: Vertex) -> bool:
        assert net.element is not None
        route = self.path(gpu, net)
        if route.type == PXN:
            gpu = next(step for step in route.steps if step.kind == "gpu")
            route = self.path(gpu, net)
        assert gpu.element is not None
        able = gpu.element.get("gdr") == "1" and net.element.get("gdr", "0") == "1"
        return able and route.type <= P2C

    def _relay(self, gpu: Vertex, net: Vertex) -> None:
        peer = self.local_gpu(net)
        if peer is None or peer is gpu:
            return
        theirs, ours, hop = self.path(peer, net), self.path(gpu, net), self.path(gpu, peer)
        near = (
            theirs.type <= P2C and self._gdr(peer, net) and self.path(peer, gpu).type <= NVL and peer.host == gpu.host
        )
        if near and (theirs.bandwidth > ours.bandwidth or ours.type > PXN):
            steps = [peer, *hop.steps, *theirs.steps]
            gpu.paths[id(net)] = Route(hop.count + theirs.count, min(hop.bandwidth, theirs.bandwidth), PXN, steps)

    def _through_cpu(self, gpu: Vertex, net: Vertex) -> None:
        cpu = self._local_cpu(gpu)
        for start, end in ((net, gpu), (gpu, net)):
            first, second = self.path(start, cpu), self.path(cpu, end)
            kind = P2C if {first.type, second.type} == {PHB, C2C} else max(first.type, second.type)
            start.paths[id(end)] = Route(first.count + second.count, min(first.bandwidth, second.bandwidth), kind)

    # Choice, topo.cc.

    def _local(self, vertex: Vertex, among: list[Vertex]) -> list[Vertex]:
        found: list[Vertex] = []
        most, nearest = 0.0, DIS
        for one in among:
            route = self.path(vertex, one)
            if route.bandwidth > most or (route.bandwidth == most and route.type < nearest):
                most, nearest, found = route.bandwidth, route.type, []
            if route.bandwidth == most and route.type == nearest:
                found.append(one)
        return found if most > 0 else []

    def local_net(self, gpu: Vertex, channel: int) -> Vertex | None:
        nets = self._local(gpu, self.nets)
        if not nets:
            return None
        rails: list[object] = []
        for net in nets:
            if net.rail not in rails:
                rails.append(net.rail)
        nets = sorted(nets, key=lambda net: rails.index(net.rail))
        offset = [0]
        for rail in rails:
            offset.append(offset[-1] + sum(net.rail == rail for net in nets))
        sharing = len(self._local(nets[0], self.gpus))
        count = len(rails)
        each = -(-count // sharing)
        start = _mirror(gpu.dev, count) if count & (count - 1) == 0 else gpu.dev * each % count
        end = start + each
        per_gpu = offset[end % count] + (0 if end < count else offset[count]) - offset[start]
        return nets[(offset[start] + channel % per_gpu) % len(nets)]

    def local_gpu(self, net: Vertex) -> Vertex | None:
        gpus = self._local(net, self.gpus)
        for channel in range(CHANNELS):
            for gpu in gpus:
                if self.local_net(gpu, channel) is net:
                    return gpu
        return None

    def chosen(self, gpu: Vertex) -> list[str]:
        """The NICs of a GPU's channels, in order of first use."""
        used = (self.local_net(gpu, channel) for channel in range(CHANNELS))
        return list(dict.fromkeys(net.name for net in used if net is not None))


def connect(one: Vertex, other: Vertex, kind: int, bandwidth: float) -> None:
    link = next((link for link in one.links if link[0] is other and link[1] == kind), None)
    if link is None:
        link = [other, kind, 0.0]
        one.links.append(link)
    link[2] += bandwidth
    at = one.links.index(link)
    while at and one.links[at - 1][2] < link[2]:
        one.links[at - 1], one.links[at] = one.links[at], one.links[at - 1]
        at -= 1


def _sort(node: Vertex, up: Vertex | None) -> None:
    if up is not None:
        node.links.append(node.links.pop(next(at for at, link in enumerate(node.links) if link[0] is up)))
    for far, kind, _ in list(node.links):
        if kind == PIX and far is not up:
            _sort(far, node)


def _cpu_of(node: Vertex) -> Vertex:
    while node.kind != "cpu":
        assert node.up is not None
        node = node.up
    return node


def _device_id(element: Element) -> int:
    packed = 0
    for name in ("vendor", "device", "subsystem_vendor", "subsystem_device"):
        packed = packed << 16 | int(element.get(name, "0"), 16)
    return packed


def _generation(device_id: int, level: int) -> int:
    family = device_id & 0xFFFFFFFFFFFFF000
    if family == 0x1000C0101000A000:
        return 4
    return 5 if family == 0x1000C03010000000 | level * 0x1000 else 0


def _mirror(value: int, power: int) -> int:
    mirrored, bit, mask = 0, 1, power >> 1
    while mask:
        mirrored |= mask if value & bit else 0
        bit, mask = bit << 1, mask >> 1
    return mirrored
