"""The busbw to expect, held against published readings, and its behaviour where nobody published any."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.catalogue.bandwidth import GPU_MODELS, READINGS, PublishedReading
from netkit.catalogue.platforms import platform, platforms
from netkit.errors import InputError
from netkit.topology.expect import Expectation, Slot, expect, shape_of_platform
from netkit.topology.nccl_xml import read_topology
from netkit.topology.node_shape import shape_of_topology
from netkit.topology.view import view_of_topology
from tests.topology.synthetic_machines import MACHINES, gpu, nic, system

G = 1e9
LARGE = 8 << 30
PREDICTABLE = [name for name, one in platforms().items() if one.gpu_model in GPU_MODELS]


def of_reading(reading: PublishedReading) -> Expectation:
    shape = shape_of_platform(platform(reading.platform), reading.gpus_per_node, reading.nics_per_node)
    return expect(shape, reading.nodes, LARGE)


def of_xml(xml: str, nodes: int, platform_name: str | None = None) -> Expectation:
    view = view_of_topology(read_topology(xml, "x"))
    lent = platform(platform_name) if platform_name else view.platform
    assert view.topology is not None
    return expect(shape_of_topology(view.topology, view.choices, lent), nodes, LARGE)


def error(reading: PublishedReading) -> float:
    middle = (reading.low + reading.high) / 2
    return abs(of_reading(reading).busbw - middle) / middle


HEALTHY = [reading for reading in READINGS if reading.healthy and not reading.floor]


def test_published_readings_are_met() -> None:
    """Median error at most 10 %, none above 20 % where the path is healthy; each inside the band."""
    print()
    for reading in HEALTHY:
        print(f"{reading.id:24} expected {of_reading(reading).busbw / G:6.1f}  error {error(reading):6.1%}")
    assert median(map(error, HEALTHY)) <= 0.10
    assert max(map(error, HEALTHY)) <= 0.20
    for reading in HEALTHY:
        assert of_reading(reading).low <= reading.high
        assert of_reading(reading).high >= reading.low


def constant(reading: PublishedReading) -> str:
    """Which constant of the catalogue decides the prediction for a reading: the one that others of its kind set too."""
    found = of_reading(reading)
    if reading.gpus_per_node == 1:
        return "ALIGNED_SHARE"
    return platform(reading.platform).gpu_model if "GPU links" in found.binding else "NETWORK_SHARE"


def error_left_out(reading: PublishedReading) -> float | None:
    """Return the error with the deciding constant set by all other readings; None where this one alone set it."""
    ratios = [
        (one.low + one.high) / 2 / of_reading(one).busbw
        for one in HEALTHY
        if one is not reading and constant(one) == constant(reading)
    ]
    if not ratios:
        return None
    middle = (reading.low + reading.high) / 2
    return abs(of_reading(reading).busbw * mean(ratios) - middle) / middle


def test_readings_left_out_of_the_fit_are_met() -> None:
    """The same bar, each reading predicted without itself; said of those that another reading can predict."""
    errors = {reading.id: error_left_out(reading) for reading in HEALTHY}
    print()
    for reading in HEALTHY:
        shown = errors[reading.id]
        print(f"{reading.id:24} {constant(reading):14} {'alone' if shown is None else f'{shown:6.1%}'}")
    predicted = [shown for shown in errors.values() if shown is not None]
    assert len(predicted) >= len(HEALTHY) - 1
    assert median(predicted) <= 0.10
    assert max(predicted) <= 0.20


@pytest.mark.parametrize("reading", [one for one in READINGS if one.floor], ids=lambda one: one.id)
def test_what_health_checks_demand_is_expected(reading: PublishedReading) -> None:
    """A floor that a provider sets lies below what netkit expects of a healthy node."""
    assert of_reading(reading).busbw >= reading.low


@pytest.mark.parametrize("reading", [one for one in READINGS if not one.healthy], ids=lambda one: one.id)
def test_readings_of_sick_paths_fall_out_of_the_band(reading: PublishedReading) -> None:
    """Hidden PCIe, a NIC across sockets: far below."""
    assert reading.high < of_reading(reading).low


def test_two_nodes_may_exceed_the_line_rate() -> None:
    """484 GB/s over 400 GB/s of NICs is published and expected, and binds on GPU links."""
    two = expect(shape_of_platform(platform("hgx-h100")), 2, LARGE)
    assert two.busbw > 8 * 50 * G
    assert two.binding == "GPU links inside a node"
    many = expect(shape_of_platform(platform("hgx-h100")), 128, LARGE)
    assert many.busbw < 8 * 50 * G
    assert many.binding == "NIC wire rate, tree over nodes"


@given(st.sampled_from(PREDICTABLE), st.integers(1, 4096), st.integers(1, 40))
def test_expectations_are_sane_everywhere(name: str, nodes: int, doublings: int) -> None:
    """Within the band, below every ceiling, never more on more nodes than one doubling of the network explains."""
    got = expect(shape_of_platform(platform(name)), nodes, 1 << doublings)
    assert 0 < got.low < got.busbw < got.high
    assert all(got.busbw <= ceiling.bound for ceiling in got.ceilings)
    assert got.binding in {ceiling.name for ceiling in got.ceilings}


@given(st.sampled_from(PREDICTABLE), st.integers(1, 64), st.integers(10, 35))
def test_larger_messages_are_never_slower(name: str, nodes: int, doublings: int) -> None:
    """Latency weighs less as the size grows."""
    shape = shape_of_platform(platform(name))
    assert expect(shape, nodes, 1 << doublings).busbw <= expect(shape, nodes, 2 << doublings).busbw


def test_the_narrowest_part_of_a_slot_binds() -> None:
    """Wire, slot or path, whichever is least, and its name."""
    assert Slot(wire=49 * G, pcie=57 * G).binding == "NIC wire rate"
    assert Slot(wire=98 * G, pcie=57 * G).binding == "NIC PCIe slot"
    assert Slot(wire=49 * G, pcie=57 * G, path=16 * G).binding == "GPU-NIC path"


def test_a_topology_predicts_like_its_platform() -> None:
    """An HGX read from XML and the platform of that name agree."""
    for nodes in (1, 2, 16):
        from_xml = of_xml(MACHINES["hgx"], nodes).busbw
        assert from_xml == pytest.approx(expect(shape_of_platform(platform("hgx-h100")), nodes, LARGE).busbw, rel=0.01)


def test_a_nic_across_sockets_shows_in_the_prediction() -> None:
    """A GPU whose only NIC is on another socket is bound by the way there, not by the NIC."""
    xml = system([gpu(0, "0000:01:00.0")], [nic(0, "0000:02:00.0")])
    got = of_xml(xml, 2)
    assert got.binding == "GPU-NIC path, ring"
    assert got.busbw < 25 * G


def test_what_had_to_be_inferred_is_named() -> None:
    """Files of cloud providers hold neither rates nor GPU models; the platform lends them, and that is said."""
    folder = os.environ.get("NETKIT_EXTRA_DATA")
    if not folder:
        pytest.skip("NETKIT_EXTRA_DATA names no folder with recordings")
    got = of_xml(Path(folder, "topo", "azure_ndv4-topo.xml").read_text(), 2)
    assert got.busbw == pytest.approx(166 * G, rel=0.05)
    assert any("NIC rates are those of azure-ndv4" in one for one in got.assumptions)
    assert any("GPU model is that of azure-ndv4" in one for one in got.assumptions)


def test_what_cannot_be_predicted_is_refused() -> None:
    """One rank, no nodes, too many GPUs, unknown silicon, no NIC: each one line."""
    h100 = platform("hgx-h100")
    for nodes, gpus in ((0, 8), (1, 1), (200_000, 8)):
        with pytest.raises(InputError):
            expect(shape_of_platform(h100, gpus), nodes, LARGE)
    for gpus, nics in ((9, 8), (0, 8), (8, 9)):
        with pytest.raises(InputError):
            shape_of_platform(h100, gpus, nics)
    with pytest.raises(InputError, match="no public figure"):
        expect(shape_of_platform(platform("ascend-910b")), 2, LARGE)
    with pytest.raises(InputError, match="does not say which GPUs"):
        of_xml(system(['<pci busid="0000:01:00.0" class="0x030200" link_speed="8 GT/s" link_width="16"/>']), 2)
