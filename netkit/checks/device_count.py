"""How many GPUs and NICs there are, against the platform, and NICs whose ports together outrun their slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.catalogue.platforms import Platform
from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.nic_ports import NicPort
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.units import show_line_rate

COUNT = Rule(
    id="T21",
    name="device-count",
    severity=Severity.CRITICAL,
    question="Are all GPUs and NICs of this machine type there?",
    reads="PCI functions by class; the platform's counts",
    passes="as many GPUs, and at least as many fast NIC ports, as the platform has",
    why="a GPU that fell off the bus or a NIC that never enumerated fails the job, or slows it for good",
    remedy="dmesg for PCIe and driver messages, a cold power cycle, then service; lspci -tv against a good node",
    source="leptonai/gpud, oracle-quickstart/oci-hpc",
    caution="needs a platform: one recognised by its addresses, or named by --profile",
    playbook="gpu-missing",
)
CEILING = Rule(
    id="T26",
    name="nic-ports-per-slot",
    severity=Severity.INFO,
    question="Can a NIC's PCIe slot carry all of its ports at once?",
    reads="rates of the active ports of one card; speed and lanes of its slot",
    passes="the ports together stay below what the slot carries",
    why="two 200 Gbit/s ports in a Gen4 x16 slot share 252 Gbit/s; NCCL counts them as 400",
    remedy="use one port of the card (NCCL_IB_HCA), or accept the ceiling when comparing with expectations",
    source="nccl issue 439",
    caution="information: dual-port cards in such slots are sold and bought on purpose",
    playbook="nccl-slow",
)
_ENCODING = 128 / 130
"""Of Gen3 to Gen5; flit mode of Gen6 costs about as much."""


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Count devices against the platform, and ports against slots."""
    if context.platform is None:
        yield COUNT.not_applicable("no platform is known for this node (--profile names one)")
    elif isinstance(snapshot.pci_devices, Missing):
        yield COUNT.incomplete(NODE, snapshot.pci_devices)
    else:
        yield from _counts(context, context.platform)
    yield from _ceilings(context)


def _counts(context: Context, platform: Platform) -> Iterator[Result]:
    gpus = len(context.pci.gpus)
    if gpus < platform.gpus:
        yield COUNT.finding("GPUs", f"{gpus} of the {platform.gpus} of {platform.id}")
    else:
        yield COUNT.ok("GPUs", f"{gpus}, as {platform.id} has")
    nics = len(context.ports) or len(context.pci.nics)
    if nics < platform.nics:
        yield COUNT.finding("NICs", f"{nics} fast ports of the {platform.nics} of {platform.id}")
    else:
        yield COUNT.ok("NICs", f"{nics} fast ports, {platform.id} has {platform.nics}")


def _ceilings(context: Context) -> Iterator[Result]:
    cards: dict[tuple[int, int, int], list[NicPort]] = {}
    for port in context.ports:
        address = port.device.address
        if port.active and not isinstance(address, Missing):
            cards.setdefault((address.domain, address.bus, address.device), []).append(port)
    several = [ports for ports in cards.values() if len(ports) > 1]
    if not several:
        yield CEILING.not_applicable("no card has two active training ports")
    for ports in several:
        yield _ceiling(context, ports)


def _ceiling(context: Context, ports: list[NicPort]) -> Result:
    subject = "+".join(port.name for port in ports)
    address = ports[0].device.address
    slot = None if isinstance(address, Missing) else context.pci.devices.get(address)
    rates = [port.port.rate.bytes_per_second for port in ports]
    known = [rate for rate in rates if not isinstance(rate, Missing)]
    if slot is None or len(known) < len(rates):
        return CEILING.incomplete(subject, "the slot or a rate is not known")
    speed, width = slot.max_link.speed_gt_per_second, slot.max_link.width
    if isinstance(speed, Missing) or isinstance(width, Missing):
        return CEILING.incomplete(subject, "the slot does not say its speed and lanes")
    carries = speed * 1e9 / 8 * width * _ENCODING
    said = f"{show_line_rate(sum(known))} of ports in a slot of {show_line_rate(carries)}"
    return CEILING.finding(subject, said) if sum(known) > carries else CEILING.ok(subject, said)


CHECK = NodeCheck(id="device_count", rules=(COUNT, CEILING), check=check, needs=("pci_devices",))
