"""Made-up machines for shapes nobody here can record. Everything in this file is synthetic."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from types import MappingProxyType

from netkit.lab.virtual_config import config_space
from netkit.lab.virtual_node import virtual_sources
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.node_sources import NodeSources
from tests.sources.made_up_kernel import Answers, MadeUpKernel

PMA = (
    *("VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery", "symbol_error"),
    *("local_link_integrity_errors", "port_rcv_constraint_errors", "port_rcv_data", "port_rcv_errors"),
    *("port_rcv_packets", "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_data"),
    *("port_xmit_constraint_errors", "port_xmit_discards", "port_xmit_packets", "port_xmit_wait"),
    *("multicast_rcv_packets", "multicast_xmit_packets", "unicast_rcv_packets", "unicast_xmit_packets"),
)
MLX5_HW = (
    *("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored", "out_of_sequence"),
    *("packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "out_of_buffer", "duplicate_request"),
    *("implied_nak_seq_err", "rx_icrc_encapsulated", "roce_adp_retrans", "roce_slow_restart", "rx_write_requests"),
    *("rx_read_requests", "req_transport_retries_exceeded", "resp_cqe_error", "req_cqe_error"),
)
_EMPTY_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


class Machine:
    """A sysfs and procfs under construction."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | int] = {}
        self.links: dict[str, str] = {}
        self.answers: Answers = {}

    def tree(self) -> MemoryTree:
        return MemoryTree(self.files, self.links)

    def sources(self) -> NodeSources:
        """Files, and the kernel's answers where somebody made them up; otherwise they are not recorded."""
        return NodeSources(tree=self.tree(), kernel=MadeUpKernel(self.answers) if self.answers else None)

    def texts(self, at: str, values: Mapping[str, str | int]) -> None:
        """Files with one text each, or the errno a read of one gives."""
        for name, value in values.items():
            self.files[f"{at}/{name}"] = value if isinstance(value, int) else f"{value}\n".encode()

    def link(self, path: str, target: str) -> None:
        """A link as sysfs makes it: relative to the folder it lies in."""
        self.links[path] = "../" * path.count("/") + target

    def pci(
        self,
        place: str,
        class_code: str,
        vendor: str = "0x15b3",
        *,
        device: str = "0x1021",
        driver: str = "",
        numa: str = "0",
        link: tuple[str, str] = ("32.0 GT/s PCIe", "16"),
        best: tuple[str, str] = ("32.0 GT/s PCIe", "16"),
        config: bytes = b"",
    ) -> str:
        """A function at `pci0000:1a/0000:1a:01.0/…`; returns its folder."""
        at = f"sys/devices/{place}"
        self.texts(at, {"class": class_code, "vendor": vendor, "device": device, "numa_node": numa})
        self.texts(at, {"subsystem_vendor": vendor, "subsystem_device": device})
        self.texts(at, {"current_link_speed": link[0], "current_link_width": link[1]})
        self.texts(at, {"max_link_speed": best[0], "max_link_width": best[1]})
        if config:
            self.files[f"{at}/config"] = config
        self.link(f"sys/bus/pci/devices/{place.rpartition('/')[2]}", at)
        if driver:
            self.texts(f"sys/bus/pci/drivers/{driver}", {"module": ""})
            self.link(f"{at}/driver", f"sys/bus/pci/drivers/{driver}")
        return at

    def aer(self, at: str, **counts: int) -> None:
        rows = {name: counts.get(name, 0) for name in ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout")}
        total = sum(rows.values())
        self.texts(
            at, {"aer_dev_correctable": "\n".join(f"{k} {v}" for k, v in rows.items()) + f"\nTOTAL_ERR_COR {total}"}
        )
        self.texts(at, {"aer_dev_nonfatal": "Undefined 0\nTOTAL_ERR_NONFATAL 0", "aer_dev_fatal": "TOTAL_ERR_FATAL 0"})

    def rdma(self, at: str, name: str, *, guid: str, firmware: str = "28.43.2026", **about: str) -> str:
        """An RDMA device of the function at `at`; returns its folder."""
        folder = f"{at}/infiniband/{name}"
        self.texts(folder, {"node_guid": guid, "sys_image_guid": guid, "node_type": "1: CA", "fw_ver": firmware})
        self.texts(folder, {"hca_type": "MT4129", "board_id": "MT_0000000838", "node_desc": f"made-up {name}", **about})
        self.link(f"{folder}/device", at)
        self.link(f"sys/class/infiniband/{name}", folder)
        return folder

    def port(
        self,
        device: str,
        number: int | str = 1,
        *,
        layer: str = "Ethernet",
        state: str = "4: ACTIVE",
        rate: str = "400 Gb/sec (4X NDR)",
        counters: Mapping[str, str | int] = MappingProxyType({}),
        hw: Mapping[str, str | int] = MappingProxyType({}),
        gids: Mapping[int, tuple[str, str, str]] = MappingProxyType({}),
        slots: int = 0,
    ) -> str:
        at = f"{device}/ports/{number}"
        self.texts(at, {"state": state, "phys_state": "5: LinkUp", "rate": rate, "link_layer": layer, "lid": "0x0"})
        self.texts(f"{at}/counters", counters)
        self.texts(f"{at}/hw_counters", {"lifespan": "12", **hw} if hw else {})
        for slot in range(slots):
            gid, kind, netdev = gids.get(slot, (_EMPTY_GID, "", ""))
            self.texts(f"{at}/gids", {str(slot): gid})
            self.texts(f"{at}/gid_attrs/types", {str(slot): kind or errno.EINVAL})
            self.texts(f"{at}/gid_attrs/ndevs", {str(slot): netdev or errno.EINVAL})
        return at

    def netdev(self, name: str, at: str = "sys/devices/virtual", **about: str | int) -> str:
        """An interface of the function at `at`, or a virtual one."""
        folder = f"{at}/net/{name}"
        known: dict[str, str | int] = {
            "address": "02:00:5e:10:00:01",
            "ifindex": "7",
            "type": "1",
            "dev_port": "0",
            "mtu": "4200",
            "speed": "400000",
            "operstate": "up",
            "carrier": "1",
            "carrier_changes": "3",
            "tx_queue_len": "20000",
            "carrier_up_count": "2",
            "carrier_down_count": "1",
        }
        self.texts(folder, known | about)
        self.texts(f"{folder}/statistics", {f"{way}_bytes": "123456789" for way in ("rx", "tx")})
        if at != "sys/devices/virtual":
            self.link(f"{folder}/device", at)
        self.link(f"sys/class/net/{name}", folder)
        return folder

    def host(self, name: str = "made-up-node", *, virtual: bool = False, command_line: str = "quiet iommu=pt") -> None:
        flags = "fpu vme sse2 hypervisor" if virtual else "fpu vme sse2"
        self.texts("proc", {"cpuinfo": f"processor\t: 0\nflags\t\t: {flags}\nbogomips\t: 1", "cmdline": command_line})
        self.texts("proc/sys/kernel", {"hostname": name, "osrelease": "6.12.0-made-up", "numa_balancing": "0"})
        self.texts("proc/sys/kernel/random", {"boot_id": "8d3a2f40-1111-4222-8333-444455556666"})
        self.texts("proc/sys/net/ipv4/conf/all", {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "2"})
        limits = "Limit                     Soft Limit           Hard Limit           Units     "
        locked = "Max locked memory         unlimited            unlimited            bytes     "
        self.texts("proc/self", {"limits": f"{limits}\n{locked}", "cgroup": "0::/kubepods.slice"})
        self.texts("sys/fs/cgroup/kubepods.slice", {"memory.max": "max", "cpu.max": "800000 100000"})
        self.texts("sys/devices/system/node", {"online": "0-1"})


def roce_two_rails() -> Machine:
    """Two switches, each with a GPU and a NIC; one switch redirects peers, one NIC came up at half its lanes."""
    machine = Machine()
    machine.host(command_line="quiet iommu=pt pci=realloc root=UUID=7c5b2f0e-1111-4222-8333-444455556666")
    for rail, root in enumerate(("1a", "3a")):
        up, gpu_bus, nic_bus = (f"{int(root, 16) + step:02x}" for step in (1, 3, 4))
        port = f"pci0000:{root}/0000:{root}:01.0"
        machine.pci(port, "0x060400", "0x8086", driver="pcieport", numa=str(rail), config=config_space(4, acs=0x1D))
        machine.pci(f"{port}/0000:{up}:00.0", "0x060400", "0x1000", numa=str(rail), config=config_space(5))
        for slot, bus in enumerate((gpu_bus, nic_bus)):
            down = f"{port}/0000:{up}:00.0/0000:{int(up, 16) + 1:02x}:{slot:02x}.0"
            redirects = 0x1D if rail else 0
            machine.pci(down, "0x060400", "0x1000", numa=str(rail), config=config_space(6, acs=redirects))
            if slot == 0:
                space = config_space(0, serial=0x1122334455667788 + rail)
                gpu = f"{down}/0000:{bus}:00.0"
                at = machine.pci(gpu, "0x030200", "0x10de", driver="nvidia", numa=str(rail), config=space)
                machine.aer(at)
                continue
            width = "8" if rail else "16"
            space = config_space(0, ats=0x8000, serial=0xA088C20300FFAA00 + rail)
            nic = machine.pci(
                f"{down}/0000:{bus}:00.0",
                "0x020000",
                driver="mlx5_core",
                numa=str(rail),
                link=("32.0 GT/s PCIe", width),
                config=space,
            )
            machine.aer(nic, BadTLP=7 * rail)
            _roce_nic(machine, nic, rail)
    machine.files["kmsg"] = (
        b"6,901,100000000,-;mlx5_core 0000:1e:00.0 eth0: Link down\n"
        b"6,902,105000000,-;mlx5_core 0000:1e:00.0 eth0: Link up\n"
        b"3,903,110500000,-;NVRM: Xid (PCI:0000:1d:00): 79, pid=4242, name=python3, GPU has fallen off the bus.\n"
        b"6,904,111000000,-;systemd[1]: this line is nobody's business on 10.20.30.40\n"
    )
    return machine


def _roce_nic(machine: Machine, at: str, rail: int) -> None:
    mac = f"a0:88:c2:ff:aa:{rail:02x}"
    own = f"fe80:0000:0000:0000:a288:c2ff:feff:aa{rail:02x}"
    address = f"0000:0000:0000:0000:0000:ffff:0a14:{rail + 1:02x}05"
    name = f"eth{rail}"
    interface = machine.netdev(name, at, address=mac, ifindex=str(rail + 2))
    for side in ("np", "rp"):
        enabled = {str(priority): str(int(priority == 3)) for priority in range(8)}
        machine.texts(f"{interface}/ecn/roce_{side}/enable", enabled)
    machine.texts(f"{interface}/ecn/roce_np", {"cnp_dscp": "48", "cnp_802p_prio": "6", "min_time_between_cnps": "4"})
    machine.texts(f"{interface}/ecn/roce_rp", {"rpg_ai_rate": "5", "rpg_hai_rate": "50"})
    device = machine.rdma(at, f"mlx5_{rail}", guid=f"a088:c203:00ff:aa{rail:02x}")
    gids = {
        0: (own, "IB/RoCE v1", name),
        1: (own, "RoCE v2", name),
        # A hole where an address was taken away, then the address traffic uses.
        4: (address, "IB/RoCE v1", name),
        5: (address, "RoCE v2", name),
    }
    pma: dict[str, str | int] = dict.fromkeys(PMA, "0")
    pma |= {"port_xmit_data": "1000", "port_rcv_data": "250", "multicast_rcv_packets": errno.EINVAL}
    hw: dict[str, str | int] = {counter: str(10 * rail) for counter in MLX5_HW}
    machine.port(device, counters=pma, hw=hw, gids=gids, slots=256)


def irdma_without_counters() -> Machine:
    """A driver with neither counter folder, one with texts where numbers belong, an interface that is down."""
    machine = Machine()
    machine.host()
    at = machine.pci("pci0000:16/0000:16:02.0/0000:17:00.0", "0x020000", "0x8086", device="0x1592", driver="ice")
    machine.netdev("ens1f0", at, speed=errno.EINVAL, carrier=errno.EINVAL, operstate="down", carrier_changes="1")
    machine.port(machine.rdma(at, "irdma0", guid="8614:2eff:fe00:0001"), slots=32, rate="100 Gb/sec (4X EDR)")
    hfi = machine.pci("pci0000:30/0000:30:02.0/0000:31:00.0", "0x020800", "0x8086", device="0x24f0", driver="hfi1")
    odd: dict[str, str | int] = {
        "port_rcv_data": "345091702026",
        "port_xmit_data": "N/A (no PMA)",
        "symbol_error": "N/A (not supported)",
        "link_downed": errno.EIO,
        "port_xmit_wait": "0x10",
        "VL15_dropped": "1e3",
        "port_rcv_errors": " 7",
    }
    more: dict[str, str | int] = {"SwLinkUp,32": "1", "CceMiscInt,32": "0", "Rcv Hdr Ovr": "2", "": "9"}
    more = {name: value for name, value in more.items() if name}
    device = machine.rdma(hfi, "hfi1_0", guid="0011:7501:0179:e2b2", node_desc="", hca_type="")
    machine.port(device, layer="InfiniBand", rate="100 Gb/sec (4X EDR)", counters=odd, hw=more)
    return machine


def saturated_infiniband() -> Machine:
    """Error counters that have been full for months, a port state and a rate no document lists, a folder `abc`."""
    machine = Machine()
    machine.host()
    at = machine.pci("pci0000:5d/0000:5d:01.0/0000:5e:00.0", "0x020700", driver="mlx5_core")
    device = machine.rdma(at, "mlx5_0", guid="b8ce:f603:0012:3456")
    full: dict[str, str | int] = dict.fromkeys(PMA, "0")
    full |= {"link_downed": "255", "port_xmit_discards": "65535", "port_xmit_wait": "4294967295"}
    full |= {"excessive_buffer_overrun_errors": "15", "symbol_error": "65534"}
    gid = {0: ("fe80:0000:0000:0000:b8ce:f603:0012:3456", "IB/RoCE v1", "")}
    state, rate = "5: ACTIVE_DEFER", "800 Gb/sec (4X XDR)"
    machine.port(device, 1, layer="InfiniBand", state=state, rate=rate, counters=full, gids=gid, slots=8)
    machine.port(device, 2, layer="", state="DOWN?", rate="fast", counters=full)
    machine.port(device, "abc", layer="InfiniBand")
    return machine


def hidden_pcie() -> Machine:
    """A virtual machine: every device at the root, links unknown, no NUMA, 64 bytes of configuration, no kernel log."""
    machine = Machine()
    machine.host("vm-0", virtual=True)
    public = config_space(0)[:64]
    link = ("Unknown", "0")
    bus = "LNXSYSTM:00/VMBUS:00/"
    for gpu in ("0001", "0002"):
        machine.pci(
            f"{bus}pci{gpu}:00/{gpu}:00:00.0", "0x030200", "0x10de", numa="-1", link=link, best=link, config=public
        )
    place = f"{bus}pci0101:00/0101:00:00.0"
    at = machine.pci(place, "0x020700", driver="mlx5_core", numa="-1", link=link, best=link)
    device = machine.rdma(at, "mlx5_ib0", guid="0015:5dff:fe33:0001")
    machine.port(device, layer="InfiniBand", hw={"out_of_sequence": "0"})
    machine.files["kmsg"] = errno.EPERM
    return machine


def bonded_with_virtual_functions() -> Machine:
    """Two ports in one bond, and eight virtual functions nobody asked for."""
    machine = Machine()
    machine.host()
    for port in range(2):
        at = machine.pci(f"pci0000:c0/0000:c0:01.0/0000:c1:00.{port}", "0x020000", driver="mlx5_core")
        folder = machine.netdev(f"ens6f{port}", at, address=f"02:00:5e:00:00:0{port}")
        machine.link(f"{folder}/master", "sys/devices/virtual/net/bond0")
        if port == 0:
            device = machine.rdma(at, "mlx5_bond_0", guid="0200:5e03:0000:0000")
            machine.port(device, hw={"out_of_buffer": "0"}, slots=16)
    bond = machine.netdev("bond0", speed="800000")
    modes = {"mode": "802.3ad 4", "xmit_hash_policy": "layer3+4 1", "miimon": "100", "slaves": "ens6f0 ens6f1"}
    machine.texts(f"{bond}/bonding", modes)
    machine.texts("sys/class/net", {"bonding_masters": "bond0"})
    for function in range(8):
        place = f"pci0000:c0/0000:c0:01.0/0000:c1:01.{function}"
        at = machine.pci(place, "0x020000", device="0x101e", driver="mlx5_core")
        machine.link(f"{at}/physfn", "sys/devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0")
        machine.netdev(f"ens6f0v{function}", at, address=f"02:00:5e:01:00:0{function}")
        machine.port(machine.rdma(at, f"mlx5_{function + 2}", guid=f"0200:5e03:0001:000{function}"))
    return machine


def before_the_driver() -> Machine:
    """A node whose RDMA driver has not been loaded yet: no class folder, which is not "no devices"."""
    machine = Machine()
    machine.host()
    machine.pci("pci0000:1a/0000:1a:01.0/0000:1b:00.0", "0x020700")
    machine.netdev("lo", type="772", speed=errno.EINVAL, mtu="65536")
    return machine


MACHINES: Mapping[str, Callable[[], Machine]] = MappingProxyType(
    {
        "roce-two-rails": roce_two_rails,
        "irdma-without-counters": irdma_without_counters,
        "saturated-infiniband": saturated_infiniband,
        "hidden-pcie": hidden_pcie,
        "bonded-with-virtual-functions": bonded_with_virtual_functions,
        "before-the-driver": before_the_driver,
    }
)


def _of(machine: Callable[[], Machine]) -> Callable[[], NodeSources]:
    return lambda: machine().sources()


SOURCES: Mapping[str, Callable[[], NodeSources]] = MappingProxyType(
    {
        **{name: _of(machine) for name, machine in MACHINES.items()},
        "healthy-hgx": lambda: virtual_sources("healthy-hgx"),
    }
)
"""Every made-up node under `tests/nodes`, with its kernel and drivers where somebody made those up too."""
