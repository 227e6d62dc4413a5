"""Paths and NIC choice as NCCL computes them, machine by machine, each with the rule it exercises."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netkit.errors import InputError
from netkit.model.pci import PciPath
from netkit.topology.effective import NcclSettings
from netkit.topology.hca_filter import HcaFilter
from netkit.topology.merging import MergeLevel
from netkit.topology.nccl_xml import read_topology
from netkit.topology.nic_choice import GpuChoice, choose, parse_gdr_level
from netkit.topology.paths import PathTable, matrix_of
from tests.topology.synthetic_machines import (
    AMD,
    GRACE,
    MACHINES,
    gpu,
    nic,
    nvswitch,
    pci,
    switch,
    system,
)

G = 1e9


def reach(xml: str, gpu_id: str, nic_name: str) -> tuple[str, float | None]:
    one = matrix_of(read_topology(xml, "x")).reach[gpu_id, nic_name]
    return one.path.name, None if one.bandwidth is None else round(one.bandwidth / G, 3)


def choices(xml: str, **more: object) -> dict[str, GpuChoice]:
    return {choice.gpu: choice for choice in choose(read_topology(xml, "x"), **more)}  # type: ignore[arg-type]


def effective(choice: GpuChoice, name: str) -> PciPath:
    return next(one.effective.type for one in choice.candidates if one.name == name)


@pytest.mark.parametrize(
    ("machine", "pair", "expected"),
    [
        ("hgx", ("gpu0", "mlx5_0"), ("PIX", 48.0)),
        ("hgx", ("gpu0", "mlx5_1"), ("PHB", 48.0)),
        ("hgx", ("gpu0", "mlx5_7"), ("SYS", 22.0)),
        ("hgx", ("gpu0", "mlx5_8"), ("PHB", 12.5)),
        ("dgx_a100", ("gpu0", "mlx5_1"), ("PIX", 24.0)),
        ("dgx_a100", ("gpu0", "mlx5_9"), ("SYS", 24.0)),
        ("mi300x", ("gpu0", "mlx5_0"), ("PXB", 48.0)),
        ("mi300x", ("gpu0", "mlx5_1"), ("PHB", 48.0)),
        ("mi300x", ("gpu0", "mlx5_4"), ("SYS", 22.0)),
        ("gb200", ("gpu0", "mlx5_1"), ("P2C", 48.0)),
        ("gb200", ("gpu0", "mlx5_2"), ("SYS", 6.0)),
    ],
)
def test_path_type_and_bandwidth(machine: str, pair: tuple[str, str], expected: tuple[str, float]) -> None:
    """Switches, host bridges, sockets and coherent links, with NCCL's figure for the narrowest of them."""
    assert reach(MACHINES[machine], *pair) == expected


@pytest.mark.parametrize(
    ("speed", "width", "gbytes"),
    [
        ("2.5 GT/s PCIe", 1, 0.188),
        ("8.0 GT/s PCIe", 16, 12.0),
        ("16 GT/s", 16, 24.0),
        ("32.0 GT/s PCIe", 8, 24.0),
        ("64.0 GT/s PCIe", 16, 50.0),
        ("Unknown", 16, 12.0),
        ("16.0 GT/s PCIe", 0, 24.0),
    ],
)
def test_pcie_bandwidth_follows_nccls_table(speed: str, width: int, gbytes: float) -> None:
    """An unknown speed counts as Gen3 and no width as sixteen lanes; the port itself caps at its rate."""
    xml = system(
        [
            switch(
                "0000:01:00.0",
                gpu(0, "0000:02:00.0", speed="64.0 GT/s PCIe"),
                nic(0, "0000:03:00.0", speed=speed, width=width),
            )
        ]
    )
    assert reach(xml, "gpu0", "mlx5_0")[1] == gbytes


@pytest.mark.parametrize(
    ("about", "gbytes"),
    [
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79"', 6.0),
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"', 10.0),
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"', 22.0),
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207"', 40.0),
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="173"', 40.0),
        ('arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49"', 16.0),
        ('arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1"', 24.0),
        ('arch="x86_64" vendor="AuthenticAMD" familyid="26" modelid="1"', 32.0),
        ('arch="ppc64"', 32.0),
        (GRACE, 6.0),
    ],
)
def test_inter_socket_bandwidth_follows_the_processor(about: str, gbytes: float) -> None:
    """What NCCL plans between sockets, by vendor, family and model."""
    xml = system([gpu(0, "0000:02:00.0")], [nic(0, "0000:03:00.0")], about=about)
    assert reach(xml, "gpu0", "mlx5_0") == ("SYS", gbytes)


def test_a_slow_near_nic_loses_to_a_fast_far_one() -> None:
    """Bandwidth comes first, distance second; the explanation says so."""
    xml = system(
        [switch("0000:01:00.0", gpu(0, "0000:02:00.0"), nic(0, "0000:03:00.0", 1_000))],
        [nic(1, "0000:04:00.0", 200_000)],
        about=AMD,
    )
    choice = choices(xml)["gpu0"]
    assert choice.chosen == ("mlx5_1",)
    assert any("mlx5_0 is nearer (PIX) but narrower" in why for why in choice.why)


