"""Where a mutant of one field is not natural: a scene in which a rule speaks, beside one where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from netkit.catalogue.platforms import Platform, PlatformGroup
from netkit.model.counter import Setting
from netkit.model.environment import Variable
from netkit.model.ethernet import Bond
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.rdma import LinkRate
from tests.checks.scenes import (
    HCAS,
    JOB,
    Scene,
    changed,
    environment,
    healthy,
    of,
    with_capability,
    with_device,
    with_gpu,
    with_netdev,
    with_port,
    with_rdma,
)

_GONE = Missing(reason=Reason.ABSENT, where="made-up")
_AMD = 0x1002
_BOND = Bond(mode="802.3ad 4", hash_policy="layer3+4 1", link_check=_GONE, active_member=_GONE, members=("rail0",))


@dataclass(frozen=True)
class Case:
    """One rule, a scene it has something to say about, and one it has not."""

    rule: str
    loud: Scene
    quiet: Scene


def cases(parent: Scene) -> Iterator[Case]:
    """Yield the cases of one healthy parent, which needs a fellow for the rule about gangs."""
    for rule, loud in _nodes(parent.now):
        yield Case(rule, replace(parent, now=loud), parent)
    for rule, more in _jobs():
        yield Case(rule, replace(parent, job=parent.job | more), parent)
    yield Case("R18", parent, replace(parent, job=parent.job | {"NCCL_IB_QPS_PER_CONNECTION": "4"}))
    files = ((Variable(name="NCCL_IB_TC", value="41", source="/etc/nccl.conf"),),)
    twice = replace(environment(JOB), files=files)
    yield Case("E02", replace(parent, wishes={"environment": twice}), parent)
    everywhere = parent.job | {"NCCL_NET_GDR_LEVEL": "SYS"}
    yield Case("E18", replace(parent, now=healthy(misplaced=(0,)), job=everywhere), replace(parent, job=everywhere))
    prefix = replace(parent, job=parent.job | {"NCCL_IB_HCA": "mlx5_1"})
    yield Case("N09", replace(prefix, now=_tenth(parent.now)), prefix)
    nics = of(parent.now.rdma_devices)
    many = tuple(replace(one, name=f"mlx5_{number}") for number, one in enumerate(nics * 5))
    every = replace(parent, job=parent.job | {"NCCL_IB_HCA": "mlx5"})
    yield Case("N10", replace(every, now=replace(parent.now, rdma_devices=many)), every)
    twins = with_rdma(parent.now, HCAS[1], node_guid=nics[0].node_guid)
    rails = parent.job | {"NCCL_CROSS_NIC": "0"}
    yield Case("E08", replace(parent, now=twins, job=rails), replace(parent, now=twins))
    yield from _platforms(parent)
    yield _split(parent)


def _tenth(node: NodeSnapshot) -> NodeSnapshot:
    def last(one: Any) -> bool:
        return bool(one.name == "mlx5_7")

    devices = changed(of(node.rdma_devices), last, lambda one: replace(one, name="mlx5_10"))
    return replace(node, rdma_devices=devices)


def _jobs() -> tuple[tuple[str, dict[str, str]], ...]:
    return (
        ("E06", {"NCCL_TOPO_FILE": ""}),
        ("G05", {"NCCL_NET_GDR_LEVEL": "LOC"}),
        ("T03", {"NCCL_IB_HCA": "=mlx5_0,mlx5_1"}),
    )


def _nodes(node: NodeSnapshot) -> Iterator[tuple[str, NodeSnapshot]]:
    nics = of(node.rdma_devices)
    nic = node.pci_device(nics[0].address)
    assert nic is not None
    yield "N11", with_netdev(node, "rail0", bond=_BOND)
    yield "G09", replace(node, host=replace(node.host, kernel="6.8.0-31"))
    trusting = {one.name: one for one in of(node.netdevs)}["rail0"]
    ecn = replace(trusting.congestion, notification_priorities=())
    yield "R11", with_netdev(node, "rail0", congestion=ecn)
    yield "R21", _one_network(node)
    yield "S03", _amd(node)
    slow = LinkRate(bytes_per_second=12.5e9, text="100 Gb/sec (4X EDR)")
    storage = node
    for name in HCAS[:2]:
        storage = with_port(storage, name, lambda one: replace(one, rate=slow))
    yield "T04", storage
    yield "T27", _strangled(storage)
    yield "T08", with_device(node, nic.address, current_link=replace(nic.current_link, width=8))
    guest = replace(node, host=replace(node.host, virtual_machine=True))
    yield "T14", with_capability(guest, nic.address, ats_enabled=False)
    address = replace(nic.address, function=0)
    twin = replace(nic.address, function=1)
    moved = with_rdma(node, HCAS[1], address=twin)
    narrow = replace(nic.max_link, width=8)
    yield "T26", with_device(moved, address, max_link=narrow)


def _strangled(node: NodeSnapshot) -> NodeSnapshot:
    """GPUs of one lane each: the slow NIC is then as good as a fast one, and nearer."""
    for one in of(node.pci_devices):
        if one.class_code >> 8 == 0x0302:
            lane = replace(one.max_link, width=1)
            node = with_device(node, one.address, max_link=lane, current_link=lane)
    return node


def _one_network(node: NodeSnapshot) -> NodeSnapshot:
    table = of(of(node.rdma_devices)[0].ports)[0].gid_table
    shared = with_port(node, HCAS[1], lambda one: replace(one, gid_table=table))
    everywhere = changed(
        node.host.sysctls, lambda one: one.name.endswith("all.arp_ignore"), lambda one: replace(one, value=0)
    )
    loose = (Setting(name="arp_ignore", value=0),)
    return with_netdev(replace(shared, host=replace(node.host, sysctls=everywhere)), "rail0", address_resolution=loose)


def _amd(node: NodeSnapshot) -> NodeSnapshot:
    def accelerator(one: Any) -> bool:
        return bool(one.class_code >> 8 == 0x0302)

    devices = changed(of(node.pci_devices), accelerator, lambda one: replace(one, vendor=_AMD))
    on = changed(node.host.sysctls, lambda one: one.name == "kernel.numa_balancing", lambda one: replace(one, value=1))
    return replace(node, pci_devices=devices, host=replace(node.host, sysctls=on))


def _platforms(parent: Scene) -> Iterator[Case]:
    gpus = tuple(one.address for one in of(parent.now.pci_devices) if one.class_code >> 8 == 0x0302)
    nics = tuple(one.address for one in of(parent.now.rdma_devices))
    pairs = tuple(PlatformGroup(numa=0, gpus=(gpu,), nics=(nic,)) for gpu, nic in zip(gpus, nics, strict=True))
    mine = Platform(
        id="made-up",
        name="Made up",
        source="made-up",
        gpu_model="made-up",
        gpus=len(gpus),
        nics=len(nics),
        nic_rate=50e9,
        ports_per_slot=1,
        pcie_gt_per_second=32.0,
        groups=pairs,
    )
    quiet = replace(parent, wishes={"platform": mine})
    crossed = tuple(replace(one, nics=(nic,)) for one, nic in zip(pairs, reversed(nics), strict=True))
    yield Case("T02", replace(parent, wishes={"platform": replace(mine, groups=crossed)}), quiet)
    yield Case("T21", replace(parent, wishes={"platform": replace(mine, gpus=len(gpus) + 1)}), quiet)


def _split(parent: Scene) -> Case:
    def domain(node: NodeSnapshot, clique: int) -> NodeSnapshot:
        for gpu in node.accelerators.gpus:
            fabric: Any = gpu.fabric
            node = with_gpu(node, gpu.index, fabric=replace(fabric, cluster="made-up", clique=clique))
        return node

    first, *_ = parent.fellows
    here = replace(parent, now=domain(parent.now, 1))
    return Case("J08", replace(here, fellows=(domain(first, 2),)), replace(here, fellows=(domain(first, 1),)))
