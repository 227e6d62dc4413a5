"""Synthetic machines with the shapes of published topology files: RCCL's models, clouds' and vendors' files.

Only the shape is taken over: which devices hang below how many bridges of which width, what the links between GPUs are,
in which order the file lists them. Addresses and identities are made up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

ROME = 'arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49"'
GENOA = 'arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="17"'
TURIN = 'arch="x86_64" vendor="AuthenticAMD" familyid="191" modelid="2"'
SKYLAKE = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"'
SAPPHIRE = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"'
PEX_GEN4 = ("0x1000", "0xc010", "0x1000", "0xa096")
PEX_GEN5_UPPER, PEX_GEN5_LOWER = ("0x1000", "0xc030", "0x1000", "0x0104"), ("0x1000", "0xc030", "0x1000", "0x1003")
PEX_OF_OTHERS = ("0x1000", "0xc030", "0x1d9b", "0xcc03")

Peers = Mapping[int, Mapping[int, int]]
"""GPU to GPU to number of links."""


class Builder:
    """Numbers bridges as it goes; GPUs and NICs have addresses by their own number."""

    def __init__(self, gcn: str = "908", peers: Peers | None = None, *, gdr: int = 1, speed: str = "16 GT/s") -> None:
        self._gcn, self._peers, self._gdr, self.speed = gcn, peers or {}, gdr, speed
        self._class = "0x038000" if gcn in {"906", "908", "910"} else "0x120000"
        self._bridges = 0

    @staticmethod
    def place(gpu: int) -> str:
        return f"00{gpu:02x}:a0:00.0"

    def gpu(self, number: int, speed: str = "", more: str = "") -> str:
        linked = self._peers.get(number, {})
        links = "".join(
            f'<xgmi target="{self.place(peer)}" count="{count}" tclass="{self._class}"/>'
            for peer, count in linked.items()
        )
        inner = f'<gpu dev="{number}" sm="90" gcn="{self._gcn}" rank="{number}" gdr="{self._gdr}">{more}{links}</gpu>'
        return pci(self.place(number), self._class, inner, speed or self.speed)

    def nic(self, *devs: int, mbps: int | Sequence[int] = 200_000, speed: str = "", **more: str) -> str:
        """One adapter; several numbers are ports of it."""
        speeds = [mbps] * len(devs) if isinstance(mbps, int) else mbps
        return pci(
            f"01{devs[0]:02x}:b0:00.0",
            "0x020700",
            nets(devs, speeds, more.get("guid", f"0x{0x100 + devs[0]:x}"), more.get("gdr", "1")),
            speed or self.speed,
            int(more.get("width", "16")),
        )

    def bridge(self, *inner: str, speed: str = "", kind: Sequence[str] = ()) -> str:
        self._bridges += 1
        names = ("vendor", "device", "subsystem_vendor", "subsystem_device")
        about = "".join(f'{name}="{value}" ' for name, value in zip(names, kind, strict=False))
        return pci(f"02{self._bridges:02x}:00:00.0", "0x060400", "".join(inner), speed or self.speed, about=about)


def pci(busid: str, kind: str, inner: str, speed: str, width: int = 16, about: str = "") -> str:
    return f'<pci busid="{busid}" class="{kind}" {about}link_speed="{speed}" link_width="{width}">{inner}</pci>'


def nets(devs: Sequence[int], mbps: Sequence[int], guid: str, gdr: str) -> str:
    ports = "".join(
        f'<net name="hca{dev}" dev="{dev}" speed="{rate}" port="{port}" guid="{guid}" gdr="{gdr}"/>'
        for port, (dev, rate) in enumerate(zip(devs, mbps, strict=True), 1)
    )
    return f"<nic>{ports}</nic>"


def system(about: str, cpus: Mapping[int, Sequence[str]], host: str = "") -> str:
    hash_ = f'host_hash="{host}" ' if host else ""
    inner = "".join(f'<cpu {hash_}numaid="{numa}" {about}>{"".join(rows)}</cpu>' for numa, rows in cpus.items())
    return f'<system version="2"><!-- synthetic -->{inner}</system>'


def hives(*groups: Sequence[int], count: int = 1) -> Peers:
    """Every GPU of a group linked to every other one of it."""
    return {gpu: {peer: count for peer in group if peer != gpu} for group in groups for gpu in group}


def both_ways(*pairs: tuple[int, int, int]) -> Peers:
    """Links by pair: one GPU, the other, how many."""
    found: dict[int, dict[int, int]] = {}
    for one, other, count in pairs:
        found.setdefault(one, {})[other] = count
        found.setdefault(other, {})[one] = count
    return found


def four_sockets_four_nics(mbps: int = 200_000, reverse: bool = False) -> str:
    """Two GPUs, each behind two more bridges, and a NIC below one switch of each NUMA node; two hives of four."""
    make = Builder(peers=hives(range(4), range(4, 8)))
    cpus = {}
    for node in range(4):
        gpus = [make.bridge(make.bridge(make.gpu(2 * node + side))) for side in (0, 1)]
        cpus[2 * node + 1 if reverse else node] = [
            make.bridge(*gpus, make.nic(3 - node if reverse else node, mbps=mbps))
        ]
    return system(ROME, cpus)


def two_switches_no_links(links: bool = False) -> str:
    """Eight Gen3 GPUs on one socket below two switches with a NIC each; with or without rings of four."""
    rings = both_ways(*((base + a, base + b, 1) for base in (0, 4) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))))
    make = Builder("906", rings if links else None, speed="8 GT/s")
    rows = []
    for half in range(2):
        gpus = [make.bridge(make.gpu(4 * half + one, "16 GT/s")) for one in range(4)]
        rows.append(make.bridge(*gpus, make.nic(half, mbps=100_000)))
    return system(SKYLAKE, {0: rows})


def nics_at_the_root(nics: int) -> str:
    """Two sockets of four GPUs, each behind a bridge; NICs hang directly at the sockets; six links of each GPU."""
    apart = {(0, 5), (1, 4), (2, 7), (3, 6)}
    peers = both_ways(*((a, b, 1) for a in range(8) for b in range(a + 1, 8) if (a, b) not in apart))
    make = Builder(peers=peers)
    first = -(-nics // 2)
    sides = {0: range(first), 1: range(first, nics)}
    return system(
        ROME,
        {
            side: [*(make.bridge(make.gpu(4 * side + one)) for one in range(4)), *(make.nic(dev) for dev in devs)]
            for side, devs in sides.items()
        },
    )


def guest_with_one_virtual_nic(gcn: str = "908", mbps: int = 100_000) -> str:
    """Four NUMA nodes of two GPUs without any bridge, GPUDirect off, one paravirtual NIC that has no slot."""
    make = Builder(gcn, hives(range(4), range(4, 8)), gdr=0)
    rows = {node: [make.gpu(2 * node), make.gpu(2 * node + 1)] for node in range(4)}
    rows[0].append(nets((0,), (mbps,), "0x0", "0"))
    return system(ROME, rows)


def guest_with_sixteen_gpus() -> str:
    """Sixteen GPUs and eight NICs at four NUMA nodes, links of width one, two and four, NICs listed out of order."""
    links = (
        *((0, 1, 1), (0, 3, 4), (0, 4, 2), (1, 2, 4), (1, 3, 1), (1, 6, 1), (2, 3, 1), (2, 7, 2), (3, 5, 1)),
        *((4, 5, 4), (4, 13, 1), (5, 12, 1), (5, 14, 1), (6, 7, 4), (6, 12, 1), (6, 14, 1), (7, 15, 1)),
        *((8, 9, 1), (8, 10, 1), (8, 11, 4), (8, 14, 1), (9, 10, 4), (9, 11, 1), (9, 12, 1), (10, 13, 2)),
        *((11, 15, 2), (12, 13, 4), (14, 15, 4)),
    )
    make = Builder("910", both_ways(*links), speed="32.0 GT/s PCIe")
    order = ((1, 6), (0, 4), (2, 3), (5, 7))
    return system(
        ROME,
        {
            node: [
                *(make.gpu(4 * node + one) for one in range(4)),
                *(make.nic(dev, speed="16.0 GT/s PCIe") for dev in order[node]),
            ]
            for node in range(4)
        },
    )


def nics_at_empty_sockets() -> str:
    """Eight NUMA nodes; GPUs on six of them, NICs on the other two, one with ports of two speeds, listed last."""
    peers = both_ways((0, 3, 1), (0, 6, 1), (1, 4, 1), (1, 7, 1), (2, 3, 1), (2, 6, 1), (4, 5, 1), (5, 7, 1))
    make = Builder("906", peers)
    homes = {1: (0,), 2: (1, 2), 3: (3,), 4: (4,), 5: (5, 6), 7: (7,)}
    rows: dict[int, list[str]] = {node: [make.bridge(make.gpu(one)) for one in gpus] for node, gpus in homes.items()}
    rows |= {0: [make.nic(0, 1, mbps=(200_000, 100_000))], 6: [make.nic(2)]}
    return system(ROME, rows)


def two_level_switches() -> str:
    """Two Gen4 switches a socket whose two levels NCCL folds into one; NICs beside or below the GPUs' branch."""
    links = (
        *((0, 1, 4), (0, 2, 1), (0, 6, 2), (1, 3, 1), (1, 5, 1), (2, 3, 4), (2, 4, 2), (3, 7, 1), (4, 5, 4), (4, 6, 1)),
        *((5, 7, 1), (6, 7, 4)),
    )
    make = Builder("910", both_ways(*links), speed="16.0 GT/s PCIe")

    def lower(*inner: str) -> str:
        return make.bridge(*inner, kind=PEX_GEN4)

    rows: dict[int, list[str]] = {0: [], 1: []}
    for base, dev in ((0, 0), (2, 2)):
        gpus = lower(make.bridge(make.gpu(base)), make.bridge(make.gpu(base + 1)))
        rows[0].append(lower(gpus, lower(make.nic(dev)), lower(make.nic(dev + 1))))
    for base, dev in ((4, 4), (6, 6)):
        pairs = [lower(make.bridge(make.gpu(base + one)), make.nic(dev + one)) for one in range(2)]
        rows[1].append(lower(*pairs))
    return system(GENOA, rows)


