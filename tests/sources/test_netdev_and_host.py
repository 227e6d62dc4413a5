"""Interfaces and the node itself, from files."""

from __future__ import annotations

import pytest

from netkit.model.ethernet import NetDev
from netkit.model.missing import Missing, Reason
from netkit.sources.host import parse_limits, read_host
from netkit.sources.netdev import read_netdevs
from netkit.sources.snapshot import read_node
from tests.sources import made_up
from tests.sources.made_up import Machine


def interfaces(machine: Machine) -> dict[str, NetDev]:
    found = read_netdevs(machine.tree())
    assert not isinstance(found, Missing)
    return {netdev.name: netdev for netdev in found}


def test_an_interface_knows_its_function_and_its_rdma_device() -> None:
    """Speed is bytes per second inside netkit: 400,000 Mbit/s are 50 GB/s."""
    nic = interfaces(made_up.roce_two_rails())["eth0"]
    assert (str(nic.address), nic.driver, nic.rdma_devices) == ("0000:1e:00.0", "mlx5_core", ("mlx5_0",))
    assert (nic.mtu_bytes, nic.speed_bytes_per_second, nic.physical) == (4200, 50e9, True)


def test_congestion_control_is_read_per_priority() -> None:
    """Priority 3 answers marks and slows down; the others do not."""
    congestion = interfaces(made_up.roce_two_rails())["eth0"].congestion
    assert not isinstance(congestion, Missing)
    assert [setting.value for setting in congestion.reaction_priorities] == [0, 0, 0, 1, 0, 0, 0, 0]
    assert {setting.name: setting.value for setting in congestion.notification}["cnp_dscp"] == 48


def test_address_resolution_is_read_per_interface() -> None:
    """Physical interfaces only: a node has hundreds of others."""
    machine = made_up.bonded_with_virtual_functions()
    machine.texts("proc/sys/net/ipv4/conf/ens6f0", {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "2"})
    found = interfaces(machine)
    assert [setting.value for setting in found["ens6f0"].address_resolution] == [1, 2, 2]
    assert found["bond0"].address_resolution == ()


def test_an_interface_that_is_down_has_no_speed_and_no_carrier() -> None:
    """The kernel answers EINVAL: Missing, not 0 and not "no carrier"."""
    nic = interfaces(made_up.irdma_without_counters())["ens1f0"]
    assert isinstance(nic.speed_bytes_per_second, Missing)
    assert isinstance(nic.carrier, Missing)
    assert nic.operational_state == "down"


@pytest.mark.fault("C15")
def test_a_bond_knows_its_members_and_they_know_it() -> None:
    """Virtual functions stay out; the file `bonding_masters` is no interface."""
    found = interfaces(made_up.bonded_with_virtual_functions())
    assert set(found) == {"bond0", "ens6f0", "ens6f1"}
    bond = found["bond0"].bond
    assert not isinstance(bond, Missing)
    assert bond.members == ("ens6f0", "ens6f1")
    assert found["ens6f1"].master == "bond0"
    assert not found["bond0"].physical


def test_skipped_virtual_functions_are_counted() -> None:
    """What was left out is said."""
    tree = made_up.bonded_with_virtual_functions().tree()
    assert read_node(tree, 0.0).virtual_functions_skipped == 8
    with_them = read_node(tree, 0.0, virtual_functions=True)
    assert with_them.virtual_functions_skipped == 0
    assert not isinstance(with_them.netdevs, Missing)
    assert len(with_them.netdevs) == 3 + 8


def test_unlimited_is_none_and_locked_memory_is_found() -> None:
    """`unlimited` is not a number."""
    host = read_host(made_up.roce_two_rails().tree())
    assert not isinstance(host.limits, Missing)
    (locked,) = host.limits
    assert (locked.name, locked.soft) == ("Max locked memory", None)


@pytest.mark.parametrize("data", [b"", b"\xff" * 50, b"Limit Soft Hard\n", b"Max locked memory  8 kB\n"])
def test_another_table_is_malformed(data: bytes) -> None:
    """A table without a single limit is not a process without limits."""
    found = parse_limits(data)
    assert isinstance(found, Missing)
    assert found.reason is Reason.MALFORMED


@pytest.mark.parametrize(("machine", "virtual"), [(made_up.hidden_pcie(), True), (made_up.roce_two_rails(), False)])
def test_the_processor_says_whether_this_is_a_virtual_machine(machine: Machine, virtual: bool) -> None:
    """The hypervisor flag decides."""
    assert read_host(machine.tree()).virtual_machine is virtual


def test_without_processor_flags_it_is_unknown_whether_this_is_a_virtual_machine() -> None:
    """No file is no answer."""
    assert isinstance(read_host(Machine().tree()).virtual_machine, Missing)


def test_a_control_group_with_a_quota_is_cores() -> None:
    """800,000 of each 100,000 microseconds are eight cores; `max` is none."""
    group = read_host(made_up.roce_two_rails().tree()).control_group
    assert not isinstance(group, Missing)
    assert (group.cpu_quota_cores, group.memory_max_bytes) == (8.0, None)


def test_loaded_modules_of_the_data_path_are_listed() -> None:
    """A module without a version file is there all the same."""
    machine = Machine()
    machine.texts("sys/module/nvidia_peermem", {"version": "550.54.15"})
    machine.texts("sys/module/mlx5_core", {"refcnt": "3"})
    modules = {module.name: module.version for module in read_host(machine.tree()).modules}
    assert modules["nvidia_peermem"] == "550.54.15"
    assert isinstance(modules["mlx5_core"], Missing)
