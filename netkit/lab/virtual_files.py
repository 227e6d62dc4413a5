"""The sysfs and procfs of a made-up GPU node. Synthetic, and it says so.

Layout of the files: Linux, Documentation/ABI/testing/sysfs-bus-pci, -class-net and stable/sysfs-class-infiniband; the
RoCE settings under `ecn/` as NVIDIA's mlx5 driver shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from netkit.lab.virtual_config import DOWNSTREAM, ENDPOINT, ROOT_PORT, UPSTREAM, config_space
from netkit.lab.virtual_layout import Slot, VirtualGpu, VirtualNic
from netkit.sources.memory_tree import MemoryTree

# Root port, Broadcom PEX890xx, ConnectX-7, H100 SXM: numbers of the PCI ID database.
_ROOT_PORT_ID = ("0x8086", "0x352a", "0x060400")
_SWITCH_ID = ("0x1000", "0xc030", "0x060400")
_NIC_ID = ("0x15b3", "0x1021", "0x020000")
_GPU_ID = ("0x10de", "0x2330", "0x030200")
_MODULES = {
    "nvidia": "570.124.06",
    "nvidia_peermem": "570.124.06",
    "mlx5_core": "24.10-2.1.8",
    "mlx5_ib": "24.10-2.1.8",
}
_PORT_COUNTERS = (
    *("VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery", "symbol_error"),
    *("local_link_integrity_errors", "port_rcv_constraint_errors", "port_rcv_errors", "port_xmit_wait"),
    *("port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_discards"),
    *("port_xmit_constraint_errors", "multicast_rcv_packets", "multicast_xmit_packets"),
)
_HARDWARE_COUNTERS = (
    *("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored", "out_of_sequence"),
    *("packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "out_of_buffer", "duplicate_request"),
    *("implied_nak_seq_err", "rx_icrc_encapsulated", "roce_adp_retrans", "roce_slow_restart", "rx_write_requests"),
    *("rx_read_requests", "req_transport_retries_exceeded", "resp_cqe_error", "req_cqe_error"),
)
_NO_ERRORS = dict.fromkeys(("aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"), "RxErr 0\nBadTLP 0")
_SYSCTLS = {
    "kernel": {"osrelease": "virtual-node-synthetic", "numa_balancing": "0"},
    "vm": {"nr_hugepages": "0", "zone_reclaim_mode": "0"},
    "net/core": {"rmem_max": "16777216", "wmem_max": "16777216", "netdev_max_backlog": "250000"},
    "net/ipv4": {"ip_forward": "0", "fib_multipath_hash_policy": "1"},
}
_ARP = {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "2"}


def virtual_files(name: str, gpus: Iterable[VirtualGpu], nics: Iterable[VirtualNic]) -> MemoryTree:
    """Return the files of a node of this name with these devices."""
    machine = _Files()
    machine.host(name)
    for gpu in gpus:
        machine.device(gpu.slot, _GPU_ID, "nvidia")
        machine.process(gpu)
    for nic in nics:
        machine.nic(nic, machine.device(nic.slot, _NIC_ID, "mlx5_core"))
    return MemoryTree(machine.files, machine.links)


@dataclass(slots=True)
class _Files:
    files: dict[str, bytes | int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def host(self, name: str) -> None:
        self._texts(
            "proc", {"cpuinfo": "processor\t: 0\nflags\t\t: fpu", "cmdline": "netkit.virtual_node=synthetic iommu=pt"}
        )
        for folder, values in _SYSCTLS.items():
            self._texts(f"proc/sys/{folder}", values)
        self._texts("proc/sys/kernel", {"hostname": name})
        self._texts("proc/2", {"comm": "kthreadd"})
        self._texts("proc/self", {"mountinfo": "22 1 0:21 / /proc rw,nosuid - proc proc rw"})
        self._texts("proc/sys/kernel/random", {"boot_id": "00000000-0000-4000-8000-000000000000"})
        for scope in ("all", "default"):
            self._texts(f"proc/sys/net/ipv4/conf/{scope}", _ARP)
        heading = "Limit                     Soft Limit           Hard Limit           Units     "
        locked = "Max locked memory         unlimited            unlimited            bytes     "
        self._texts("proc/self", {"limits": f"{heading}\n{locked}", "cgroup": "0::/"})
        self._texts("sys/devices/system/node", {"online": "0-1"})
        self._texts("sys/class/dmi/id", {"sys_vendor": "netkit", "product_name": "virtual node, synthetic"})
        self.files["kmsg"] = b""
        for module, version in _MODULES.items():
            self._texts(f"sys/module/{module}", {"version": version})

    def process(self, gpu: VirtualGpu) -> None:
        """The rank on a GPU: a container of one pod."""
        pod = "kubepods-podaaaaaaaa_0000_4000_8000_000000000001.slice"
        group = f"0::/kubepods.slice/{pod}/cri-containerd-{1:064x}.scope"
        stat = f"{gpu.process} (python3) S 1 {' 0' * 17} 360000 {'0 ' * 30}".replace("  ", " ")
        self._texts(f"proc/{gpu.process}", {"comm": "python3", "stat": stat, "cgroup": group})

    def device(self, slot: Slot, ids: tuple[str, str, str], driver: str) -> str:
        """An endpoint with every bridge above it; returns its folder."""
        root, *bridges, _ = self._ways(slot)
        self._function(root, _ROOT_PORT_ID, slot.numa, config_space(ROOT_PORT, acs=0x1D))
        for kind, bridge in zip((UPSTREAM, DOWNSTREAM), bridges, strict=False):
            # Nothing is redirected where the ways of a GPU and its NIC part.
            self._function(bridge, _SWITCH_ID, slot.numa, config_space(kind, acs=0 if kind == DOWNSTREAM else None))
        at = self._function(slot.place, ids, slot.numa, config_space(ENDPOINT))
        self._texts(f"sys/bus/pci/drivers/{driver}", {"module": ""})
        self._link(f"{at}/driver", f"sys/bus/pci/drivers/{driver}")
        return at

    @staticmethod
    def _ways(slot: Slot) -> list[str]:
        steps = slot.place.split("/")
        return ["/".join(steps[: end + 1]) for end in range(1, len(steps))]

    def nic(self, nic: VirtualNic, at: str) -> None:
        self._rdma(nic, at)
        self._interface(nic, at)

    def _rdma(self, nic: VirtualNic, at: str) -> None:
        device = f"{at}/infiniband/{nic.device}"
        about = {"node_type": "1: CA", "node_desc": "synthetic", "fw_ver": "28.43.2026", "hca_type": "MT4129"}
        self._texts(device, {**about, "node_guid": nic.guid, "sys_image_guid": nic.guid, "board_id": "MT_0000000838"})
        port = f"{device}/ports/1"
        link = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "lid": "0x0"}
        self._texts(port, {**link, "link_layer": "Ethernet"})
        moved = dict.fromkeys(("port_xmit_data", "port_rcv_data"), "250000000000")
        self._texts(f"{port}/counters", {**dict.fromkeys(_PORT_COUNTERS, "0"), **moved})
        self._texts(f"{port}/hw_counters", {**dict.fromkeys(_HARDWARE_COUNTERS, "0"), "lifespan": "10"})
        kinds = [(gid, kind) for gid in nic.gids for kind in ("IB/RoCE v1", "RoCE v2")]
        for slot, (gid, kind) in enumerate(kinds):
            self._texts(f"{port}/gids", {str(slot): gid})
            self._texts(f"{port}/gid_attrs/types", {str(slot): kind})
            self._texts(f"{port}/gid_attrs/ndevs", {str(slot): nic.interface})
        self._link(f"{device}/device", at)
        self._link(f"sys/class/infiniband/{nic.device}", device)

    def _interface(self, nic: VirtualNic, at: str) -> None:
        folder = f"{at}/net/{nic.interface}"
        numbers = {"ifindex": str(nic.interface_index), "type": "1", "dev_port": "0", "mtu": "9000", "speed": "400000"}
        state = {"address": nic.mac, "operstate": "up", "carrier": "1", "flags": "0x1003", "tx_queue_len": "10000"}
        flaps = {"carrier_changes": "2", "carrier_up_count": "1", "carrier_down_count": "1"}
        self._texts(folder, {**numbers, **state, **flaps})
        counted = [f"{way}_{what}" for way in ("rx", "tx") for what in ("bytes", "packets", "errors", "dropped")]
        more = ("rx_crc_errors", "rx_missed_errors", "rx_over_errors", "tx_carrier_errors")
        self._texts(f"{folder}/statistics", dict.fromkeys((*counted, *more), "0"))
        for side in ("np", "rp"):
            self._texts(f"{folder}/ecn/roce_{side}/enable", {str(priority): "1" for priority in range(8)})
        self._texts(f"{folder}/ecn/roce_np", {"cnp_dscp": "48", "cnp_802p_prio": "6", "min_time_between_cnps": "4"})
        self._texts(f"{folder}/ecn/roce_rp", {"rpg_ai_rate": "5", "rpg_hai_rate": "50"})
        self._texts(f"proc/sys/net/ipv4/conf/{nic.interface}", _ARP)
        self._link(f"{folder}/device", at)
        self._link(f"sys/class/net/{nic.interface}", folder)

    def _function(self, place: str, ids: tuple[str, str, str], numa: int, config: bytes) -> str:
        at, (vendor, device, class_code) = f"sys/devices/{place}", ids
        self._texts(at, {"vendor": vendor, "device": device, "class": class_code, "numa_node": str(numa)})
        self._texts(at, {"subsystem_vendor": vendor, "subsystem_device": device})
        for end in ("current", "max"):
            self._texts(at, {f"{end}_link_speed": "32.0 GT/s PCIe", f"{end}_link_width": "16"})
        self._texts(at, _NO_ERRORS)
        self._texts(f"{at}/iommu_group", {"type": "identity"})
        self.files[f"{at}/config"] = config
        self._link(f"sys/bus/pci/devices/{place.rpartition('/')[2]}", at)
        return at

    def _texts(self, at: str, values: Mapping[str, str]) -> None:
        self.files.update({f"{at}/{name}": f"{value}\n".encode() for name, value in values.items()})

    def _link(self, path: str, target: str) -> None:
        self.links[path] = "../" * path.count("/") + target