def slow_ethernet_behind_a_bridge() -> str:
    """Eight GPUs at one socket without bridges, one 1 Gbit/s port behind a bridge of four lanes."""
    peers = both_ways(*((a, b, 1) for a, b in ((0, 1), (0, 2), (0, 6), (1, 3), (1, 5), (2, 3), (2, 4), (3, 7))))
    make = Builder("910", peers, gdr=0, speed="16.0 GT/s PCIe")
    port = make.nic(0, mbps=1_000, guid="0x0", gdr="0", speed="2.5 GT/s PCIe", width="1")
    return system(GENOA, {0: [*(make.gpu(one) for one in range(8)), make.bridge(port)]})


def three_workstations_cards() -> str:
    """Three GPUs on two sockets, one NIC at the root of the second."""
    make = Builder("910", speed="16.0 GT/s PCIe")
    gpus = [make.bridge(make.gpu(one, "32.0 GT/s PCIe")) for one in range(3)]
    return system(GENOA, {0: gpus[:1], 1: [*gpus[1:], make.nic(0)]})


def cascade(ports: int = 1) -> str:
    """Sixteen GPUs below six levels of switches of one root port, two hives, an unrelated port at the other socket."""
    make = Builder("gfx942", hives(range(8), range(8, 16)), gdr=0, speed="16.0 GT/s PCIe")

    def drawer(first: int) -> str:
        lower = [
            make.bridge(
                make.bridge(make.gpu(first + one, "32.0 GT/s PCIe")), kind=PEX_GEN5_LOWER, speed="5.0 GT/s PCIe"
            )
            for one in range(4)
        ]
        return make.bridge(make.bridge(make.bridge(*lower, kind=PEX_GEN5_UPPER)), kind=PEX_GEN4)

    drawers = make.bridge(*(drawer(4 * one) for one in range(4)))
    slow = [make.nic(dev, mbps=1_000, guid="0x0", gdr="0", speed="5.0 GT/s PCIe", width="4") for dev in range(ports)]
    return system(GENOA, {1: [make.bridge(make.bridge(drawers), kind=PEX_GEN4)], 0: slow}, host="0x1234")


