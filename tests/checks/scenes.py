"""Healthy made-up machines as scenes to judge, and ways to change one thing in them. Everything here is synthetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from netkit.checks import checks
from netkit.doctor.context import Wishes, context_of
from netkit.doctor.contract import Check, Member
from netkit.doctor.judge import judge
from netkit.lab.virtual_node import virtual_sources
from netkit.model.check import Outcome, Result
from netkit.model.counter import Counter
from netkit.model.environment import Environment, Variable
from netkit.model.ethernet import NetDev
from netkit.model.ethernet_link import EthernetLink
from netkit.model.gpu import Gpu, GpuInventory
from netkit.model.host import KernelEvent
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress, PciDevice
from netkit.model.pci_capabilities import PciCapabilities, PciErrors
from netkit.model.rdma import RdmaDevice, RdmaPort
from netkit.sources.snapshot import read_node

HCAS = [f"mlx5_{number}" for number in range(8)]
JOB = {"NCCL_IB_TC": "106", "NCCL_IB_HCA": "=" + ",".join(HCAS), "NCCL_SOCKET_IFNAME": "=rail0"}
TAKEN_AT = 1767225600.0
Thing = TypeVar("Thing")
Change = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One node under a job, a reading of it a minute ago, and its fellows in a gang."""

    now: NodeSnapshot
    before: NodeSnapshot
    job: dict[str, str]
    version: tuple[int, int, int] | None = (2, 27, 3)
    fellows: tuple[NodeSnapshot, ...] = ()
    wishes: dict[str, Any] = field(default_factory=dict)
    """Fields of `Wishes` beside the job and the earlier reading."""


def healthy(name: str = "n0", misplaced: Sequence[int] = ()) -> NodeSnapshot:
    sources = virtual_sources(name, misplaced)
    return read_node(sources.tree, TAKEN_AT, kernel=sources.kernel, drivers=sources.drivers)


def scene(fellows: int = 0) -> Scene:
    now = healthy()
    gang = tuple(healthy(f"n{number + 1}") for number in range(fellows))
    return Scene(now=now, before=replace(now, taken_at=TAKEN_AT - 60), job=dict(JOB), fellows=gang)


def environment(job: dict[str, str], version: tuple[int, int, int] | None = None) -> Environment:
    variables = tuple(Variable(name=name, value=value, source="job.env") for name, value in job.items())
    return Environment(given=True, variables=variables, version=version)


def answers(one: Scene, asked: Iterable[Check] | None = None) -> tuple[Result, ...]:
    """Everything the doctor says of the scene's node, and of its gang."""
    given: dict[str, Any] = {"environment": environment(one.job, one.version), "earlier": one.before} | one.wishes
    wishes = Wishes(**given)
    here = Member(name="n0", snapshot=one.now, context=context_of(one.now, wishes))
    alone = Wishes(environment=wishes.environment)
    others = [
        Member(name=f"n{number + 1}", snapshot=node, context=context_of(node, alone))
        for number, node in enumerate(one.fellows)
    ]
    return judge(checks() if asked is None else asked, [here, *others], {}).results


def findings(results: Iterable[Result]) -> set[tuple[str, str, str]]:
    return {(one.rule, one.node, one.subject) for one in results if one.outcome is Outcome.FINDING}


def changed(things: Sequence[Thing], wanted: Callable[[Thing], bool], change: Change) -> tuple[Thing, ...]:
    found = [wanted(one) for one in things]
    assert any(found), "nothing to change"
    return tuple(change(one) if hit else one for one, hit in zip(things, found, strict=True))


def of(things: object) -> tuple[Any, ...]:
    assert isinstance(things, tuple)
    return things


def with_device(node: NodeSnapshot, address: PciAddress, **fields: Any) -> NodeSnapshot:
    def hit(one: PciDevice) -> bool:
        return one.address == address

    return replace(node, pci_devices=changed(of(node.pci_devices), hit, lambda one: replace(one, **fields)))


def with_capability(node: NodeSnapshot, address: PciAddress, **fields: Any) -> NodeSnapshot:
    def hit(one: PciCapabilities) -> bool:
        return one.address == address

    return replace(node, pci_capabilities=changed(node.pci_capabilities, hit, lambda one: replace(one, **fields)))


def with_errors(node: NodeSnapshot, address: PciAddress, **fields: Any) -> NodeSnapshot:
    def hit(one: PciErrors) -> bool:
        return one.address == address

    return replace(node, pci_errors=changed(node.pci_errors, hit, lambda one: replace(one, **fields)))


def with_rdma(node: NodeSnapshot, name: str, **fields: Any) -> NodeSnapshot:
    def hit(one: RdmaDevice) -> bool:
        return one.name == name

    return replace(node, rdma_devices=changed(of(node.rdma_devices), hit, lambda one: replace(one, **fields)))


def with_port(node: NodeSnapshot, name: str, change: Callable[[RdmaPort], RdmaPort]) -> NodeSnapshot:
    device = next(one for one in of(node.rdma_devices) if one.name == name)
    return with_rdma(node, name, ports=tuple(map(change, device.ports)))


def with_netdev(node: NodeSnapshot, name: str, **fields: Any) -> NodeSnapshot:
    def hit(one: NetDev) -> bool:
        return one.name == name

    return replace(node, netdevs=changed(of(node.netdevs), hit, lambda one: replace(one, **fields)))


def with_link(node: NodeSnapshot, name: str, change: Callable[[EthernetLink], EthernetLink]) -> NodeSnapshot:
    def hit(one: EthernetLink) -> bool:
        return one.interface == name

    return replace(node, ethernet_links=changed(of(node.ethernet_links), hit, change))


def with_bridging(node: NodeSnapshot, name: str, **fields: Any) -> NodeSnapshot:
    def change(link: Any) -> Any:
        return replace(link, bridging=replace(link.bridging, **fields))

    return with_link(node, name, change)


def with_gpus(node: NodeSnapshot, change: Callable[[tuple[Gpu, ...]], tuple[Gpu, ...]], **more: object) -> NodeSnapshot:
    inventory = node.accelerators.nvidia
    assert isinstance(inventory, GpuInventory)
    fields: dict[str, Any] = {"gpus": change(inventory.gpus), **more}
    return replace(node, accelerators=replace(node.accelerators, nvidia=replace(inventory, **fields)))


def with_gpu(node: NodeSnapshot, index: int, **fields: Any) -> NodeSnapshot:
    return with_gpus(
        node, lambda gpus: changed(gpus, lambda one: one.index == index, lambda one: replace(one, **fields))
    )


def with_events(node: NodeSnapshot, *events: KernelEvent) -> NodeSnapshot:
    return replace(node, kernel_events=(*of(node.kernel_events), *events))


def counted(counters: object, name: str, more: int) -> tuple[Counter, ...]:
    """The counters with one of them grown."""

    def grow(one: Counter) -> Counter:
        assert isinstance(one.raw, int)
        return replace(one, raw=one.raw + more)

    return changed(of(counters), lambda one: one.name == name, grow)
