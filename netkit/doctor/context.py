"""What a check knows beside the snapshot: the platform meant, the job's settings, the PCI tree, an earlier reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from netkit.catalogue.platforms import Platform
from netkit.doctor.nic_ports import NicPort, all_ports, training_ports
from netkit.doctor.pci_index import PciIndex, index_of
from netkit.doctor.port_qos import qos_of
from netkit.doctor.thresholds import Thresholds
from netkit.errors import InputError
from netkit.model.check import NODE, Result, Rule
from netkit.model.environment import Environment
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.topology import Topology
from netkit.roce.qos import HostQos, SwitchQos
from netkit.topology.hca_filter import HcaFilter
from netkit.topology.node import topology_of_node
from netkit.topology.view import TopologyView, view_of_topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the person who asks says beside the snapshot."""

    platform: Platform | None = None
    environment: Environment = field(default_factory=Environment)
    thresholds: Thresholds = field(default_factory=Thresholds)
    earlier: NodeSnapshot | None = None
    """A reading of the same node before, so that growth can be told from history."""
    topology_file: Topology | str | None = None
    """What NCCL_TOPO_FILE names, or why it cannot be used; None where nobody gave it."""
    switches: Mapping[str, SwitchQos] = field(default_factory=dict)
    """The switch port behind each interface, where somebody gave the switch's configuration; `*` is all of them."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """One node's surroundings; what is dear to work out is worked out when a rule first asks for it."""

    snapshot: NodeSnapshot
    wishes: Wishes

    @cached_property
    def pci(self) -> PciIndex:
        """The PCI tree."""
        return index_of(self.snapshot)

    @cached_property
    def view(self) -> TopologyView | Missing:
        """How GPUs and NICs hang together; Missing where there is no GPU or PCI could not be read."""
        return _view(self.snapshot, self.wishes)

    @cached_property
    def all_ports(self) -> tuple[NicPort, ...]:
        """Every RDMA port of the node."""
        return all_ports(self.snapshot)

    @cached_property
    def ports(self) -> tuple[NicPort, ...]:
        """Those that carry, or should carry, training traffic."""
        return training_ports(self.all_ports, hca_filter(self.environment), self.thresholds)

    @cached_property
    def qos(self) -> Mapping[str, HostQos | Missing]:
        """QoS of every port's interface, by port name."""
        return {port.name: qos_of(self.snapshot, port) for port in self.all_ports}

    @property
    def platform(self) -> Platform | None:
        """The machine type asked for, or the one recognised by its addresses."""
        if self.wishes.platform is not None or isinstance(self.view, Missing):
            return self.wishes.platform
        return self.view.platform

    @property
    def environment(self) -> Environment:
        """The job's NCCL settings."""
        return self.wishes.environment

    @property
    def thresholds(self) -> Thresholds:
        """The numbers to compare with."""
        return self.wishes.thresholds


def context_of(snapshot: NodeSnapshot, wishes: Wishes) -> Context:
    """Return the context of one node."""
    return Context(snapshot=snapshot, wishes=wishes)


def _view(snapshot: NodeSnapshot, wishes: Wishes) -> TopologyView | Missing:
    if isinstance(snapshot.pci_devices, Missing):
        return snapshot.pci_devices
    topology = topology_of_node(snapshot.pci_devices, snapshot.rdma_devices, "this node")
    if not topology.gpus:
        return Missing(reason=Reason.ABSENT, where="pci", detail="no GPU on this node")
    return view_of_topology(topology, hca=hca_filter(wishes.environment), platform=wishes.platform)


def no_ports(rule: Rule, snapshot: NodeSnapshot) -> Result:
    """Answer for a node without RDMA ports: nothing there, or nothing readable."""
    if isinstance(snapshot.rdma_devices, Missing):
        return rule.incomplete(NODE, snapshot.rdma_devices)
    return rule.not_applicable("no RDMA port carries training traffic")


def hca_filter(environment: Environment) -> HcaFilter | None:
    """Return NCCL_IB_HCA of the job; None when it is not set or cannot be read (a rule of its own says so)."""
    text = environment.text("NCCL_IB_HCA")
    try:
        return None if text is None else HcaFilter.parse(text)
    except InputError:
        return None
