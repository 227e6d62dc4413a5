"""The made-up machine behind a lab node: every GPU has a NIC at PIX, and a misplaced NIC shows."""

from __future__ import annotations

from itertools import combinations

import pytest

from netkit.cli.lab_probe import placement
from netkit.cli.node_topology import topology_of_tree
from netkit.errors import InputError
from netkit.lab.faults import Fault, Place, Where, checked_fault
from netkit.lab.shape import MACHINE_NICS, Transport, checked_shape
from netkit.lab.state import LabState
from netkit.lab.virtual_node import virtual_node
from netkit.model.pci import PciPath
from netkit.model.topology import PairingAnswer
from netkit.topology.view import TopologyView, view_of_topology


def view(*misplaced: int) -> TopologyView:
    return view_of_topology(topology_of_tree(virtual_node("n0", misplaced), 0.0, "n0"))


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
