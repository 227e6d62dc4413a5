"""What the interface behind an RDMA port does with RoCE traffic."""

from __future__ import annotations

from netkit.doctor.nic_ports import NicPort
from netkit.model.ethernet import NetDev
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.roce.host_qos import host_qos
from netkit.roce.qos import HostQos


def qos_of(snapshot: NodeSnapshot, port: NicPort) -> HostQos | Missing:
    """Return what the interface of a port does with RoCE traffic."""
    netdev = _own(snapshot, port)
    if netdev is None:
        return Missing(reason=Reason.ABSENT, where=port.name, detail="no interface of this port is visible")
    link = snapshot.ethernet_link(netdev.name)
    if link is not None:
        return host_qos(netdev, link.bridging)
    unread = snapshot.ethernet_links
    absent = Missing(reason=Reason.ABSENT, where=f"dcb of {netdev.name}", detail="not asked")
    return host_qos(netdev, unread if isinstance(unread, Missing) else absent)


def _own(snapshot: NodeSnapshot, port: NicPort) -> NetDev | None:
    """Return the port's own interface: QoS is set on the members of a bond, not on the bond."""
    name = port.port.netdev
    found = snapshot.netdev(name) if isinstance(name, str) else None
    return found or port.netdev
