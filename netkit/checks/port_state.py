"""RDMA ports: up or not, and as fast as their siblings and the platform.

Linux Documentation/ABI/stable/sysfs-class-infiniband: `state`, `phys_state`, `rate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.nic_ports import NicPort
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.units import show_line_rate

STATE = Rule(
    id="N01",
    name="port-state",
    severity=Severity.CRITICAL,
    question="Is every RDMA port that training needs up?",
    reads="state and phys_state of every port",
    passes="the state is ACTIVE and the physical state LinkUp",
    why="a dead port makes NCCL fail at start, or leaves a GPU without its NIC at a fraction of the bandwidth",
    remedy="check cable, module and the switch port; on Ethernet: ip link show, ethtool INTERFACE; on InfiniBand a "
    "port that stays in INIT waits for the subnet manager",
    source="leptonai/gpud, Azure/azurehpc-health-checks",
    caution="a port that pairs with no GPU and whose card has another port up is taken for a spare: information",
    playbook="rdma-port-down",
)
RATE = Rule(
    id="N02",
    name="port-rate",
    severity=Severity.WARNING,
    question="Is every training port as fast as its siblings, and as the platform says?",
    reads="rate of every active port; the NIC rate of the platform named by --profile",
    passes="the rate is that of most ports of the same card type, and not below the platform's",
    why="a port that negotiated 200 instead of 400 Gbit/s, or lost lanes, sets the pace of every ring through it",
    remedy="ethtool INTERFACE or ibstat: look for a forced speed, a wrong cable, lanes that did not come up (mlxlink)",
    source="leptonai/gpud (table of 8 x 400 Gbit/s), oracle-quickstart/oci-hpc",
    caution="siblings are ports of the same board; where no two ports agree, only a platform can tell",
    playbook="rdma-port-speed",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every training port."""
    if not context.ports:
        yield no_ports(STATE, snapshot)
        yield no_ports(RATE, snapshot)
        return
    for port in context.ports:
        yield _state(context, port)
    active = [port for port in context.ports if port.active]
    for port in active:
        yield _rate(context, port, active)
    if not active:
        yield RATE.incomplete("node", "no port is up, so no port has a rate")


def _state(context: Context, port: NicPort) -> Result:
    state, physical = port.port.state, port.port.physical_state
    if isinstance(state.code, Missing):
        return STATE.incomplete(port.name, state.code)
    said = f"{state.text}, physically {physical.text}"
    if port.active:
        return STATE.ok(port.name, said)
    spare = _paired_with_nothing(context, port) and _other_port_is_up(context, port)
    return STATE.finding(port.name, said, severity=Severity.INFO if spare else None)


def _paired_with_nothing(context: Context, port: NicPort) -> bool:
    return all(pair.nic.address != port.device.address for pair in context.pci.pairs)


def _other_port_is_up(context: Context, port: NicPort) -> bool:
    return any(other.active and _card(other) == _card(port) for other in context.all_ports if other is not port)


def _card(port: NicPort) -> object:
    """Functions of one card share domain, bus and device number."""
    address = port.device.address
    return port.device.name if isinstance(address, Missing) else (address.domain, address.bus, address.device)


def _rate(context: Context, port: NicPort, active: Sequence[NicPort]) -> Result:
    rate = port.port.rate.bytes_per_second
    if isinstance(rate, Missing):
        return RATE.incomplete(port.name, rate)
    usual = _usual_rate([other for other in active if _board(other) == _board(port)])
    meant = context.platform.nic_rate if context.platform is not None else 0.0
    wanted = max(usual, meant)
    said = f"{show_line_rate(rate)} ({port.port.rate.text})"
    if rate >= wanted:
        return RATE.ok(port.name, said)
    whose = f"the platform {context.platform.id}" if context.platform and meant >= usual else "most of its siblings"
    return RATE.finding(port.name, f"{said}; {whose}: {show_line_rate(wanted)}")


def _board(port: NicPort) -> object:
    return (port.device.board_id, port.device.hca_type, port.port.link_layer)


def _usual_rate(ports: Sequence[NicPort]) -> float:
    """Return the rate more than half of the ports have; 0 where there is none."""
    rates = Counter(port.port.rate.bytes_per_second for port in ports)
    rate, count = rates.most_common(1)[0]
    return rate if isinstance(rate, float) and 2 * count > len(ports) else 0.0


CHECK = NodeCheck(id="port_state", rules=(STATE, RATE), check=check)
