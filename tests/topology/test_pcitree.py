"""From what sysfs shows to NCCL's graph: every second bridge, the lower speed of both ends, NUMA nodes as CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress, PciDevice, PciLink, PciPath
from netkit.model.topology import Cpu, PairingAnswer
from netkit.topology.paths import matrix_of
from netkit.topology.pcitree import GpuFact, RdmaFunction, topology_of
from netkit.topology.view import view_of_topology

ABSENT = Missing(reason=Reason.ABSENT, where="synthetic")
INTEL = Cpu(key="", numa=None, arch="x86_64", vendor="GenuineIntel", family=6, model=143)


def at(text: str) -> PciAddress:
    return PciAddress.parse(text)


def device(
    address: str,
    chain: Sequence[str] = (),
    kind: int = 0x060400,
    vendor: int = 0x15B3,
    numa: int | Missing = 0,
    speed: float | Missing = 32.0,
    width: int | Missing = 16,
) -> PciDevice:
    link = PciLink(speed_gt_per_second=speed, width=width)
    return PciDevice(
        address=at(address),
        root=f"pci0000:{(chain[0] if chain else address)[5:7]}",
        chain=tuple(map(at, chain)),
        class_code=kind,
        vendor=vendor,
        device=0x1234,
        subsystem_vendor=ABSENT,
        subsystem_device=ABSENT,
        numa_node=numa,
        driver=ABSENT,
        current_link=link,
        max_link=link,
    )


def rail(bus: int, numa: int | Missing = 0) -> list[PciDevice]:
    """Root port, switch with two downstream ports, a GPU below one and a NIC below the other."""
    root, up = f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0"
    one, two = f"0000:{bus + 2:02x}:00.0", f"0000:{bus + 2:02x}:01.0"
    gpu = device(f"0000:{bus + 3:02x}:00.0", (root, up, one), 0x030200, 0x10DE, numa)
    nic = device(f"0000:{bus + 4:02x}:00.0", (root, up, two), 0x020700, 0x15B3, numa)
    return [device(root), device(up, (root,)), device(one, (root, up)), device(two, (root, up)), gpu, nic]


def port(bus: int, name: str, rate: float | Missing = 50e9) -> RdmaFunction:
    return RdmaFunction(address=at(f"0000:{bus + 4:02x}:00.0"), name=name, rate=rate)


BUSES = (0x10, 0x30, 0x50, 0x70)


def node() -> tuple[list[PciDevice], list[RdmaFunction]]:
    devices = [one for number, bus in enumerate(BUSES) for one in rail(bus, number // 2)]
    return devices, [port(bus, f"mlx5_{number}") for number, bus in enumerate(BUSES)]


def test_a_switch_is_one_vertex_and_its_ports_none() -> None:
    """A GPU and a NIC below two ports of one switch are PIX, as NCCL sees them."""
    devices, ports = node()
    matrix = matrix_of(topology_of(devices, ports, "sysfs", processor=INTEL))
    assert {(gpu, nic): reach.path.name for (gpu, nic), reach in matrix.reach.items() if gpu == "gpu0"} == {
        ("gpu0", "mlx5_0"): "PIX",
        ("gpu0", "mlx5_1"): "PHB",
        ("gpu0", "mlx5_2"): "SYS",
        ("gpu0", "mlx5_3"): "SYS",
    }
    assert matrix.reach["gpu0", "mlx5_1"].label == "NODE"
    assert matrix.reach["gpu0", "mlx5_0"].bandwidth == 48e9


def test_a_whole_node_is_judged() -> None:
    """The view of a node read from sysfs pairs each GPU with the NIC under its switch."""
    devices, ports = node()
    view = view_of_topology(topology_of(devices, ports, "sysfs", processor=INTEL))
    assert [gpu.used for gpu in view.pairing.gpus] == [(f"mlx5_{number}",) for number in range(4)]
    assert {gpu.answer for gpu in view.pairing.gpus} == {PairingAnswer.OK}


def test_a_nic_in_a_wrong_slot_is_named() -> None:
    """One NIC on a root port of the other socket: its GPU is mispaired, the other three are not."""
    devices, ports = node()
    stray = device("0000:90:00.0", ("0000:8f:01.0",), 0x020700, 0x15B3, numa=1)
    moved = [one for one in devices if one.address != ports[0].address]
    ports[0] = RdmaFunction(address=stray.address, name="mlx5_0", rate=50e9)
    view = view_of_topology(topology_of([*moved, stray], ports, "sysfs", processor=INTEL))
    assert [gpu.answer.value for gpu in view.pairing.gpus] == ["mispaired", "ok", "ok", "ok"]


def test_a_virtual_machine_without_switches_is_unknown() -> None:
    """NUMA -1 and every device at the root: no verdict, and the reason."""
    gpus = [device(f"0000:0{n}:00.0", (), 0x030200, 0x10DE, -1) for n in range(1, 5)]
    nics = [device(f"0000:1{n}:00.0", (), 0x020700, 0x15B3, -1) for n in range(1, 5)]
    ports = [RdmaFunction(address=one.address, name=f"mlx5_{n}", rate=50e9) for n, one in enumerate(nics)]
    view = view_of_topology(topology_of([*gpus, *nics], ports, "sysfs"))
    assert {gpu.answer for gpu in view.pairing.gpus} == {PairingAnswer.UNKNOWN}
    assert "no PCIe switch" in view.pairing.gpus[0].why


@pytest.mark.parametrize(
    ("nic", "above", "gbytes"),
    [((32.0, 16), (32.0, 16), 48.0), ((32.0, 16), (16.0, 16), 24.0), ((32.0, 8), (32.0, 16), 24.0)],
)
def test_a_link_has_the_speed_of_its_slower_end(
    nic: tuple[float, int], above: tuple[float, int], gbytes: float
) -> None:
    """NCCL takes the lower maximum of a device and the port above it."""
    devices, ports = node()
    slow = {"0000:14:00.0": nic, "0000:12:01.0": above}
    links = {at(name): PciLink(speed_gt_per_second=rate, width=lanes) for name, (rate, lanes) in slow.items()}
    changed = [replace(one, max_link=links.get(one.address, one.max_link)) for one in devices]
    matrix = matrix_of(topology_of(changed, ports, "sysfs"))
    assert matrix.reach["gpu0", "mlx5_0"].bandwidth == gbytes * 1e9


def test_what_the_driver_names_and_sysfs_lacks_is_a_problem() -> None:
    """A GPU or port without a PCI device leaves a partial graph; a port without a rate has none."""
    devices, ports = node()
    gone = {at("0000:ee:00.0"): GpuFact(index=9)}
    lost = RdmaFunction(address=at("0000:ef:00.0"), name="mlx5_9", rate=50e9)
    dumb = RdmaFunction(address=ports[0].address, name="mlx5_0", rate=ABSENT)
    topology = topology_of(devices, [dumb, *ports[1:], lost], "sysfs", gpus=gone)
    assert topology.partial
    assert len(topology.problems) == 3
    assert topology.nics[0].rate is None


def test_nvlinks_to_switches_open_the_way_through_peers() -> None:
    """With NVLink known, a GPU without a near NIC uses its peer's."""
    devices, ports = node()
    facts = {
        at(f"0000:{bus + 3:02x}:00.0"): GpuFact(index=number, compute_capability=90, nvlinks=18)
        for number, bus in enumerate(BUSES)
    }
    view = view_of_topology(topology_of(devices, ports[:3], "sysfs", gpus=facts, processor=INTEL))
    last = view.choices[3]
    assert {one.effective.type for one in last.candidates} <= {PciPath.PXN, PciPath.PHB}
    assert view.pairing.gpus[3].answer is PairingAnswer.MISPAIRED
