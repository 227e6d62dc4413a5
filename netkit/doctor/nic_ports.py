"""RDMA ports as rules look at them: device, port and interface together, and which of them carry training traffic."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from netkit.doctor.thresholds import Thresholds
from netkit.model.ethernet import NetDev
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.rdma import Gid, RdmaDevice, RdmaPort
from netkit.model.topology import Nic
from netkit.topology.hca_filter import HcaFilter

ACTIVE = frozenset({4, 5})
"""IBTA port states ACTIVE and ACTIVE_DEFER."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NicPort:
    """One port of one RDMA device; `netdev` is None where no interface is visible or none belongs to it."""

    device: RdmaDevice
    port: RdmaPort
    netdev: NetDev | None

    @property
    def name(self) -> str:
        """`mlx5_0`, or `mlx5_0/2` for other ports than the first."""
        return self.device.name if self.port.number == 1 else f"{self.device.name}/{self.port.number}"

    @property
    def roce(self) -> bool:
        """Whether the link layer is Ethernet."""
        return self.port.link_layer == "Ethernet"

    @property
    def active(self) -> bool:
        """Whether the port can carry traffic now."""
        return self.port.state.code in ACTIVE

    @property
    def hardware(self) -> bool:
        """Whether a PCI function stands behind it; Soft-RoCE and the like have none."""
        return not isinstance(self.device.address, Missing)


def all_ports(snapshot: NodeSnapshot) -> tuple[NicPort, ...]:
    """Return every port of every RDMA device, virtual functions left out."""
    devices = () if isinstance(snapshot.rdma_devices, Missing) else snapshot.rdma_devices
    netdevs = () if isinstance(snapshot.netdevs, Missing) else snapshot.netdevs
    by_name = {netdev.name: netdev for netdev in netdevs}
    return tuple(
        NicPort(device=device, port=port, netdev=_netdev(port, by_name))
        for device in devices
        if not device.virtual_function and not isinstance(device.ports, Missing)
        for port in device.ports
    )


def _netdev(port: RdmaPort, by_name: dict[str, NetDev]) -> NetDev | None:
    """Return the interface traffic uses: the bond, where the port's own interface is a member of one."""
    own = by_name.get(port.netdev) if isinstance(port.netdev, str) else None
    if own is not None and isinstance(own.master, str) and own.master in by_name:
        return by_name[own.master]
    return own


def training_ports(ports: tuple[NicPort, ...], hca: HcaFilter | None, thresholds: Thresholds) -> tuple[NicPort, ...]:
    """Return the ports NCCL may use; without a list of the job, those at least half as fast as the fastest.

    A port that is down counts: its rate means nothing then.
    """
    if hca is not None and hca.entries:
        return tuple(port for port in ports if hca.passes(_as_nic(port)))
    rates = [rate for port in ports if port.active and isinstance(rate := port.port.rate.bytes_per_second, float)]
    floor = thresholds.slow_share * max(rates, default=0.0)
    return tuple(port for port in ports if not port.active or _fast(port, floor))


def _fast(port: NicPort, floor: float) -> bool:
    rate = port.port.rate.bytes_per_second
    return isinstance(rate, Missing) or rate >= floor


def _as_nic(port: NicPort) -> Nic:
    name = port.device.name
    return Nic(key=name, name=name, index=0, members=(name,), port=port.port.number)


def gid_family(gid: Gid) -> int | None:
    """Return 4 or 6; None for a row that is zero, link-local or no address."""
    try:
        address = ipaddress.IPv6Address(gid.gid)
    except ValueError:
        return None
    if address.ipv4_mapped is not None:
        return 4
    return None if address.is_link_local or address.is_unspecified else 6