def coherent_with_a_slow_nic() -> str:
    """Two GPUs with coherent links at one CPU, a fast NIC that is near and a slow one that is reached by a peer."""
    make = Builder("gfx942", both_ways((0, 1, 8)), speed="32.0 GT/s PCIe")
    gpus = [make.bridge(make.gpu(one, more='<c2c count="8" bw="50000"/>')) for one in range(2)]
    slow = make.nic(1, mbps=100_000, speed="8.0 GT/s PCIe")
    return system(SAPPHIRE, {0: [make.nic(0, mbps=400_000), slow, *gpus]})


def apu_with_absurd_speeds() -> str:
    """Four APUs, one to a NUMA node with a NIC each that claims 200 Tbit/s; the file begins with node 2."""
    make = Builder("942", hives(range(4)), speed="32.0 GT/s PCIe")
    order = (2, 3, 0, 1)
    return system(
        GENOA,
        {
            node: [make.gpu(one), make.nic(one, mbps=200_000_000, speed="16.0 GT/s PCIe", guid=f"0x{one}")]
            for one, node in enumerate(order)
        },
    )


def one_nic_with_two_ports_far_away() -> str:
    """Four NUMA nodes with three, one, two and two GPUs; one adapter of two speeds; GPUs numbered across nodes."""
    peers = both_ways((0, 1, 1), (0, 6, 1), (2, 1, 1), (2, 6, 1), (5, 3, 1), (5, 4, 1), (3, 7, 1), (4, 7, 1))
    make = Builder("906", peers)
    homes = {1: (0, 2, 5), 0: (1,), 2: (3, 6), 3: (4, 7)}
    rows = {node: [make.bridge(make.gpu(one)) for one in gpus] for node, gpus in homes.items()}
    rows[2].append(make.nic(0, 1, mbps=(100_000, 200_000)))
    return system(ROME, rows)


