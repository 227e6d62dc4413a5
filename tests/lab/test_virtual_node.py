"""The made-up machine behind a lab node: every GPU has a NIC at PIX, and a misplaced NIC shows."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from netkit.cli.lab_probe import placement
from netkit.cli.node_topology import topology_of_tree
from netkit.errors import InputError
from netkit.lab.faults import Fault, Place, Where, checked_fault
from netkit.lab.shape import MACHINE_NICS, Transport, checked_shape
from netkit.lab.state import LabState
from netkit.lab.virtual_node import virtual_node, virtual_sources
from netkit.model.ethernet import RoceCongestion
from netkit.model.ethernet_link import ErrorCorrection
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.optics import OpticalModule
from netkit.model.pci import PciPath
from netkit.model.qos import Dcb, PriorityFlowControl, Trust
from netkit.model.topology import PairingAnswer
from netkit.sources.record import record_node
from netkit.sources.recording_file import load
from netkit.sources.snapshot import read_node
from netkit.topology.topo_m import read_topo_m
from netkit.topology.view import TopologyView, view_of_matrix, view_of_topology


def view(*misplaced: int) -> TopologyView:
    return view_of_topology(topology_of_tree(virtual_node("n0", misplaced), "n0"))


def lab(*faults: Fault) -> LabState:
    shape = checked_shape(nodes=4, rails=2, leaves=2, rate=25e6, uplink_rate=None)
    return LabState(name="t", id="0", shape=shape, transport=Transport.EMULATED, faults=faults)


def test_an_untouched_machine_pairs_every_gpu_with_a_nic_under_its_switch() -> None:
    """Eight GPUs, eight NICs, all at PIX."""
    untouched = view()
    assert {gpu.answer for gpu in untouched.pairing.gpus} == {PairingAnswer.OK}
    reach = untouched.matrix.reach
    assert all(reach[gpu.gpu, nic].path is PciPath.PIX for gpu in untouched.pairing.gpus for nic in gpu.used)
    assert untouched.pairing.findings == ()


@pytest.mark.parametrize("misplaced", [*combinations(range(MACHINE_NICS), 1), *combinations(range(MACHINE_NICS), 2)])
def test_misplaced_nics_are_found_and_only_their_gpus_named(misplaced: tuple[int, ...]) -> None:
    """One or two NICs in the other socket: the GPUs of their switches are mis-paired, the others are not."""
    expected = {f"gpu{2 * (nic // 2) + side}" for nic in misplaced for side in (0, 1)}
    named = {gpu.gpu for gpu in view(*misplaced).pairing.gpus if gpu.answer is PairingAnswer.MISPAIRED}
    assert named == expected


def whole(*misplaced: int) -> NodeSnapshot:
    """Everything of a virtual node."""
    sources = virtual_sources("n3", misplaced)
    return read_node(sources.tree, 0.0, kernel=sources.kernel, drivers=sources.drivers)


def test_the_machine_is_whole_and_healthy() -> None:
    """DSCP trusted, PFC on priority 3 alone, ECN on, MTU 9000, RS-FEC, light on every lane."""
    node = whole()
    assert not isinstance(node.ethernet_links, Missing)
    assert [link.interface for link in node.ethernet_links] == [f"rail{rail}" for rail in range(MACHINE_NICS)]
    for link in node.ethernet_links:
        assert isinstance(link.bridging, Dcb)
        assert isinstance(link.bridging.flow_control, PriorityFlowControl)
        assert [at for at, on in enumerate(link.bridging.flow_control.enabled) if on] == [3]
        assert link.bridging.trust == (Trust.DSCP,)
        assert isinstance(link.error_correction, ErrorCorrection)
        assert link.error_correction.active == "rs"
        assert isinstance(link.module, OpticalModule)
        assert (link.module.state, link.module.alarms, len(link.module.lanes)) == ("ready", (), 8)
        interface = node.netdev(link.interface)
        assert interface is not None
        assert interface.mtu_bytes == 9000
        assert isinstance(interface.congestion, RoceCongestion)


def test_every_gpu_has_its_links_and_its_process() -> None:
    """Eight GPUs, 18 NVLinks each, all up, one rank on each."""
    gpus = whole().accelerators.gpus
    assert len(gpus) == MACHINE_NICS
    for gpu in gpus:
        assert not isinstance(gpu.links, Missing)
        assert [link.active for link in gpu.links] == [True] * 18
        assert not isinstance(gpu.processes, Missing)
        assert len(gpu.processes) == 1


@pytest.mark.parametrize("misplaced", [(), (3,)], ids=["healthy", "one-misplaced"])
def test_what_is_made_up_replays_and_leaves_no_reader_asking(misplaced: tuple[int, ...], tmp_path: Path) -> None:
    """A recording of a virtual node is read as the node itself."""
    recorded = record_node(virtual_sources("n3", misplaced), 1.0)
    path = tmp_path / "n3.jsonl"
    path.write_text(recorded.text)
    again = load(path)
    assert read_node(again.tree, 1.0, kernel=again.kernel, drivers=again.drivers) == recorded.node
    assert "not in this recording" not in str(recorded.node)


@pytest.mark.parametrize("misplaced", [(), (3,), (0, 7)], ids=["healthy", "one-misplaced", "two-misplaced"])
def test_what_nvidia_smi_would_draw_is_what_the_files_say(misplaced: tuple[int, ...]) -> None:
    """The driver's matrix and the slots in sysfs are two views of one machine, and judged alike."""
    drawn = whole(*misplaced).accelerators.nvidia_matrix
    assert isinstance(drawn, str)
    by_matrix = view_of_matrix(read_topo_m(drawn, "n3")).pairing
    named = {gpu.gpu for gpu in by_matrix.gpus if gpu.answer is PairingAnswer.MISPAIRED}
    assert named == {gpu.gpu for gpu in view(*misplaced).pairing.gpus if gpu.answer is PairingAnswer.MISPAIRED}


def test_a_lab_without_misplaced_nics_has_no_placement_findings() -> None:
    """Healthy machines are silent."""
    assert list(placement(lab())) == []


def test_a_lab_names_the_node_whose_nic_was_moved() -> None:
    """The finding says which node, which GPUs, and that the tree is made up."""
    moved = Fault(where=Where(place=Place.SLOT, node="n2", rail=1))
    (finding,) = placement(lab(moved))
    assert (finding.node, finding.gpus) == ("n2", ("gpu0", "gpu1"))
    assert any("made up" in line for line in finding.evidence)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(where=Where(place=Place.SLOT, node="n2")),
        Fault(where=Where(place=Place.SLOT, node="n2", rail=1), slowdown=0.2),
        Fault(where=Where(place=Place.SLOT, node="n9", rail=1)),
    ],
    ids=["no-rail", "two-effects", "no-such-node"],
)
def test_a_misplacement_that_cannot_be_is_refused(fault: Fault) -> None:
    """One NIC of one node that exists, and nothing else in the same fault."""
    with pytest.raises(InputError):
        checked_fault(lab().shape, fault, Transport.EMULATED)


def test_a_misplaced_nic_survives_the_state_file_and_slows_no_link() -> None:
    """The fault is written down and read back; pacing is untouched."""
    import json

    from netkit.lab.state import as_json, from_json

    state = lab(Fault(where=Where(place=Place.SLOT, node="n2", rail=1)))
    again = from_json("t", json.dumps(as_json(state)))
    assert again.faults == state.faults
    assert again.pacing("n2", 1) == lab().pacing("n2", 1)
