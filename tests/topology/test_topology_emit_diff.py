"""Topology files for machines that hide their switches, and what differs between two nodes."""

from __future__ import annotations

import pytest

from netkit.catalogue.platforms import platform, platforms
from netkit.errors import InputError
from netkit.model.topology import PairingAnswer
from netkit.topology.difference import differences
from netkit.topology.emit import from_platform, groups_of, xml_of
from netkit.topology.nccl_xml import read_topology
from netkit.topology.paths import matrix_of
from netkit.topology.platform_match import golden, identify
from netkit.topology.view import view_of_topology
from tests.topology.synthetic_machines import MACHINES

EMITTED = [name for name, one in platforms().items() if one.addressed and one.switched]


@pytest.mark.parametrize("name", EMITTED)
def test_an_emitted_file_gives_the_platforms_own_pairing(name: str) -> None:
    """What is written reads back without a problem, is recognised, and pairs as the table says."""
    topology = read_topology(from_platform(platform(name)), name)
    view = view_of_topology(topology)
    assert topology.problems == ()
    assert view.platform == platform(name)
    assert {gpu.answer for gpu in view.pairing.gpus} == {PairingAnswer.OK}
    table = golden(view.matrix, platform(name))
    assert all(set(gpu.used) <= set(table[gpu.gpu]) for gpu in view.pairing.gpus)


@pytest.mark.parametrize("name", [name for name in platforms() if name not in EMITTED])
def test_what_cannot_be_emitted_is_refused(name: str) -> None:
    """No addresses, or no switches to write down."""
    with pytest.raises(InputError, match=name):
        from_platform(platform(name))


@pytest.mark.parametrize("name", EMITTED)
def test_a_nic_in_another_slot_of_a_known_platform_is_found(name: str) -> None:
    """Two addresses traded: without the table this is a sound machine."""
    one, other = platform(name).groups[0].nics[0], platform(name).groups[-1].nics[0]
    text = from_platform(platform(name)).replace(str(one), "@").replace(str(other), str(one)).replace("@", str(other))
    view = view_of_topology(read_topology(text, "swapped"))
    wrong = {gpu.gpu for gpu in view.pairing.gpus if gpu.answer is PairingAnswer.MISPAIRED}
    groups = (platform(name).groups[0], platform(name).groups[-1])
    at_risk = {end.id for end in view.matrix.gpus if any(end.address in group.gpus for group in groups)}
    assert wrong
    assert wrong <= at_risk


def test_declared_pairs_become_switches() -> None:
    """GPUs that name the same NICs share one."""
    groups = groups_of(["01:00.0=11:00.0", "02:00.0=11:00.0", "03:00.0=12:00.0,13:00.0"])
    matrix = matrix_of(read_topology(xml_of(groups, 32.0, "AuthenticAMD"), "x"))
    near = {
        gpu.id: [nic.name[5:7] for nic in matrix.nics if matrix.reach[gpu.id, nic.name].label == "PIX"]
        for gpu in matrix.gpus
    }
    assert near == {"gpu0": ["11"], "gpu1": ["11"], "gpu2": ["12", "13"]}


@pytest.mark.parametrize("pairs", [["01:00.0"], ["x=11:00.0"], ["01:00.0=11:00.0", "01:00.0=12:00.0"], ["01:00.0=1,2"]])
def test_pairs_that_make_no_sense_are_refused(pairs: list[str]) -> None:
    """A missing half, no address, a device twice."""
    with pytest.raises(InputError):
        groups_of(pairs)


def test_a_platform_is_recognised_by_its_addresses_only() -> None:
    """Names are anybody's; a machine with other addresses is no known platform."""
    assert identify(matrix_of(read_topology(MACHINES["hgx"], "x"))) is None
    known = matrix_of(read_topology(from_platform(platform("azure-ndv4")), "x"))
    assert identify(known) == platform("azure-ndv4")


def test_an_unknown_platform_names_the_nearest() -> None:
    """A typing error costs one line."""
    with pytest.raises(InputError, match="did you mean 'azure-ndv4'"):
        platform("azure-ndv44")


@pytest.mark.parametrize("name", platforms())
def test_platform_tables_add_up(name: str) -> None:
    """Counts agree with the groups, no device stands in two of them, and each has a source."""
    one = platform(name)
    gpus = [gpu for group in one.groups for gpu in group.gpus]
    nics = [nic for group in one.groups for nic in group.nics]
    assert one.source
    assert (len(gpus), len(nics)) in {(one.gpus, one.nics), (0, 0)}
    assert len(set(gpus)) == len(gpus)
    assert len(set(nics)) == len(nics)


def test_a_machine_does_not_differ_from_itself() -> None:
    """Nothing is reported where nothing differs."""
    for text in MACHINES.values():
        matrix = matrix_of(read_topology(text, "x"))
        assert differences(matrix, matrix) == ()


def test_differences_name_device_distance_and_rate() -> None:
    """A missing NIC, a narrower link, a slower port, a lost NVLink: one line each."""
    good = MACHINES["four_rails"]
    suspect = good.replace('name="mlx5_3"', 'name="other"').replace('dev="1" speed="200000"', 'dev="1" speed="100000"')
    found = differences(*(matrix_of(read_topology(text, "x")) for text in (good, suspect)))
    said = {(one.subject, one.what, one.before, one.after) for one in found}
    assert ("mlx5_3", "device", "present", None) in said
    assert ("other", "device", None, "present") in said
    assert ("mlx5_1", "NIC rate", "25 GB/s", "12.5 GB/s") in said
    assert ("gpu1 to mlx5_1", "bandwidth", "25 GB/s", "12.5 GB/s") in said