def one_nic_of_its_own_socket() -> str:
    """Seven NUMA nodes with GPUs in two hives, one NIC at the eighth."""
    make = Builder(peers=hives((0, 2, 3, 5), (1, 4, 6, 7)))
    homes = {1: (0,), 2: (1, 2), 3: (3,), 5: (4, 5), 6: (6,), 7: (7,)}
    rows: dict[int, list[str]] = {node: [make.bridge(make.gpu(one)) for one in gpus] for node, gpus in homes.items()}
    return system(ROME, rows | {4: [make.nic(0)]})


def nic_beside_a_bridge() -> str:
    """Eight GPUs, each behind a bridge beside its NIC, below a switch of a maker NCCL does not fold; one hive."""
    make = Builder("gfx950", hives(range(8)), speed="32.0 GT/s PCIe")
    rails = [
        make.bridge(make.nic(one, mbps=400_000), make.bridge(make.gpu(one)), kind=PEX_OF_OTHERS) for one in range(8)
    ]
    return system(TURIN, {0: rails[:4], 1: rails[4:]}, host="0x1234")


def guest_numbered_by_rank() -> str:
    """A guest with everything at two sockets; the file lists GPUs by rank and NICs in no order of slots."""
    make = Builder("gfx942", hives(range(8)), speed="32.0 GT/s PCIe")
    return system(
        SAPPHIRE,
        {
            0: [*map(make.gpu, (1, 0, 2, 3)), *(make.nic(dev, mbps=400_000) for dev in range(4))],
            1: [*map(make.gpu, (6, 5, 4, 7)), *(make.nic(dev, mbps=400_000) for dev in (4, 5, 6, 7))],
        },
    )


def nics_listed_backwards() -> str:
    """Two GPUs and two equal NICs at one socket, the second NIC listed first: NCCL counts in the order of the file."""
    make = Builder(speed="16.0 GT/s PCIe")
    return system(ROME, {0: [make.bridge(make.gpu(0), make.gpu(1), make.nic(1), make.nic(0))]})


def two_hosts_in_one_file() -> str:
    """A fused file of two machines: no path leads from one to the other."""
    one, other = four_rails("0x1", 0), four_rails("0x2", 2)
    return one.replace("</system>", "") + other.partition("<!-- synthetic -->")[2]


def four_rails(host: str, first: int) -> str:
    make = Builder(speed="16.0 GT/s PCIe")
    make._bridges = 10 * first
    rails = [make.bridge(make.gpu(first + one), make.nic(first + one)) for one in range(2)]
    return system(ROME, {0: rails[:1], 1: rails[1:]}, host=host)


def fat_pcie_link() -> str:
    """Two switches joined by a vendor's direct link: the path between them avoids the CPU."""
    make = Builder(speed="16.0 GT/s PCIe")
    left = make.bridge(make.gpu(0), '<pcilink target="0202:00:00.0"/>')
    right = make.bridge(make.nic(0), '<pcilink target="0201:00:00.0"/>')
    return system(ROME, {0: [left], 1: [right]})


MACHINES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "four sockets, four NICs": four_sockets_four_nics,
        "four sockets, NICs of 600 Gbit/s in reverse": lambda: four_sockets_four_nics(600_000, reverse=True),
        "two switches, no links": two_switches_no_links,
        "two switches, rings": lambda: two_switches_no_links(links=True),
        **{f"{nics} NICs at the root": lambda nics=nics: nics_at_the_root(nics) for nics in range(1, 7)},  # type: ignore[misc]
        "guest with one virtual NIC": guest_with_one_virtual_nic,
        "guest with a slow bond": lambda: guest_with_one_virtual_nic("910", 1_000),
        "guest with sixteen GPUs": guest_with_sixteen_gpus,
        "NICs at empty sockets": nics_at_empty_sockets,
        "two-level switches": two_level_switches,
        "slow Ethernet behind a bridge": slow_ethernet_behind_a_bridge,
        "three cards": three_workstations_cards,
        "cascade": cascade,
        "cascade with two slow ports": lambda: cascade(2),
        "coherent, one slow NIC": coherent_with_a_slow_nic,
        "APUs with absurd speeds": apu_with_absurd_speeds,
        "one NIC of two speeds": one_nic_with_two_ports_far_away,
        "one NIC of its own socket": one_nic_of_its_own_socket,
        "NIC beside a bridge": nic_beside_a_bridge,
        "guest numbered by rank": guest_numbered_by_rank,
        "NICs listed backwards": nics_listed_backwards,
        "two hosts in one file": two_hosts_in_one_file,
        "direct link between switches": fat_pcie_link,
    }
)
