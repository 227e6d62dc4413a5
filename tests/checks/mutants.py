"""Single faults by the hundred, each in one place of a healthy made-up machine, with the rule that should name it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from netkit.model.counter import CodedText, Setting
from netkit.model.gpu import GpuEcc, SilentGpu, Throttle
from netkit.model.host import KernelEvent, KernelEventKind, Limit
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.optics import ModuleAlarm
from netkit.model.pci import PciAddress, PciLink
from netkit.model.pci_capabilities import PortType
from netkit.model.qos import AppSelector, Trust
from netkit.model.rdma import LinkRate
from tests.checks.scenes import (
    HCAS,
    Scene,
    answers,
    changed,
    counted,
    findings,
    healthy,
    of,
    with_bridging,
    with_capability,
    with_device,
    with_errors,
    with_events,
    with_gpu,
    with_gpus,
    with_link,
    with_netdev,
    with_port,
    with_rdma,
)

_GONE = Missing(reason=Reason.ABSENT, where="made-up")


@dataclass(frozen=True)
class Mutant:
    """One fault: where it was put, and which rule should find it."""

    rule: str
    what: str
    make: Callable[[Scene], Scene]


class Trial:
    """Judges mutants of one parent; what the intact parent shows is subtracted."""

    def __init__(self, parent: Scene) -> None:
        self._gang, self._alone = parent, replace(parent, fellows=())
        self._usual = findings(answers(self._gang)) | findings(answers(self._alone))

    def judge(self, mutant: Mutant) -> str:
        """Return `right`, `other` (another rule alone found it) or `missed`."""
        parent = self._gang if mutant.rule.startswith("J") else self._alone
        new = findings(answers(mutant.make(parent))) - self._usual
        if not new:
            return "missed"
        return "right" if mutant.rule in {rule for rule, _, _ in new} else "other"


def mutants(parent: Scene) -> Iterator[Mutant]:
    """Yield every single fault this file knows how to make out of a healthy parent."""
    node = parent.now
    yield from _pci(node)
    yield from _ports(node)
    yield from _roce(node)
    yield from _counters(node)
    yield from _host(node)
    yield from _gpus(node)
    yield from _job()
    if parent.fellows:
        yield from _gang(parent)


def _now(rule: str, what: str, change: Callable[[NodeSnapshot], NodeSnapshot]) -> Mutant:
    return Mutant(rule, what, lambda scene: replace(scene, now=change(scene.now)))


def _addresses(node: NodeSnapshot) -> tuple[list[PciAddress], list[PciAddress]]:
    gpus = [one.address for one in of(node.pci_devices) if one.class_code >> 8 == 0x0302]
    return gpus, [one.address for one in of(node.rdma_devices)]


def _pci(node: NodeSnapshot) -> Iterator[Mutant]:
    gpus, nics = _addresses(node)
    capabilities = {one.address: one for one in node.pci_capabilities}
    above = {one.address: one.chain[-1] for one in of(node.pci_devices) if one.address in {*gpus, *nics}}
    for address in dict.fromkeys(above.values()):
        one = capabilities[address]
        if one.port_type is PortType.DOWNSTREAM:
            for bit in ("request_redirect", "completion_redirect", "upstream_forwarding"):
                acs = _put(one.acs, **{bit: True})
                yield _now("T11", f"ACS {bit} at {address}", partial(with_capability, address=address, acs=acs))
            yield _now("T15", f"payload at {address}", partial(with_capability, address=address, max_payload_bytes=128))
    for address in (*gpus, *nics):
        device = node.pci_device(address)
        assert device is not None
        narrow, slow = replace(device.current_link, width=8), replace(device.current_link, speed_gt_per_second=16.0)
        yield _now("T07", f"x8 at {address}", partial(with_device, address=address, current_link=narrow))
        if address in nics:
            yield _now("T06", f"Gen4 at {address}", partial(with_device, address=address, current_link=slow))
            odd = replace(device.max_link, speed_gt_per_second=Missing(reason=Reason.UNSUPPORTED, where="speed"))
            yield _now("T09", f"no speed at {address}", partial(with_device, address=address, max_link=odd))
        other = 1 - device.numa_node if isinstance(device.numa_node, int) else 0
        yield _now("T05", f"NUMA of {address}", partial(with_device, address=address, numa_node=other))
        yield _now("T05", f"no NUMA at {address}", partial(with_device, address=address, numa_node=_GONE))
        yield _now("T13", f"IOMMU of {address}", partial(with_capability, address=address, iommu_domain="DMA-FQ"))
        yield _now("T15", f"payload of {address}", partial(with_capability, address=address, max_payload_bytes=512))
    for address in nics:
        bridge = of(node.pci_device(address).chain)[-1]  # type: ignore[union-attr]
        ancient = PciLink(speed_gt_per_second=2.5, width=1)
        yield _now("T10", f"bridge above {address}", partial(with_device, address=bridge, max_link=ancient))
        yield _now("T16", f"reads of {address}", partial(with_capability, address=address, max_read_request_bytes=128))
        yield _now("T17", f"order of {address}", partial(with_capability, address=address, relaxed_ordering=False))
    for index in range(len(nics)):
        yield Mutant("T01", f"NIC {index} in a wrong slot", partial(_misplaced, index=index))


def _misplaced(scene: Scene, index: int) -> Scene:
    return replace(scene, now=healthy(misplaced=(index,)))


def _ports(node: NodeSnapshot) -> Iterator[Mutant]:
    for name in HCAS:
        down = CodedText(code=1, text="DOWN")
        yield _now("N01", f"{name} down", partial(with_port, name=name, change=partial(_put, state=down)))
        slow = LinkRate(bytes_per_second=25e9, text="200 Gb/sec (2X NDR)")
        yield _now("N02", f"{name} slow", partial(with_port, name=name, change=partial(_put, rate=slow)))
        yield _now("N05", f"{name} firmware", partial(with_rdma, name=name, firmware="20.30.1004"))
        yield _now("R01", f"{name} without a GID", partial(with_port, name=name, change=_without_address))
        full = partial(_saturated, counter="link_downed", raw=255)
        yield _now("N16", f"{name} full counter", partial(with_port, name=name, change=full))
    interfaces = [one.interface for one in of(node.ethernet_links) if one.interface.startswith("rail")]
    for name in interfaces:
        alarm = (ModuleAlarm.TEMPERATURE_HIGH_ALARM,)
        yield _now("N17", f"{name} module alarm", partial(_module, name=name, alarms=alarm))
        yield _now("N17", f"{name} module hot", partial(_module, name=name, temperature_celsius=78.0))
        yield _now("N18", f"{name} dim lane", partial(_lane, name=name, received_watts=1e-6))
        yield _now("N18", f"{name} dark lane", partial(_lane, name=name, receive_signal_lost=True))
        yield _now("N14", f"{name} queue", partial(with_netdev, name=name, queue_length=1000))


def _saturated(port: Any, counter: str, raw: int) -> Any:
    counters = changed(of(port.counters), lambda one: one.name == counter, partial(_put, raw=raw))
    return replace(port, counters=counters)


def _without_address(port: Any) -> Any:
    kept = tuple(gid for gid in port.gid_table.gids if "ffff" not in gid.gid)
    return replace(port, gid_table=replace(port.gid_table, gids=kept))


def _module(node: NodeSnapshot, name: str, **fields: object) -> NodeSnapshot:
    return with_link(node, name, lambda link: replace(link, module=_put(link.module, **fields)))


def _lane(node: NodeSnapshot, name: str, **fields: object) -> NodeSnapshot:
    def change(link: Any) -> Any:
        first, *rest = link.module.lanes
        return replace(link, module=replace(link.module, lanes=(replace(first, **fields), *rest)))

    return with_link(node, name, change)


def _roce(node: NodeSnapshot) -> Iterator[Mutant]:
    links = [one for one in of(node.ethernet_links) if one.interface.startswith("rail")]
    for link in links:
        name, dcb = link.interface, link.bridging
        netdev = node.netdev(name)
        assert netdev is not None
        congestion: Any = netdev.congestion
        yield _now("R03", f"{name} MTU", partial(with_netdev, name=name, mtu_bytes=1500))
        yield _now("R04", f"{name} larger MTU", partial(with_netdev, name=name, mtu_bytes=4500))
        yield _now("R05", f"{name} trust", partial(with_bridging, name=name, trust=(Trust.PCP,)))
        off = replace(dcb.flow_control, enabled=(False,) * 8)
        yield _now("R06", f"{name} PFC off", partial(with_bridging, name=name, flow_control=off))
        other = replace(dcb.flow_control, enabled=tuple(number == 5 for number in range(8)))
        yield _now("R06", f"{name} PFC on 5", partial(with_bridging, name=name, flow_control=other))
        every = replace(dcb.flow_control, enabled=(True,) * 8)
        yield _now("R07", f"{name} PFC on all", partial(with_bridging, name=name, flow_control=every))
        yield _now("R06", f"{name} DSCP 26", partial(with_bridging, name=name, app_priorities=_remapped(dcb, 26, 0)))
        for side in ("notification_priorities", "reaction_priorities"):
            without = tuple(Setting(name=str(p), value=int(p != 3)) for p in range(8))
            ecn = _put(netdev.congestion, **{side: without})
            yield _now("R08", f"{name} ECN {side}", partial(with_netdev, name=name, congestion=ecn))
        marks = tuple(
            Setting(name=one.name, value=3 if one.name == "cnp_802p_prio" else one.value)
            for one in congestion.notification
        )
        cnp = _put(congestion, notification=marks)
        yield _now("R09", f"{name} CNP on 3", partial(with_netdev, name=name, congestion=cnp))
        shared = replace(dcb.buffers, buffer_of_priority=(0,) * 8)
        yield _now("R20", f"{name} shared buffer", partial(with_bridging, name=name, buffers=shared))
        empty = replace(dcb.buffers, size_bytes=(524288, 0, 0, 0, 0, 0, 0, 0))
        yield _now("R20", f"{name} empty buffer", partial(with_bridging, name=name, buffers=empty))
        for way in ("receives", "sends"):
            pause = replace(link.pause, **{way: True})
            yield _now("R10", f"{name} {way} pause", partial(with_link, name=name, change=partial(_put, pause=pause)))
        both = ("host", "firmware", "ieee")
        yield _now("R23", f"{name} two owners", partial(with_bridging, name=name, negotiated_by=both))


def _put(thing: Any, **fields: object) -> Any:
    return replace(thing, **fields)


def _remapped(dcb: Any, dscp: int, priority: int) -> tuple[Any, ...]:
    def hit(one: Any) -> bool:
        return one.selector is AppSelector.DSCP and one.protocol == dscp

    return changed(dcb.app_priorities, hit, lambda one: replace(one, priority=priority))


_RETRIES = ("packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "out_of_sequence")
_DRIVER = (
    ("R14", "rx_discards_phy", 400),
    ("R14", "rx_prio3_discards", 400),
    ("N04", "rx_symbol_err_phy", 400),
    ("R15", "tx_pause_storm_error_events", 1),
    ("R15", "tx_pause_storm_warning_events", 1),
    ("R16", "rx_prio3_pause_duration", 6_000_000),
    ("R16", "tx_prio3_pause_duration", 6_000_000),
)


def _counters(node: NodeSnapshot) -> Iterator[Mutant]:
    for name in HCAS:
        for counter in _RETRIES:
            grow = partial(_hardware, counter=counter, more=6000)
            yield _now("R17", f"{name} {counter}", partial(with_port, name=name, change=grow))
        drop = partial(_hardware, counter="out_of_buffer", more=600)
        yield _now("R14", f"{name} out_of_buffer", partial(with_port, name=name, change=drop))
    for link in of(node.ethernet_links):
        if link.interface.startswith("rail"):
            for rule, counter, more in _DRIVER:
                grow = partial(_driver, counter=counter, more=more)
                what = f"{link.interface} {counter}"
                yield _now(rule, what, partial(with_link, name=link.interface, change=grow))
            blocks = replace(link.error_correction, uncorrectable_blocks=40)
            change = partial(_put, error_correction=blocks)
            yield _now("N04", f"{link.interface} blocks", partial(with_link, name=link.interface, change=change))
    gpus, nics = _addresses(node)
    for errors in node.pci_errors:
        if errors.address in {*gpus, *nics}:
            for group in ("correctable", "fatal"):
                grown = counted(getattr(errors, group), "BadTLP", 9)
                yield _now("T20", f"{group} of {errors.address}", partial(_errors, errors.address, group, grown))


def _hardware(port: Any, counter: str, more: int) -> Any:
    return replace(port, hw_counters=counted(port.hw_counters, counter, more))


def _driver(link: Any, counter: str, more: int) -> Any:
    return replace(link, driver_statistics=counted(link.driver_statistics, counter, more))


def _errors(address: PciAddress, group: str, grown: object, node: NodeSnapshot) -> NodeSnapshot:
    return with_errors(node, address, **{group: grown})


def _event(kind: KernelEventKind, code: int | Missing, text: str, address: PciAddress | Missing) -> KernelEvent:
    return KernelEvent(
        kind=kind, seconds_since_boot=4000.0, address=address, interface=_GONE, code=code, text=f"made-up: {text}"
    )


def _logged(node: NodeSnapshot, events: tuple[KernelEvent, ...]) -> NodeSnapshot:
    return with_events(node, *events)


def _host(node: NodeSnapshot) -> Iterator[Mutant]:
    gpus, nics = _addresses(node)
    for gpu in gpus:
        for xid in (48, 63, 79, 119):
            event = _event(KernelEventKind.XID, xid, f"Xid {xid}", gpu)
            yield _now("S01", f"Xid {xid} of {gpu}", partial(_logged, events=(event,)))
    for nic in nics:
        for rule, kind in (
            ("N06", KernelEventKind.SLOT_POWER),
            ("N07", KernelEventKind.MODULE_TEMPERATURE),
            ("N15", KernelEventKind.MLX5_HEALTH),
            ("N15", KernelEventKind.MLX5_TIMEOUT),
        ):
            event = _event(kind, _GONE, kind.value, nic)
            yield _now(rule, f"{kind.value} of {nic}", partial(_logged, events=(event,)))
        lost = [_event(KernelEventKind.LINK_DOWN, _GONE, "Link down", nic)] * 5
        yield _now("N03", f"flaps of {nic}", partial(_logged, events=tuple(lost)))
    guest = replace(node.host, virtual_machine=True)
    yield _now("T12", "a virtual machine", lambda one: replace(one, host=guest))
    peer = _event(KernelEventKind.PEERMEM, _GONE, "nvidia-peermem", _GONE)
    yield _now("G02", "peermem", partial(_logged, events=(peer,)))
    old = replace(node.host, modules=tuple(m for m in node.host.modules if m.name != "nvidia_peermem"), kernel="5.4.0")
    yield _now("G01", "no way to GPU memory", lambda one: replace(one, host=old))
    pod = replace(
        node.host,
        limits=(Limit(name="Max locked memory", soft=65536, hard=65536),),
        control_group=_put(node.host.control_group, path="/kubepods.slice/x"),
    )
    yield _now("G06", "locked memory in a pod", lambda one: replace(one, host=pod))


def _gpus(node: NodeSnapshot) -> Iterator[Mutant]:
    for gpu in node.accelerators.gpus:
        index = gpu.index
        for number in (0, 9, 17):
            links = changed(of(gpu.links), partial(_is, number), partial(_put, active=False))
            yield _now("T22", f"gpu{index} link {number}", partial(with_gpu, index=index, links=links))
        waiting = _put(gpu.fabric, state="in-progress")
        yield _now("T23", f"gpu{index} fabric", partial(with_gpu, index=index, fabric=waiting))
        for reason in (Throttle.HARDWARE_SLOWDOWN, Throttle.HARDWARE_THERMAL, Throttle.HARDWARE_POWER_BRAKE):
            yield _now("S04", f"gpu{index} {reason}", partial(with_gpu, index=index, throttle=(reason,)))
        for fault in ("uncorrected", "remap_pending", "remap_failed"):
            ecc: GpuEcc = _put(gpu.ecc, **{fault: True if fault != "uncorrected" else 2})
            yield _now("S05", f"gpu{index} {fault}", partial(with_gpu, index=index, ecc=ecc))
        slow = replace(gpu.pcie, generation=3)
        yield _now("S07", f"gpu{index} Gen3 under load", partial(with_gpu, index=index, pcie=slow))
        silent = SilentGpu(index=index, uuid=gpu.uuid, address=gpu.address, lost=True, why=_GONE)
        yield _now("S06", f"gpu{index} lost", partial(_lost, index=index, silent=silent))


def _is(number: int, one: Any) -> bool:
    return bool(one.index == number)


def _lost(node: NodeSnapshot, index: int, silent: SilentGpu) -> NodeSnapshot:
    return with_gpus(node, lambda gpus: tuple(one for one in gpus if one.index != index), silent=(silent,))


_JOBS = (
    ("E01", {"NCCL_IB_GID_IDX": "3"}),
    ("E01", {"NCCL_IB_HCAS": "mlx5"}),
    ("E01", {"NCCL_SOCKET_IFNAMES": "eth0"}),
    ("E01", {"NCCL_IB_QPS_PER_CONECTION": "4"}),
    ("E01", {"NCCL_CROSSNIC": "1"}),
    ("E01", {"NCCL_NET_GDRLEVEL": "PHB"}),
    ("E01", {"NCCL_IB_TIMOUT": "22"}),
    ("E01", {"NCCL_P2P_NET_CHUNK_SIZE": "524288"}),
    ("E05", {"NCCL_CHUNK_SIZE": "1048576"}),
    ("E05", {"NCCL_CHUNK_SIZE": "0x200000"}),
    ("E05", {"NCCL_CHUNK_SIZE": "4194304"}),
    ("E07", {"NCCL_IB_DISABLE": "1"}),
    ("E07", {"NCCL_P2P_DISABLE": "1"}),
    ("E07", {"NCCL_SHM_DISABLE": "1"}),
    ("E07", {"NCCL_NET": "Socket"}),
    ("E10", {"NCCL_IB_TIMEOUT": "0"}),
    ("E10", {"NCCL_IB_TIMEOUT": "26"}),
    ("E10", {"NCCL_IB_RETRY_CNT": "0"}),
    ("E11", {"NCCL_CUMEM_ENABLE": "0", "NCCL_MNNVL_ENABLE": "1"}),
    ("E12", {"NCCL_SOCKET_IFNAME": "=eth99"}),
    ("E12", {"NCCL_SOCKET_IFNAME": "ens,eno"}),
    ("E17", {"NCCL_CHECKS_DISABLE": "1"}),
    ("E17", {"NCCL_TREE_THRESHOLD": "0"}),
    ("E17", {"NCCL_MIN_NRINGS": "8"}),
    ("E03", {"NCCL_BUFFSIZE": "8388608"}),
    ("E03", {"NCCL_ALGO": "Ring"}),
    ("E04", {"NCCL_IB_GID_INDEX": "3"}),
    ("E09", {"NCCL_IB_SPLIT_DATA_ON_QPS": "1"}),
    ("E20", {"NCCL_IB_TIMEOUT": "64"}),
    ("E20", {"NCCL_IB_TC": "300"}),
    ("E20", {"NCCL_BUFFSIZE": "8M"}),
    ("E20", {"NCCL_CROSS_NIC": "3"}),
    ("E20", {"NCCL_IB_QPS_PER_CONNECTION": "four"}),
    ("E20", {"NCCL_NET_GDR_LEVEL": "NEAR"}),
    ("E21", {"NCCL_IB_OOO_RQ": "1"}),
    ("E21", {"NCCL_NETDEVS_POLICY": "MAX:1"}),
    ("E22", {"NCCL_PROTO": "LL128"}),
    ("E22", {"NCCL_PROTO": "LL,LL128,Simple"}),
    ("N08", {"NCCL_IB_HCA": "=mlx5_77"}),
    ("N08", {"NCCL_IB_HCA": "bnxt_re"}),
    ("N08", {"NCCL_IB_HCA": "^mlx5"}),
    ("R02", {"NCCL_IB_GID_INDEX": "0"}),
    ("R02", {"NCCL_IB_GID_INDEX": "11"}),
    ("R06", {"NCCL_IB_TC": "0"}),
    ("R06", {"NCCL_IB_TC": "184"}),
    ("R06", {"NCCL_IB_TC": "64"}),
    ("R12", {"NCCL_IB_TC": "104"}),
    ("R13", {"NCCL_IB_FIFO_TC": "32"}),
    ("T17", {"NCCL_IB_PCI_RELAXED_ORDERING": "0"}),
)


def _set(scene: Scene, settings: dict[str, str]) -> Scene:
    return replace(scene, job=scene.job | settings)


def _job() -> Iterator[Mutant]:
    for rule, settings in _JOBS:
        what = " ".join(f"{name}={value}" for name, value in settings.items())
        yield Mutant(rule, what, partial(_set, settings=settings))
    for name in HCAS:
        rest = "=" + ",".join(other for other in HCAS if other != name)
        yield Mutant("N08", f"{name} left out", partial(_set, settings={"NCCL_IB_HCA": rest}))


def _gang(parent: Scene) -> Iterator[Mutant]:
    faults: tuple[tuple[str, str, Callable[[NodeSnapshot], NodeSnapshot]], ...] = (
        ("J01", "device names", _renamed),
        ("J04", "kernel", lambda one: replace(one, host=replace(one.host, kernel="6.8.0-31"))),
        ("J04", "driver", _other_driver),
        ("J04", "firmware", _other_firmware),
        ("J05", "MTU", _every_mtu),
        ("J05", "trust", _every_trust),
        ("J05", "PFC", _every_pfc),
        ("J10", "power limit", partial(_every_gpu, field="power", inner="limit_watts", value=500.0)),
        ("J10", "clock", partial(_every_gpu, field="clocks", inner="max_graphics_hertz", value=1_400_000_000)),
        ("J11", "a port down", partial(with_port, name="mlx5_3", change=_down)),
        ("J12", "rates", _every_rate),
    )
    for number in range(len(parent.fellows)):
        for rule, what, change in faults:
            yield Mutant(rule, f"{what} of n{number + 1}", partial(_fellow, number=number, change=change))


def _fellow(scene: Scene, number: int, change: Callable[[NodeSnapshot], NodeSnapshot]) -> Scene:
    fellows = list(scene.fellows)
    fellows[number] = change(fellows[number])
    return replace(scene, fellows=tuple(fellows))


def _renamed(node: NodeSnapshot) -> NodeSnapshot:
    def change(one: Any) -> Any:
        return replace(one, name="mlx5_9")

    return replace(node, rdma_devices=changed(of(node.rdma_devices), lambda one: one.name == "mlx5_7", change))


def _down(port: Any) -> Any:
    return replace(port, state=CodedText(code=1, text="DOWN"))


def _other_driver(node: NodeSnapshot) -> NodeSnapshot:
    modules = changed(
        node.host.modules, lambda one: one.name == "nvidia", lambda one: replace(one, version="550.54.15")
    )
    return replace(node, host=replace(node.host, modules=modules))


def _other_firmware(node: NodeSnapshot) -> NodeSnapshot:
    for name in HCAS:
        node = with_rdma(node, name, firmware="28.36.1010")
    return node


def _rails(node: NodeSnapshot) -> list[str]:
    return [one.name for one in of(node.netdevs) if one.name.startswith("rail")]


def _every_mtu(node: NodeSnapshot) -> NodeSnapshot:
    for name in _rails(node):
        node = with_netdev(node, name, mtu_bytes=4200)
    return node


def _every_trust(node: NodeSnapshot) -> NodeSnapshot:
    for name in _rails(node):
        node = with_bridging(node, name, trust=(Trust.PCP,))
    return node


def _every_pfc(node: NodeSnapshot) -> NodeSnapshot:
    for link in of(node.ethernet_links):
        if link.interface.startswith("rail"):
            moved = replace(link.bridging.flow_control, enabled=tuple(number == 4 for number in range(8)))
            node = with_bridging(node, link.interface, flow_control=moved)
    return node


def _every_rate(node: NodeSnapshot) -> NodeSnapshot:
    slow = LinkRate(bytes_per_second=25e9, text="200 Gb/sec (4X HDR)")
    for name in HCAS:
        node = with_port(node, name, lambda one: replace(one, rate=slow))
    return node


def _every_gpu(node: NodeSnapshot, field: str, inner: str, value: float) -> NodeSnapshot:
    def change(gpu: Any) -> Any:
        return replace(gpu, **{field: replace(getattr(gpu, field), **{inner: value})})

    return with_gpus(node, lambda gpus: tuple(map(change, gpus)))