def test_gpus_that_share_nics_start_at_mirrored_indices() -> None:
    """Four GPUs and four NICs under one switch: NICs 0, 2, 1, 3."""
    xml = system(
        [
            switch(
                "0000:01:00.0",
                *(gpu(n, f"0000:0{2 + n}:00.0") for n in range(4)),
                *(nic(n, f"0000:1{n}:00.0") for n in range(4)),
            )
        ]
    )
    assert [choice.chosen for choice in choices(xml).values()] == [
        ("mlx5_0",),
        ("mlx5_2",),
        ("mlx5_1",),
        ("mlx5_3",),
    ]


@pytest.mark.parametrize(
    ("gpus", "nics", "chosen"),
    [
        (2, 4, [("mlx5_0", "mlx5_1"), ("mlx5_2", "mlx5_3")]),
        (2, 1, [("mlx5_0",)] * 2),
        (2, 3, [("mlx5_0", "mlx5_1"), ("mlx5_2", "mlx5_0")]),
    ],
)
def test_nics_are_shared_out_among_local_gpus(gpus: int, nics: int, chosen: list[tuple[str, ...]]) -> None:
    """NICs per GPU are the local NICs over the local GPUs, rounded up."""
    xml = system(
        [
            switch(
                "0000:01:00.0",
                *(gpu(n, f"0000:0{2 + n}:00.0") for n in range(gpus)),
                *(nic(n, f"0000:1{n}:00.0") for n in range(nics)),
            )
        ]
    )
    assert [choice.chosen for choice in choices(xml).values()] == chosen


def test_the_netdevs_policy_changes_how_many() -> None:
    """MAX:1 takes one, ALL takes every local NIC."""
    xml = system([switch("0000:01:00.0", gpu(0, "0000:02:00.0"), *(nic(n, f"0000:1{n}:00.0") for n in range(4)))])
    assert len(choices(xml)["gpu0"].chosen) == 4
    assert choices(xml, settings=NcclSettings(most_nics=1))["gpu0"].chosen == ("mlx5_0",)
    assert len(choices(xml, settings=NcclSettings(most_nics=0))["gpu0"].chosen) == 4


def test_a_gpu_without_a_nic_goes_through_its_peer() -> None:
    """PXN: over NVLink to the GPU that has the NIC, rather than over the CPU."""
    xml = system(
        [
            switch("0000:01:00.0", gpu(0, "0000:02:00.0", links=nvswitch()), nic(0, "0000:03:00.0")),
            switch("0000:04:00.0", gpu(1, "0000:05:00.0", links=nvswitch())),
        ]
    )
    choice = choices(xml)["gpu1"]
    assert choice.candidates[0].relay == "gpu0"
    assert effective(choice, "mlx5_0") is PciPath.PXN
    assert choice.candidates[0].physical.type is PciPath.PHB
    assert effective(choices(xml, settings=NcclSettings(pxn=False))["gpu1"], "mlx5_0") is PciPath.PHB


def test_without_gpudirect_a_near_nic_is_used_over_the_cpu() -> None:
    """A missing peer-memory module is not a bad slot: the distance stays PIX, the path becomes PHB."""
    settings = NcclSettings(gdr=False)
    choice = choices(MACHINES["hgx"], settings=settings)["gpu0"]
    assert choice.chosen == ("mlx5_0",) or effective(choice, choice.chosen[0]) is PciPath.PHB
    own = next(one for one in choice.candidates if one.name == "mlx5_0")
    assert (own.physical.type, own.effective.type, own.gdr) == (PciPath.PIX, PciPath.PHB, False)


@pytest.mark.parametrize("said_by", ["gpu", "nic"])
def test_a_device_that_says_no_to_gpudirect_counts(said_by: str) -> None:
    """gdr="0" on either side sends the traffic over the CPU."""
    xml = system(
        [
            switch(
                "0000:01:00.0",
                gpu(0, "0000:02:00.0", gdr=0 if said_by == "gpu" else 1),
                nic(0, "0000:03:00.0", gdr="0" if said_by == "nic" else "1"),
            )
        ]
    )
    assert effective(choices(xml)["gpu0"], "mlx5_0") is PciPath.PHB


@pytest.mark.parametrize(("level", "gdr"), [("LOC", False), ("PIX", True), ("PXB", True), ("SYS", True), ("0", False)])
def test_the_gdr_level_sets_how_far_gpudirect_reaches(level: str, gdr: bool) -> None:
    """NCCL_NET_GDR_LEVEL by name or by the old numbers."""
    settings = NcclSettings(gdr_level=parse_gdr_level(level))
    own = next(one for one in choices(MACHINES["hgx"], settings=settings)["gpu0"].candidates if one.name == "mlx5_0")
    assert own.gdr is gdr


