"""Synthetic topology XML of machine types nobody here can record, shaped after public descriptions."""

from __future__ import annotations

from collections.abc import Sequence

INTEL = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"'
AMD = 'arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17"'
GRACE = 'arch="arm64"'


def pci(busid: str, kind: str, inner: str = "", speed: str = "32.0 GT/s PCIe", width: int = 16, extra: str = "") -> str:
    return f'<pci busid="{busid}" class="{kind}" {extra}link_speed="{speed}" link_width="{width}">{inner}</pci>'


def switch(busid: str, *inner: str, extra: str = "", speed: str = "32.0 GT/s PCIe") -> str:
    return pci(busid, "0x060400", "".join(inner), speed, extra=extra)


def gpu(index: int, busid: str, sm: int = 90, links: str = "", speed: str = "32.0 GT/s PCIe", gdr: int = 1) -> str:
    return pci(busid, "0x030200", f'<gpu dev="{index}" sm="{sm}" rank="{index}" gdr="{gdr}">{links}</gpu>', speed)


def nic(
    index: int, busid: str, mbps: int = 400_000, speed: str = "32.0 GT/s PCIe", width: int = 16, **more: str
) -> str:
    name = more.get("name", f"mlx5_{index}")
    guid = more.get("guid", f"0x{index + 1:04x}")
    net = f'<net name="{name}" dev="{index}" speed="{mbps}" port="1" guid="{guid}" gdr="{more.get("gdr", "1")}"/>'
    return pci(busid, "0x020700", f"<nic>{net}</nic>", speed, width)


def nvswitch(count: int = 18) -> str:
    return f'<nvlink target="fffffff:ffff:ff" count="{count}" tclass="0x068000"/>'


def system(*cpus: Sequence[str], about: str = INTEL) -> str:
    inner = "".join(f'<cpu numaid="{number}" {about}>{"".join(rows)}</cpu>' for number, rows in enumerate(cpus))
    return f'<system version="1"><!-- synthetic -->{inner}</system>'


def hgx(storage: bool = True) -> str:
    """Eight GPUs and eight NICs one to one under their own switches, two sockets, two slow storage NICs."""
    rails = [
        switch(
            f"0000:{0x10 + 8 * n:02x}:00.0",
            gpu(n, f"0000:{0x11 + 8 * n:02x}:00.0", links=nvswitch()),
            nic(n, f"0000:{0x12 + 8 * n:02x}:00.0"),
        )
        for n in range(8)
    ]
    aside = [nic(8 + n, f"0000:{0xF0 + n:02x}:00.0", 100_000, "16.0 GT/s PCIe") for n in range(2)] if storage else []
    return system([*rails[:4], *aside[:1]], [*rails[4:], *aside[1:]])


def dgx_a100() -> str:
    """Four switches of two GPUs and two NICs, and two storage NICs of the same rate at the root."""
    groups = [
        switch(
            f"0000:{0x20 + 0x10 * n:02x}:00.0",
            *(
                gpu(2 * n + k, f"0000:{0x21 + 0x10 * n + k:02x}:00.0", 80, nvswitch(12), "16.0 GT/s PCIe")
                for k in range(2)
            ),
            *(nic(2 * n + k, f"0000:{0x23 + 0x10 * n + k:02x}:00.0", 200_000, "16.0 GT/s PCIe") for k in range(2)),
            speed="16.0 GT/s PCIe",
        )
        for n in range(4)
    ]
    aside = [nic(8 + n, f"0000:{0xE0 + n:02x}:00.0", 200_000, "16.0 GT/s PCIe") for n in range(2)]
    return system(groups[:1], [*groups[1:2], aside[0]], groups[2:3], [*groups[3:], aside[1]], about=AMD)


def mi300x() -> str:
    """Eight accelerators of class 0x1200, each two switches below its NIC, joined by XGMI."""
    buses = [f"0000:{0x0C + 0x10 * n:02x}:00.0" for n in range(8)]
    rails = []
    for n, here in enumerate(buses):
        links = "".join(f'<xgmi target="{peer}" count="1" tclass="0x120000"/>' for peer in buses if peer != here)
        inner = f'<gpu dev="{n}" sm="304" gcn="gfx942" rank="{n}" gdr="1">{links}</gpu>'
        below = switch(f"0000:{0x0A + 0x10 * n:02x}:00.0", pci(here, "0x120000", inner))
        rails.append(switch(f"0000:{0x05 + 0x10 * n:02x}:00.0", below, nic(n, f"0000:{0x07 + 0x10 * n:02x}:00.0")))
    return system(rails[:4], rails[4:])


def gb200() -> str:
    """Two Grace CPUs with two GPUs over coherent links and two NICs at the CPU each."""
    c2c = '<c2c bw="44712" count="10"/>'
    sides = [
        [
            *(gpu(2 * n + k, f"000{8 * n + k:x}:01:00.0", 100, nvswitch() + c2c) for k in range(2)),
            *(nic(2 * n + k, f"001{8 * n + k:x}:03:00.0") for k in range(2)),
        ]
        for n in range(2)
    ]
    return system(*sides, about=GRACE)


def shared() -> str:
    """Four switches of two GPUs that share one NIC."""
    groups = [
        switch(
            f"0000:{0x20 + 0x10 * n:02x}:00.0",
            *(gpu(2 * n + k, f"0000:{0x21 + 0x10 * n + k:02x}:00.0", 80) for k in range(2)),
            nic(n, f"0000:{0x25 + 0x10 * n:02x}:00.0"),
        )
        for n in range(4)
    ]
    return system(groups[:2], groups[2:])


def four_rails() -> str:
    """Four GPUs on one socket, four NICs, one to one, no NVLink."""
    rails = [
        switch(
            f"0000:{0x20 + 0x10 * n:02x}:00.0",
            gpu(n, f"0000:{0x21 + 0x10 * n:02x}:00.0"),
            nic(n, f"0000:{0x22 + 0x10 * n:02x}:00.0", 200_000),
        )
        for n in range(4)
    ]
    return system(rails[:2], rails[2:])


MACHINES = {
    "hgx": hgx(),
    "dgx_a100": dgx_a100(),
    "mi300x": mi300x(),
    "gb200": gb200(),
    "shared": shared(),
    "four_rails": four_rails(),
}
