"""Where everything of a made-up GPU node is: slots, names and numbers of its GPUs and NICs. Synthetic.

HGX-like: two sockets, four PCIe switches with two GPUs and two NICs each, so that every GPU has a NIC at PIX. A
misplaced NIC sits in a slot of the other socket, without a switch.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from netkit.errors import InputError
from netkit.lab.shape import MACHINE_NICS as GPUS

PER_SWITCH = 2
SWITCHES = GPUS // PER_SWITCH
FIRST_PROCESS = 20_000
_FIRST_INTERFACE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A device's folder below /sys/devices, from the root of its bus, and its socket."""

    place: str
    numa: int

    @property
    def address(self) -> str:
        """Its PCI address: the last step of the way."""
        return self.place.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualNic:
    """One NIC with its port: an RDMA device, an Ethernet interface and the addresses of both."""

    index: int
    slot: Slot
    host: int

    @property
    def device(self) -> str:
        """The RDMA device."""
        return f"mlx5_{self.index}"

    @property
    def interface(self) -> str:
        """The Ethernet interface; rail r of a lab is NIC r."""
        return f"rail{self.index}"

    @property
    def interface_index(self) -> int:
        """Its number in the kernel."""
        return _FIRST_INTERFACE + self.index

    @property
    def mac(self) -> str:
        """A locally administered address."""
        return f"02:00:00:00:{self.host:02x}:{self.index:02x}"

    @property
    def guid(self) -> str:
        """The node's GUID, as sysfs shows it."""
        return f"0200:00ff:fe00:{self.host:02x}{self.index:02x}"

    @property
    def gids(self) -> tuple[str, str]:
        """The link-local address made from the MAC, and that of 10.<rail>.0.<host>."""
        own = f"fe80:0000:0000:0000:0000:00ff:fe00:{self.host:02x}{self.index:02x}"
        return own, f"0000:0000:0000:0000:0000:ffff:0a{self.index:02x}:00{self.host:02x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualGpu:
    """One GPU, and the process of the training job that runs on it."""

    index: int
    slot: Slot

    @property
    def process(self) -> int:
        """Rank r of the job has GPU r."""
        return FIRST_PROCESS + self.index


def gpus() -> tuple[VirtualGpu, ...]:
    """Return the GPUs, two below each switch."""
    return tuple(VirtualGpu(index=index, slot=_below_switch(index, 0)) for index in range(GPUS))


def nics(name: str, misplaced: Collection[int] = ()) -> tuple[VirtualNic, ...]:
    """Return the NICs of the node of this name; those with the given indices sit in the other socket.

    Raises:
        InputError: there is no such NIC.
    """
    for index in misplaced:
        if not 0 <= index < GPUS:
            raise InputError(f"NIC {index} of a virtual node", f"0 to {GPUS - 1}")
    number = re.search(r"[0-9]{1,3}$", name)
    host = 1 + int(number[0]) % 250 if number else 1
    places = (_far(index) if index in misplaced else _below_switch(index, PER_SWITCH) for index in range(GPUS))
    return tuple(VirtualNic(index=index, slot=slot, host=host) for index, slot in enumerate(places))


def _below_switch(index: int, first_port: int) -> Slot:
    switch, side = divmod(index, PER_SWITCH)
    base, port = 0x10 + 0x20 * switch, first_port + side
    place = (
        f"pci0000:{base:02x}/0000:{base:02x}:01.0/0000:{base + 1:02x}:00.0"
        f"/0000:{base + 2:02x}:{port:02x}.0/0000:{base + 3 + port:02x}:00.0"
    )
    return Slot(place=place, numa=switch * 2 // SWITCHES)


def _far(index: int) -> Slot:
    """A root port of the socket that its GPU is not on."""
    base = 0xA0 + 4 * index
    return Slot(place=f"pci0000:{base:02x}/0000:{base:02x}:01.0/0000:{base + 1:02x}:00.0", numa=1 - index * 2 // GPUS)
