"""The GID a RoCE connection uses: that one exists, and that the row a job names is the right one.

NVIDIA NCCL, src/transport/net_ib: RoCE v2, the family asked for, neither zero nor link-local.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.nic_ports import NicPort, gid_family
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.rdma import GidTable

EXISTS = Rule(
    id="R01",
    name="roce-gid",
    severity=Severity.CRITICAL,
    question="Does every RoCE port have an address RoCE v2 can use?",
    reads="gids and gid_attrs/types of every port",
    passes="a RoCE v2 row exists that is neither zero nor link-local, of the family NCCL_IB_ADDR_FAMILY asks for",
    why="without it NCCL cannot connect, or falls back to a row that no other node can reach",
    remedy="give the interface an IPv4 address (ip addr add); in a pod, wait for the network plugin to do so",
    source="nccl issues 925 and 1131; NVIDIA NCCL, src/transport/net_ib",
    caution="InfiniBand ports need none and are not judged; Soft-RoCE counts like hardware",
    playbook="qos-mismatch",
)
INDEX = Rule(
    id="R02",
    name="roce-gid-index",
    severity=Severity.CRITICAL,
    question="Does NCCL_IB_GID_INDEX name a usable row on every port?",
    reads="NCCL_IB_GID_INDEX; the GID table of every port",
    passes="it is not set, or the row is filled, RoCE v2 and of one family on all ports",
    why="rows move with every address that comes and goes; an index that is right on one port is empty on the next",
    remedy="unset NCCL_IB_GID_INDEX with NCCL 2.21 or newer, which finds the row by itself",
    source="nccl issues 890, 1427, 1538 and 1573",
    caution="rows beyond those that were read are incomplete, not wrong",
    playbook="qos-mismatch",
)
_V2 = "RoCE v2"


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every RoCE port."""
    ports = [port for port in context.ports if port.roce]
    if not ports:
        for rule in (EXISTS, INDEX):
            yield no_ports(rule, snapshot) if not context.ports else rule.not_applicable("no port is RoCE")
        return
    for port in ports:
        yield _exists(context, port)
    yield from _index(context, ports)


def _exists(context: Context, port: NicPort) -> Result:
    table = port.port.gid_table
    if isinstance(table, Missing):
        return EXISTS.incomplete(port.name, table)
    wanted = 6 if context.environment.text("NCCL_IB_ADDR_FAMILY") == "AF_INET6" else 4
    usable = [gid for gid in table.gids if gid.kind == _V2 and gid_family(gid) == wanted]
    if usable:
        return EXISTS.ok(port.name, f"row {usable[0].index}: {usable[0].gid}")
    rest = [f"row {gid.index}: {gid.gid}, {gid.kind}" for gid in table.gids[:8]]
    if table.slots_read < table.slots:
        return EXISTS.incomplete(port.name, f"none in the first {table.slots_read} of {table.slots} rows", *rest)
    return EXISTS.finding(port.name, f"no RoCE v2 row of IPv{wanted} that others can reach", *rest)


def _index(context: Context, ports: list[NicPort]) -> Iterator[Result]:
    wanted = context.environment.number("NCCL_IB_GID_INDEX")
    if wanted is None or wanted < 0:
        given = context.environment.given
        yield INDEX.ok("job", "not set") if given else INDEX.not_applicable("no environment of a job was given (--env)")
        return
    families = {
        gid_family(row)
        for port in ports
        if not isinstance(port.port.gid_table, Missing)
        for row in port.port.gid_table.gids
        if row.index == wanted
    }
    for port in ports:
        yield _row(port, wanted, mixed=len(families) > 1)


def _row(port: NicPort, index: int, *, mixed: bool) -> Result:
    table = port.port.gid_table
    if isinstance(table, Missing):
        return INDEX.incomplete(port.name, table)
    row = next((gid for gid in table.gids if gid.index == index), None)
    if row is None:
        return _no_row(port, table, index)
    said = f"row {index} is {row.gid}, {row.kind}"
    if row.kind != _V2:
        return INDEX.finding(port.name, f"{said}: not RoCE v2")
    if gid_family(row) is None:
        return INDEX.finding(port.name, f"{said}: no other node can reach it")
    if mixed:
        return INDEX.finding(port.name, f"{said}; on other ports that row is of another family")
    return INDEX.ok(port.name, said)


def _no_row(port: NicPort, table: GidTable, index: int) -> Result:
    if index >= table.slots_read and table.slots_read < table.slots:
        return INDEX.incomplete(port.name, f"row {index} was not read")
    return INDEX.finding(port.name, f"row {index} is empty")


CHECK = NodeCheck(id="gid", rules=(EXISTS, INDEX), check=check)
