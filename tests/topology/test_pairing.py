"""Verdicts that need more than distances: why a far NIC can be right, and when nothing can be said."""

from __future__ import annotations

import pytest

from netkit.model.topology import PairingAnswer
from netkit.topology.effective import NcclSettings
from netkit.topology.nccl_xml import read_topology
from netkit.topology.view import TopologyView, view_of_topology
from tests.topology.synthetic_machines import AMD, MACHINES, gpu, nic, nvswitch, switch, system


def view(
    xml: str, settings: NcclSettings | None = None, used: dict[str, tuple[str, ...]] | None = None
) -> TopologyView:
    return view_of_topology(read_topology(xml, "x"), settings=settings, used=used)


def answers(seen: TopologyView) -> list[str]:
    return [gpu.answer.value for gpu in seen.pairing.gpus]


def finding_ids(seen: TopologyView) -> list[str]:
    return [finding.id for finding in seen.pairing.findings]


@pytest.mark.parametrize("links", [nvswitch(), ""])
def test_one_nic_for_every_second_gpu_is_a_design(links: str) -> None:
    """GPUs without a NIC of their own go through peers or the CPU; nobody is mispaired."""
    rows = [
        switch(
            f"0000:{n + 1}0:00.0",
            gpu(n, f"0000:{n + 1}1:00.0", links=links),
            *([nic(n // 2, f"0000:{n + 1}2:00.0")] if n % 2 == 0 else []),
        )
        for n in range(8)
    ]
    assert set(answers(view(system(rows[:4], rows[4:])))) == {"ok"}


def test_a_slow_management_port_beside_a_gpu_is_nobodys_nic() -> None:
    """Four GPUs far from one fast NIC and one of them near a slow one: fine, and the fast one is used."""
    rows = [switch(f"0000:{n}0:00.0", gpu(n, f"0000:{n}1:00.0")) for n in range(1, 5)]
    seen = view(
        system([*rows[:2], nic(0, "0000:81:00.0", 1_000)], [*rows[2:], nic(1, "0000:91:00.0", 200_000)], about=AMD)
    )
    assert set(answers(seen)) == {"ok"}
    assert {gpu.used for gpu in seen.pairing.gpus} == {("mlx5_1",)}


@pytest.mark.parametrize("machine", ["hgx", "dgx_a100", "mi300x", "shared"])
def test_missing_gpudirect_is_no_bad_slot(machine: str) -> None:
    """Without a peer-memory module NCCL picks NICs by NUMA node; that is one finding and no mispairing."""
    seen = view(MACHINES[machine], NcclSettings(gdr=False))
    assert set(answers(seen)) == {"ok"}
    assert finding_ids(seen) == ["gpudirect-off"]


def test_a_narrow_link_that_sends_a_gpu_to_its_neighbours_nic_is_found() -> None:
    """A NIC with four lanes: its GPU uses one that is nearer to another GPU."""
    xml = MACHINES["four_rails"].replace(
        '0000:22:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"',
        '0000:22:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="4"',
    )
    seen = view(xml)
    assert answers(seen)[0] == "mispaired"
    assert set(answers(seen)[1:]) == {"ok"}


def test_a_running_job_on_wrong_nics_is_found() -> None:
    """NICs that were seen in use are held against distances."""
    right = {gpu.gpu: gpu.used for gpu in view(MACHINES["hgx"]).pairing.gpus}
    wrong = right | {"gpu0": right["gpu5"], "gpu5": right["gpu0"]}
    assert set(answers(view(MACHINES["hgx"], used=right))) == {"ok"}
    seen = view(MACHINES["hgx"], used=wrong)
    assert [gpu.gpu for gpu in seen.pairing.gpus if gpu.answer is PairingAnswer.MISPAIRED] == ["gpu0", "gpu5"]


def test_a_nic_nobody_knows_is_unknown() -> None:
    """A job that uses a device the topology lacks gets no verdict."""
    assert answers(view(MACHINES["four_rails"], used={"gpu0": ("mlx5_77",)}))[0] != "ok"


@pytest.mark.parametrize("xml", [system([gpu(0, "0000:01:00.0")]), system([nic(0, "0000:01:00.0")])])
def test_half_a_machine_is_no_alarm(xml: str) -> None:
    """GPUs without NICs are unknown; NICs without GPUs have nobody to judge."""
    assert set(answers(view(xml))) <= {"unknown"}


def test_virtual_bridges_of_their_own_for_every_device_hide_the_switches() -> None:
    """A hypervisor that puts each device behind its own bridge makes all distances alike: unknown, with the reason."""
    devices = [gpu(n, f"0000:{n}1:00.0") for n in range(4)] + [nic(n, f"0000:{n}2:00.0") for n in range(4)]
    seen = view(system([switch(f"0000:{n:02x}:1f.0", one) for n, one in enumerate(devices)]))
    assert set(answers(seen)) == {"unknown"}
    assert "equally far" in seen.pairing.gpus[0].why


def test_a_virtual_bridge_over_a_gpu_and_its_nic_is_harmless() -> None:
    """The path does not cross the bridge's uplink, however slow it claims to be."""
    rows = [
        switch(f"0000:0{n}:1f.0", gpu(n, f"0000:{n}1:00.0"), nic(n, f"0000:{n}2:00.0"), speed="2.5 GT/s PCIe")
        for n in range(4)
    ]
    seen = view(system(rows))
    assert set(answers(seen)) == {"ok"}
    assert seen.matrix.reach["gpu0", "mlx5_0"].bandwidth == 48e9
