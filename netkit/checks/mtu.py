"""The MTU of RoCE interfaces, and the RDMA MTU that follows from it.

Linux include/rdma/ib_addr.h, iboe_get_mtu: the largest of 256 … 4096 that fits after the headers.
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.nic_ports import NicPort
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot

MTU = Rule(
    id="R03",
    name="roce-mtu",
    severity=Severity.WARNING,
    question="Do RoCE packets carry 4096 bytes?",
    reads="mtu of the interface of every RoCE port",
    passes="the interface's MTU is 4192 or more, 4200 by custom",
    why="with 1500 a packet carries 1024 bytes: four times the packets, and 5 % less of the wire for data",
    remedy="ip link set INTERFACE mtu 4200 (or 9000), and as much on every switch port of the rail",
    source="NVIDIA DGX Spark playbook PR 103 (about +5 %); oracle-quickstart/oci-hpc (4220)",
    caution="both ends must agree: the smaller one is used, and a switch with less drops what is larger; Soft-RoCE is "
    "left out",
    playbook="qos-mismatch",
)
SAME = Rule(
    id="R04",
    name="roce-mtu-uniform",
    severity=Severity.CRITICAL,
    question="Do all training interfaces of the node have one MTU?",
    reads="mtu of the interface of every RoCE port",
    passes="all have the same value",
    why="NCCL connects any NIC with any other; two MTUs on one rail end in error 12 after minutes of retries",
    remedy="set one MTU on all training interfaces and their switch ports",
    source="nccl issue 709",
    caution="between nodes the gang rule J05 compares the same value",
    playbook="qos-mismatch",
)
_SIZES = (4096, 2048, 1024, 512, 256)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every RoCE port with hardware behind it."""
    ports = [port for port in context.ports if port.roce and port.hardware]
    if not ports:
        for rule in (MTU, SAME):
            yield no_ports(rule, snapshot) if not context.ports else rule.not_applicable("no port is RoCE hardware")
        return
    for port in ports:
        yield _port(context, port)
    yield _same(ports)


def _port(context: Context, port: NicPort) -> Result:
    if port.netdev is None:
        why = port.port.netdev
        return MTU.incomplete(port.name, why if isinstance(why, Missing) else f"interface {why} was not read")
    mtu = port.netdev.mtu_bytes
    if isinstance(mtu, Missing):
        return MTU.incomplete(port.name, mtu)
    room = mtu - context.thresholds.roce_headers_bytes
    carried = next((size for size in _SIZES if size <= room), 0)
    said = f"{port.netdev.name} has MTU {mtu}: RoCE packets of {carried} bytes"
    return MTU.ok(port.name, said) if carried >= context.thresholds.roce_mtu_bytes else MTU.finding(port.name, said)


def _same(ports: list[NicPort]) -> Result:
    found = {port.name: port.netdev.mtu_bytes for port in ports if port.netdev is not None}
    known = {name: mtu for name, mtu in found.items() if not isinstance(mtu, Missing)}
    if not known:
        return SAME.incomplete("node", "no MTU is known")
    if len(set(known.values())) > 1:
        said = f"between {min(known.values())} and {max(known.values())} bytes"
        return SAME.finding("node", said, *(f"{name}: {mtu}" for name, mtu in sorted(known.items())))
    return SAME.ok("node", f"{next(iter(known.values()))} on {len(known)} interfaces")


CHECK = NodeCheck(id="mtu", rules=(MTU, SAME), check=check)