def test_coherent_machines_need_the_c2c_switch_for_gpudirect() -> None:
    """P2C is beyond the default level when NCCL_NET_GDR_C2C is 0."""
    for gdr_c2c in (True, False):
        choice = choices(MACHINES["gb200"], settings=NcclSettings(gdr_c2c=gdr_c2c))["gpu0"]
        assert next(one for one in choice.candidates if one.name == "mlx5_0").gdr is gdr_c2c


def test_two_levels_of_one_broadcom_switch_are_one() -> None:
    """PEX Gen5 shows two bridges for one crossbar; NCCL folds them, so PXB becomes PIX."""
    upper = 'vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x0001" '
    lower = 'vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x1001" '
    inner = switch("0000:02:00.0", gpu(0, "0000:03:00.0"), extra=lower)
    rows = (inner, nic(0, "0000:04:00.0"))
    assert reach(system([switch("0000:01:00.0", *rows, extra=upper)]), "gpu0", "mlx5_0")[0] == "PIX"
    assert reach(system([switch("0000:01:00.0", *rows)]), "gpu0", "mlx5_0")[0] == "PXB"


def test_ports_of_one_card_are_merged_and_named_apart() -> None:
    """Two functions of one device become one NIC of summed rate; the choice names both ports."""
    xml = system(
        [
            switch(
                "0000:01:00.0",
                gpu(0, "0000:02:00.0", speed="64.0 GT/s PCIe"),
                nic(0, "0000:03:00.0", 200_000),
                nic(1, "0000:03:00.1", 200_000),
            )
        ]
    )
    merged = choices(xml)["gpu0"]
    assert merged.chosen == ("mlx5_0", "mlx5_1")
    assert [(one.name, round(one.effective.bandwidth / G)) for one in merged.candidates] == [("mlx5_0+mlx5_1", 50)]
    assert len(choices(xml, merge=MergeLevel.LOC)["gpu0"].candidates) == 2


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("", ["mlx5_0", "mlx5_1", "mlx5_10"]),
        ("mlx5_1", ["mlx5_1", "mlx5_10"]),
        ("=mlx5_1", ["mlx5_1"]),
        ("^mlx5_1", ["mlx5_0"]),
        ("^=mlx5_1", ["mlx5_0", "mlx5_10"]),
        ("mlx5_0:1,mlx5_10", ["mlx5_0", "mlx5_10"]),
        ("mlx5_0:2", []),
        ("mlx5_0:1:0:0", ["mlx5_0"]),
    ],
)
def test_nccl_ib_hca_lets_through_what_nccl_would(text: str, passed: list[str]) -> None:
    """Prefix by default, = for exact names, ^ to exclude, ports and rails after colons."""
    rows = [nic(n, f"0000:0{n}:00.0", name=f"mlx5_{number}") for n, number in enumerate((0, 1, 10))]
    nics = read_topology(system(rows), "x").nics
    assert [one.name for one in nics if HcaFilter.parse(text).passes(one)] == passed


@pytest.mark.parametrize("text", ["mlx5 0", "mlx5_0:x", "a/b", ",".join(f"m{n}" for n in range(40))])
def test_a_filter_nccl_would_not_understand_is_refused(text: str) -> None:
    """One line, and never a silent empty filter."""
    with pytest.raises(InputError, match="NCCL_IB_HCA"):
        HcaFilter.parse(text)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_every_path_is_a_chain_of_links(name: str) -> None:
    """The links of a path join up, start at the GPU and end at the NIC."""
    topology = read_topology(MACHINES[name], name)
    table = PathTable(topology)
    for one in topology.gpus:
        for other in topology.nics:
            path = table.between(one.key, other.key)
            assert path.unbroken
            assert (path.vertices[0], path.vertices[-1]) == (one.key, other.key)
            assert path.bandwidth == min(link.bandwidth for link in path.links)


def test_published_files_pair_as_their_providers_say() -> None:
    """Two GPUs with two NICs on Azure NDv4, two GPUs with one on AWS p4d, all at PIX."""
    folder = os.environ.get("NETKIT_EXTRA_DATA")
    if not folder:
        pytest.skip("NETKIT_EXTRA_DATA names no folder with recordings")
    ndv4 = choices(Path(folder, "topo", "azure_ndv4-topo.xml").read_text())
    assert [choice.chosen[0][:4] for choice in ndv4.values()] == [f"010{n}" for n in range(1, 9)]
    p4d = choices(Path(folder, "topo", "aws_p4d-24xl-topo.xml").read_text())
    assert [choice.chosen[0][5:7] for choice in p4d.values()] == ["10", "10", "20", "20", "90", "90", "a0", "a0"]
    assert {effective(choice, choice.chosen[0]) for choice in (*ndv4.values(), *p4d.values())} == {PciPath.PIX}


def test_pci_devices_of_other_classes_are_no_nics() -> None:
    """A display controller of a management chip and an NVSwitch are neither GPU nor NIC."""
    others = [pci("0000:01:00.0", "0x030000", extra='vendor="0x1a03" '), pci("0000:02:00.0", "0x068000")]
    topology = read_topology(system([*others, gpu(0, "0000:03:00.0")]), "x")
    assert len(topology.gpus) == 1
    assert topology.nics == ()
