"""A made-up GPU node for every node of a lab: what its sysfs would show. Synthetic, and it says so.

HGX-like: two sockets, four PCIe switches with two GPUs and two NICs each, so that every GPU has a NIC at PIX. Rail r of
the lab is NIC `mlx5_r`. A misplaced NIC sits in a slot of the other socket, without a switch: its GPU has to reach it,
or another's NIC, through the processors.
Layout of the files: Linux, Documentation/ABI/testing/sysfs-bus-pci and stable/sysfs-class-infiniband.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from netkit.errors import InputError
from netkit.lab.shape import MACHINE_NICS as GPUS
from netkit.sources.memory_tree import MemoryTree

_PER_SWITCH = 2
_SWITCHES = GPUS // _PER_SWITCH
# Broadcom PEX890xx, ConnectX-7, H100 SXM, a root port: numbers of the PCI ID database.
_SWITCH_ID = ("0x1000", "0xc030", "0x060400")
_ROOT_PORT_ID = ("0x8086", "0x352a", "0x060400")
_NIC_ID = ("0x15b3", "0x1021", "0x020700")
_GPU_ID = ("0x10de", "0x2330", "0x030200")


def virtual_node(name: str, misplaced: Collection[int] = ()) -> MemoryTree:
    """Return the files of a node of this name whose NICs with the given indices sit in the wrong slot.

    Raises:
        InputError: there is no such NIC.
    """
    for index in misplaced:
        if not 0 <= index < GPUS:
            raise InputError(f"NIC {index} of a virtual node", f"0 to {GPUS - 1}")
    machine = _Machine()
    machine.host(name)
    for switch in range(_SWITCHES):
        machine.switch(switch, [slot for slot in _slots(switch) if slot not in misplaced])
    for index in sorted(misplaced):
        machine.far_nic(index)
    return MemoryTree(machine.files, machine.links)


def _slots(switch: int) -> range:
    return range(switch * _PER_SWITCH, (switch + 1) * _PER_SWITCH)


@dataclass(slots=True)
class _Machine:
    files: dict[str, bytes | int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def host(self, name: str) -> None:
        self._texts("proc", {"cpuinfo": "processor\t: 0\nflags\t\t: fpu", "cmdline": "netkit.virtual_node=synthetic"})
        self._texts("proc/sys/kernel", {"hostname": name, "osrelease": "virtual-node-synthetic"})
        self._texts("sys/devices/system/node", {"online": "0-1"})
        self._texts("sys/class/dmi/id", {"sys_vendor": "netkit", "product_name": "virtual node, synthetic"})

    def switch(self, switch: int, nics: Collection[int]) -> None:
        """A switch on its own root port, with its GPUs and those of its NICs that are where they belong."""
        numa, base = switch * 2 // _SWITCHES, 0x10 + 0x20 * switch
        root = f"pci0000:{base:02x}/0000:{base:02x}:01.0"
        self._function(root, _ROOT_PORT_ID, numa)
        upstream = f"{root}/0000:{base + 1:02x}:00.0"
        self._function(upstream, _SWITCH_ID, numa)
        for port, gpu in enumerate(_slots(switch)):
            self._function(self._below(upstream, base, port, numa), _GPU_ID, numa)
            if gpu in nics:
                self._nic(self._below(upstream, base, _PER_SWITCH + port, numa), gpu, numa)

    def far_nic(self, index: int) -> None:
        """A NIC alone on a root port of the socket that its GPU is not on."""
        numa, base = 1 - index * 2 // GPUS, 0xA0 + 4 * index
        root = f"pci0000:{base:02x}/0000:{base:02x}:01.0"
        self._function(root, _ROOT_PORT_ID, numa)
        self._nic(f"{root}/0000:{base + 1:02x}:00.0", index, numa)

    def _below(self, upstream: str, base: int, port: int, numa: int) -> str:
        """Make a downstream port of a switch; return where the device behind it goes."""
        down = f"{upstream}/0000:{base + 2:02x}:{port:02x}.0"
        self._function(down, _SWITCH_ID, numa)
        return f"{down}/0000:{base + 3 + port:02x}:00.0"

    def _nic(self, place: str, index: int, numa: int) -> None:
        self._function(place, _NIC_ID, numa)
        device = f"sys/devices/{place}/infiniband/mlx5_{index}"
        guid = f"0200:00ff:fe00:{index:04x}"
        self._texts(device, {"node_guid": guid, "sys_image_guid": guid, "node_type": "1: CA", "node_desc": "synthetic"})
        port = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "lid": "0x0"}
        self._texts(f"{device}/ports/1", {**port, "link_layer": "Ethernet"})
        self._link(f"{device}/device", f"sys/devices/{place}")
        self._link(f"sys/class/infiniband/mlx5_{index}", device)

    def _function(self, place: str, ids: tuple[str, str, str], numa: int) -> None:
        at, (vendor, device, class_code) = f"sys/devices/{place}", ids
        self._texts(at, {"vendor": vendor, "device": device, "class": class_code, "numa_node": str(numa)})
        self._texts(at, {"subsystem_vendor": vendor, "subsystem_device": device})
        for end in ("current", "max"):
            self._texts(at, {f"{end}_link_speed": "32.0 GT/s PCIe", f"{end}_link_width": "16"})
        self._link(f"sys/bus/pci/devices/{place.rpartition('/')[2]}", at)

    def _texts(self, at: str, values: dict[str, str]) -> None:
        self.files.update({f"{at}/{name}": f"{value}\n".encode() for name, value in values.items()})

    def _link(self, path: str, target: str) -> None:
        self.links[path] = "../" * path.count("/") + target
