"""The PCI tree: who hangs below whom, how wide the links are, and what configuration space says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.lab.virtual_config import config_space
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress, PciDevice
from netkit.model.pci_capabilities import PortType
from netkit.sources.pci import parse_place, parse_speed, read_pci_devices
from netkit.sources.pci_config import parse_config, read_pci_capabilities
from netkit.sources.pci_errors import parse_errors, read_pci_errors
from tests.sources import made_up
from tests.sources.made_up import Machine

_NIC = PciAddress.parse("0000:1e:00.0")
_WHERE = "sys/bus/pci/devices/0000:1e:00.0/config"


def by_address(machine: Machine) -> dict[str, PciDevice]:
    found = read_pci_devices(machine.tree())
    assert not isinstance(found, Missing)
    return {str(device.address): device for device in found}


def test_the_chain_is_every_bridge_down_to_the_device() -> None:
    """Root port, upstream port, downstream port; the device itself is not in its own chain."""
    nic = by_address(made_up.roce_two_rails())["0000:1e:00.0"]
    assert nic.root == "pci0000:1a"
    assert [str(bridge) for bridge in nic.chain] == ["0000:1a:01.0", "0000:1b:00.0", "0000:1c:01.0"]
    assert (nic.class_code, nic.vendor, nic.driver, nic.numa_node) == (0x020000, 0x15B3, "mlx5_core", 0)


@pytest.mark.parametrize(
    ("place", "root", "chain"),
    [
        ("sys/devices/pci0000:00/0000:00:02.1/0000:01:00.0", "pci0000:00", ["0000:00:02.1", "0000:01:00.0"]),
        ("sys/devices/LNXSYSTM:00/VMBUS:00/pci0101:00/0101:00:00.0", "pci0101:00", ["0101:00:00.0"]),
        (
            "sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0",
            "pci0000:00",
            ["0000:00:0e.0", "10000:e0:01.0"],
        ),
        ("sys/devices/virtual/net/bond0", "", []),
    ],
)
def test_places_are_split_into_root_and_functions(place: str, root: str, chain: list[str]) -> None:
    """Hyper-V puts the host bridge deep down, VMD puts one below a function."""
    found = parse_place(place)
    assert (found[0], [str(address) for address in found[1]]) == (root, chain)


def test_a_link_that_came_up_narrow_shows_beside_what_it_could_be() -> None:
    """NCCL reads the maximum only; here both are kept."""
    nic = by_address(made_up.roce_two_rails())["0000:3e:00.0"]
    assert (nic.current_link.width, nic.max_link.width) == (8, 16)
    assert nic.current_link.speed_gt_per_second == 32.0


def test_a_virtual_machine_hides_links_and_numa() -> None:
    """`Unknown`, no lanes and -1 are Missing (unsupported), never zero."""
    device = by_address(made_up.hidden_pcie())["0101:00:00.0"]
    values = (device.current_link.speed_gt_per_second, device.max_link.width, device.numa_node)
    assert [value.reason for value in values if isinstance(value, Missing)] == [Reason.UNSUPPORTED] * 3


@pytest.mark.parametrize(
    ("shown", "speed"),
    [
        ("32.0 GT/s PCIe", 32.0),
        ("2.5 GT/s", 2.5),
        ("64.0 GT/s PCIe", 64.0),
        ("Unknown", None),
        ("0 GT/s", None),
        ("fast", None),
    ],
)
def test_link_speeds_are_read_in_every_spelling(shown: str, speed: float | None) -> None:
    """Older kernels leave out the word PCIe."""
    found = parse_speed(shown, "x")
    assert (None if isinstance(found, Missing) else found) == speed


def test_configuration_space_says_what_decides_speed() -> None:
    """Payload, read request, ordering, ATS and ACS as switched now."""
    data = config_space(6, payload=1, read_request=5, acs=0x1D, ats=0x8000, serial=7)
    found = parse_config(_NIC, data, _WHERE)
    assert found.port_type is PortType.DOWNSTREAM
    assert (found.max_payload_bytes, found.max_payload_supported_bytes, found.max_read_request_bytes) == (
        256,
        512,
        4096,
    )
    assert (found.relaxed_ordering, found.ats_enabled) == (True, True)
    assert not isinstance(found.acs, Missing)
    assert found.acs.redirects
    assert (found.acs.request_redirect, found.acs.translation_blocking, found.acs.direct_translated) == (
        True,
        False,
        False,
    )


def test_acs_without_redirects_lets_peers_talk() -> None:
    """Source validation alone sends nothing through the root."""
    found = parse_config(_NIC, config_space(6, acs=0x01), _WHERE)
    assert not isinstance(found.acs, Missing)
    assert not found.acs.redirects


def test_sixty_four_bytes_mean_no_privilege() -> None:
    """What an ordinary user sees is Missing (denied), not "no ACS"."""
    found = read_pci_capabilities(made_up.hidden_pcie().tree(), PciAddress.parse("0001:00:00.0"))
    assert isinstance(found.acs, Missing)
    assert found.acs.reason is Reason.DENIED
    assert isinstance(found.max_payload_bytes, Missing)


def test_a_function_without_the_capability_is_unsupported() -> None:
    """An endpoint has no ACS; a conventional PCI function has none of it."""
    endpoint = parse_config(_NIC, config_space(0), _WHERE)
    assert isinstance(endpoint.acs, Missing)
    assert endpoint.acs.reason is Reason.UNSUPPORTED
    conventional = parse_config(_NIC, bytes(256), _WHERE)
    assert isinstance(conventional.port_type, Missing)
    assert conventional.port_type.reason is Reason.UNSUPPORTED


def test_the_iommu_domain_stands_beside_it() -> None:
    """Passthrough shows even where configuration space is denied."""
    machine = Machine()
    at = machine.pci("pci0000:1a/0000:1e:00.0", "0x020000", config=config_space(0)[:64])
    machine.texts("sys/kernel/iommu_groups/58", {"type": "identity"})
    machine.link(f"{at}/iommu_group", "sys/kernel/iommu_groups/58")
    found = read_pci_capabilities(machine.tree(), _NIC)
    assert found.iommu_domain == "identity"
    assert isinstance(found.ats_enabled, Missing)


def test_a_capability_list_that_loops_ends() -> None:
    """A list whose entries point at themselves is walked once."""
    data = bytearray(config_space(0))
    data[0x40:0x42] = bytes((0x05, 0x40))
    data[0x100:0x104] = (0x0001 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    assert isinstance(parse_config(_NIC, bytes(data), _WHERE).port_type, Missing)


@given(st.binary(max_size=4096))
def test_any_bytes_are_a_record(data: bytes) -> None:
    """Configuration space from a broken device stops nothing."""
    assert parse_config(_NIC, data, _WHERE).address == _NIC


@given(st.integers(0, 512))
def test_a_cut_space_never_invents_a_setting(length: int) -> None:
    """Cut anywhere, each field is what the whole space says or Missing."""
    whole = config_space(6, acs=0x1D, ats=0x8000)
    full, cut = parse_config(_NIC, whole, _WHERE), parse_config(_NIC, whole[:length], _WHERE)
    for field in ("port_type", "max_payload_bytes", "max_read_request_bytes", "acs", "ats_enabled"):
        assert isinstance(getattr(cut, field), Missing) or getattr(cut, field) == getattr(full, field)


def test_error_counts_are_read_by_name() -> None:
    """The NIC whose link is narrow also counts bad packets."""
    found = read_pci_errors(made_up.roce_two_rails().tree(), PciAddress.parse("0000:3e:00.0"))
    assert not isinstance(found.correctable, Missing)
    assert {counter.name: counter.raw for counter in found.correctable}["BadTLP"] == 7


def test_long_and_short_error_names_are_one_name() -> None:
    """The ABI document prints `Bad TLP`, kernels print `BadTLP`."""
    long = parse_errors(b"Receiver Error 2\nBad TLP 3\nTOTAL_ERR_COR 5\n", "x")
    short = parse_errors(b"RxErr 2\nBadTLP 3\nTOTAL_ERR_COR 5\n", "x")
    assert long == short


@pytest.mark.parametrize("data", [b"", b"BadTLP\n", b"BadTLP 3\nDL", b"\xff\xfe", b"BadTLP -1\n"])
def test_a_cut_error_file_is_missing(data: bytes) -> None:
    """Part of a file would hide errors."""
    assert isinstance(parse_errors(data, "x"), Missing)
