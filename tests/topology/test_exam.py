"""The engine against NCCL's own steps: path types, bandwidths and NIC choice of machines in every published shape."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.model.topology import PairingAnswer
from netkit.topology.merging import MergeLevel
from netkit.topology.nccl_xml import read_topology
from netkit.topology.nic_choice import choose
from netkit.topology.paths import matrix_of
from netkit.topology.view import view_of_topology
from tests.topology import exam_machines, synthetic_machines
from tests.topology.exam_machines import PEX_GEN4, ROME, SAPPHIRE, Builder, both_ways, system
from tests.topology.nccl_oracle import Oracle

Paths = dict[tuple[str, str], tuple[str, float]]
XML = {name: make() for name, make in exam_machines.MACHINES.items()} | dict(synthetic_machines.MACHINES)


def assert_same_paths(ours: Paths, oracle: Oracle) -> None:
    words = {pair: word for pair, (word, _) in ours.items()}
    assert words == {pair: word for pair, (word, _) in oracle.physical.items()}
    for pair, (_, bandwidth) in oracle.physical.items():
        assert ours[pair][1] == pytest.approx(bandwidth), pair


@pytest.mark.parametrize("name", XML)
def test_paths_are_those_of_nccl(name: str) -> None:
    """Type and bandwidth from every GPU to every NIC."""
    oracle, matrix = Oracle(XML[name]), matrix_of(read_topology(XML[name], name))
    ours = {pair: (reach.path.name, reach.bandwidth or 0.0) for pair, reach in matrix.reach.items()}
    assert_same_paths(ours, oracle)


@pytest.mark.parametrize("name", XML)
def test_nics_are_those_nccl_chooses(name: str) -> None:
    """In the order the channels of each GPU use them; ports are not merged here."""
    oracle = Oracle(XML[name])
    ours = {choice.gpu: list(choice.chosen) for choice in choose(read_topology(XML[name], name), merge=MergeLevel.LOC)}
    assert ours == {gpu.name: oracle.chosen(gpu) for gpu in oracle.gpus}


@pytest.mark.parametrize("name", XML)
def test_no_healthy_machine_is_called_mispaired(name: str) -> None:
    """These are published as they should be."""
    view = view_of_topology(read_topology(XML[name], name))
    assert [gpu.gpu for gpu in view.pairing.gpus if gpu.answer is PairingAnswer.MISPAIRED] == []


@st.composite
def machines(draw: st.DrawFn) -> str:
    """One to three sockets of switches in switches, GPUs and NICs wherever there is room, links between some GPUs."""
    gpus, nics = (
        draw(st.permutations(range(draw(st.integers(1, 5))))),
        draw(st.permutations(range(draw(st.integers(1, 5))))),
    )
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(gpus)] * 2, st.integers(1, 4)), max_size=6))
    make = Builder("gfx942", both_ways(*(pair for pair in pairs if pair[0] != pair[1])), gdr=draw(st.integers(0, 1)))
    speeds = st.sampled_from(["8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"])
    makes = [(make.gpu, gpu) for gpu in gpus] + [(make.nic, nic) for nic in nics]
    rows: dict[int, list[str]] = {}
    for build, number in draw(st.permutations(makes)):
        device = build(number, speed=draw(speeds)) if build == make.gpu else _nic(make, number, draw)
        for _ in range(draw(st.integers(0, 2))):
            device = make.bridge(device, speed=draw(speeds))
        below = rows.setdefault(draw(st.integers(0, 2)), [])
        joined = draw(st.booleans())
        if below and joined:
            device = make.bridge(device, below.pop(), speed=draw(speeds), kind=PEX_GEN4 if draw(st.booleans()) else ())
        below.append(device)
    return system(draw(st.sampled_from([ROME, SAPPHIRE])), rows)


def _nic(make: Builder, number: int, draw: st.DrawFn) -> str:
    mbps = draw(st.sampled_from([100_000, 200_000, 400_000]))
    return make.nic(number, mbps=mbps, speed=draw(st.sampled_from(["16.0 GT/s PCIe", "32.0 GT/s PCIe"])))


@settings(max_examples=150, deadline=None)
@given(machines())
def test_any_machine_is_seen_as_nccl_sees_it(xml: str) -> None:
    """Paths and choices of machines nobody built."""
    oracle, topology = Oracle(xml), read_topology(xml, "any")
    ours = {pair: (reach.path.name, reach.bandwidth or 0.0) for pair, reach in matrix_of(topology).reach.items()}
    assert_same_paths(ours, oracle)
    chosen = {choice.gpu: list(choice.chosen) for choice in choose(topology, merge=MergeLevel.LOC)}
    assert chosen == {gpu.name: oracle.chosen(gpu) for gpu in oracle.gpus}
