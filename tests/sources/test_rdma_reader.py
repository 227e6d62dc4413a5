"""RDMA devices: one odd file costs its own value and nothing else."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.counter import Counter
from netkit.model.missing import Missing, Reason
from netkit.model.rdma import RdmaDevice, RdmaPort
from netkit.sources.gids import EMPTY_RUN, read_gid_table
from netkit.sources.rdma import parse_coded, parse_rate, read_rdma_device, read_rdma_devices
from netkit.sources.tree import LiveTree
from tests.sources import made_up
from tests.sources.made_up import Machine


def devices(machine: Machine, virtual_functions: bool = False) -> tuple[RdmaDevice, ...]:
    found = read_rdma_devices(machine.tree(), virtual_functions)
    assert not isinstance(found, Missing)
    return found


def port_of(device: RdmaDevice, number: int = 1) -> RdmaPort:
    assert not isinstance(device.ports, Missing)
    return next(port for port in device.ports if port.number == number)


def named(counters: tuple[Counter, ...] | Missing) -> dict[str, Counter]:
    assert not isinstance(counters, Missing)
    return {counter.name: counter for counter in counters}


def one_port(**about: object) -> RdmaPort:
    machine = Machine()
    at = machine.pci("pci0000:1a/0000:1b:00.0", "0x020000", driver="mlx5_core")
    machine.port(machine.rdma(at, "mlx5_0", guid="0:0:0:1"), **about)  # type: ignore[arg-type]
    return port_of(devices(machine)[0])


@pytest.mark.fault("C01")
def test_no_class_folder_is_not_no_devices(tmp_path: Path) -> None:
    """A missing folder is Missing (absent), an empty one is an empty list; neither is an error."""
    tree = LiveTree({"sys": tmp_path})
    missing = read_rdma_devices(tree)
    assert isinstance(missing, Missing)
    assert missing.reason is Reason.ABSENT
    (tmp_path / "class" / "infiniband").mkdir(parents=True)
    assert read_rdma_devices(tree) == ()


@pytest.mark.fault("C02")
def test_texts_where_numbers_belong_cost_one_sample_each() -> None:
    """`N/A (no PMA)` is unsupported; the counters beside it are read."""
    hfi = next(device for device in devices(made_up.irdma_without_counters()) if device.name == "hfi1_0")
    counters = named(port_of(hfi).counters)
    refused = counters["port_xmit_data"].raw
    assert isinstance(refused, Missing)
    assert (refused.reason, refused.detail) == (Reason.UNSUPPORTED, "N/A (no PMA)")
    assert counters["port_rcv_data"].raw == 345091702026


@pytest.mark.fault("C04")
@pytest.mark.parametrize("code", ["EIO", "ENODATA", "EOPNOTSUPP", "EACCES", "EBUSY"])
def test_a_counter_that_fails_is_named_and_the_rest_is_kept(code: str) -> None:
    """The errno stands in the sample's place."""
    counters = named(one_port(counters={"link_downed": getattr(errno, code), "symbol_error": "3"}).counters)
    failed = counters["link_downed"].raw
    assert isinstance(failed, Missing)
    assert failed.detail == code
    assert counters["symbol_error"].raw == 3


@pytest.mark.fault("C05")
def test_a_driver_without_counter_folders_still_has_a_link() -> None:
    """Both folders absent: the counters are Missing, the state and the rate are there."""
    port = port_of(next(d for d in devices(made_up.irdma_without_counters()) if d.name == "irdma0"))
    assert isinstance(port.counters, Missing)
    assert isinstance(port.hw_counters, Missing)
    assert port.state.code == 4
    assert port.rate.bytes_per_second == 12.5e9


@pytest.mark.fault("C05")
def test_port_counters_survive_a_missing_hw_counters_folder() -> None:
    """The one folder does not depend on the other."""
    port = one_port(counters={"port_xmit_packets": "5"})
    assert isinstance(port.hw_counters, Missing)
    assert named(port.counters)["port_xmit_packets"].value == 5


@pytest.mark.fault("C07")
def test_identity_is_the_slot_and_the_guid_not_the_name() -> None:
    """Names that swap between two cards leave each card its identity."""
    identities = []
    for names in (("mlx5_0", "mlx5_1"), ("mlx5_1", "mlx5_0")):
        machine = Machine()
        for slot, name in enumerate(names):
            at = machine.pci(f"pci0000:1a/0000:1b:00.{slot}", "0x020000")
            machine.port(machine.rdma(at, name, guid=f"0000:0000:0000:000{slot + 1}"))
        identities.append({device.address: device.identity for device in devices(machine)})
    assert identities[0] == identities[1]
    assert len(set(identities[0].values())) == 2


@pytest.mark.fault("C10")
def test_data_counters_are_bytes_after_one_factor_of_four() -> None:
    """The kernel counts 32-bit words."""
    sent = named(one_port(counters={"port_xmit_data": "1000"}).counters)["port_xmit_data"]
    assert (sent.raw, sent.value, sent.form.unit) == (1000, 4000, "bytes")


@pytest.mark.fault("C12")
@pytest.mark.parametrize("name", ["SwLinkUp,32", "Rcv Hdr Ovr", "CceMiscInt,32", "VL15_dropped"])
def test_odd_counter_names_are_kept_as_they_are(name: str) -> None:
    """A comma, a space or upper case is part of a name; who exports it maps it."""
    assert named(one_port(hw={name: "4"}).hw_counters)[name].raw == 4


@pytest.mark.fault("C12")
def test_a_counter_name_cannot_carry_control_characters() -> None:
    """Names come from a driver and are shown to people."""
    assert all(name.isprintable() for name in named(one_port(hw={"a\x1b[31m": "4"}).hw_counters))


@pytest.mark.fault("C13")
@pytest.mark.parametrize(
    ("shown", "code", "text"),
    [
        ("4: ACTIVE", 4, "ACTIVE"),
        ("5: ACTIVE_DEFER", 5, "ACTIVE_DEFER"),
        ("17: ", 17, ""),
        ("6: LinkErrorRecovery", 6, "LinkErrorRecovery"),
        ("ACTIVE", None, "ACTIVE"),
        ("-1: X", None, "-1: X"),
    ],
)
def test_states_are_a_number_and_a_text(shown: str, code: int | None, text: str) -> None:
    """The number is used, the text kept; an unknown text is no crash."""
    found = parse_coded(shown, "state")
    assert found.text == text
    assert (None if isinstance(found.code, Missing) else found.code) == code


@pytest.mark.fault("C13")
@pytest.mark.parametrize(
    ("shown", "rate"),
    [
        ("400 Gb/sec (4X NDR)", 50e9),
        ("800 Gb/sec (4X XDR)", 100e9),
        ("2.5 Gb/sec (1X)", 0.3125e9),
        ("1600 Gb/sec (4X ZDR of 2031)", 200e9),
        ("fast", None),
        ("400 Gb/second", None),
        ("1e3 Gb/sec", None),
    ],
)
def test_rates_are_read_by_their_number(shown: str, rate: float | None) -> None:
    """What the bracket says is kept as text and decides nothing."""
    found = parse_rate(shown, "rate")
    assert (None if isinstance(found.bytes_per_second, Missing) else found.bytes_per_second) == rate
    assert found.text == shown


@given(st.text(max_size=60))
def test_no_state_or_rate_is_a_crash(shown: str) -> None:
    """Any text is a record."""
    assert parse_coded(shown, "state").text is not None
    assert parse_rate(shown, "rate").text == shown


@pytest.mark.fault("C14")
def test_ports_are_numbers() -> None:
    """Two ports are two ports; a folder named `abc` is none."""
    device = devices(made_up.saturated_infiniband())[0]
    assert not isinstance(device.ports, Missing)
    assert [port.number for port in device.ports] == [1, 2]


@pytest.mark.fault("C14")
def test_a_device_without_ports_is_a_device() -> None:
    """An absent port folder is Missing and stops nothing."""
    machine = Machine()
    machine.rdma(machine.pci("pci0000:1a/0000:1b:00.0", "0x020000"), "mlx5_0", guid="0:0:0:1")
    assert isinstance(devices(machine)[0].ports, Missing)


@pytest.mark.fault("C15")
def test_virtual_functions_are_read_only_when_asked_for() -> None:
    """Sixteen physical functions are read; 256 virtual ones wait for the word."""
    machine = Machine()
    for slot in range(16):
        at = machine.pci(f"pci0000:1a/0000:{slot + 1:02x}:00.0", "0x020000")
        machine.port(machine.rdma(at, f"mlx5_{slot}", guid=f"0000:0000:0001:{slot:04x}"))
        for function in range(16):
            virtual = machine.pci(f"pci0000:1a/0000:{slot + 1:02x}:{function // 8 + 1:02x}.{function % 8}", "0x020000")
            machine.link(f"{virtual}/physfn", at)
            machine.rdma(virtual, f"mlx5_{slot}v{function}", guid=f"0000:0000:{slot:04x}:{function:04x}")
    assert len(devices(machine)) == 16
    assert len(devices(machine, virtual_functions=True)) == 16 + 256


@pytest.mark.fault("D08")
def test_rdma_without_a_visible_interface_names_the_network_namespace() -> None:
    """RDMA devices show through the namespace, interfaces do not: the reason says what to change."""
    netdev = one_port().netdev
    assert isinstance(netdev, Missing)
    assert "hostNetwork" in netdev.detail


def test_ports_of_one_function_find_their_interface_by_number() -> None:
    """Port 2 belongs to the interface whose dev_port is 1."""
    machine = Machine()
    at = machine.pci("pci0000:1a/0000:1b:00.0", "0x020000")
    device = machine.rdma(at, "mlx4_0", guid="0:0:0:1")
    for number in (1, 2):
        machine.port(device, number)
        machine.netdev(f"ens{number}", at, dev_port=str(number - 1))
    assert [port_of(devices(machine)[0], number).netdev for number in (1, 2)] == ["ens1", "ens2"]


def test_a_software_device_names_its_parent_interface() -> None:
    """Rxe has no PCI function; the interface it runs over is in `parent`."""
    machine = Machine()
    machine.texts("sys/class/infiniband/rxe0", {"parent": "veth0", "node_guid": "3a9a:79ff:fe61:af80"})
    machine.texts("sys/class/infiniband/rxe0/ports/1", {"state": "4: ACTIVE"})
    device = read_rdma_device(machine.tree(), "rxe0")
    assert port_of(device).netdev == "veth0"
    assert device.identity == "3a9a:79ff:fe61:af80"


def test_the_first_hw_counter_read_is_the_one_that_fills_the_cache() -> None:
    """Reading `rx_write_requests` first makes the others free on mlx5."""
    counters = one_port(hw=dict.fromkeys(made_up.MLX5_HW, "0")).hw_counters
    assert not isinstance(counters, Missing)
    assert counters[0].name == "rx_write_requests"
    assert "lifespan" not in {counter.name for counter in counters}


@pytest.mark.parametrize(("filled", "looked"), [((), EMPTY_RUN), ((0, 1), 2 + EMPTY_RUN), ((0, 20), 21 + EMPTY_RUN)])
def test_a_gid_table_is_not_walked_to_its_end(filled: tuple[int, ...], looked: int) -> None:
    """A table of 1,024 slots costs its entries and one run of empty ones; holes are stepped over."""
    machine = Machine()
    gids = {slot: (f"fe80:0000:0000:0000:0000:0000:0000:{slot + 1:04x}", "RoCE v2", "eth0") for slot in filled}
    at = machine.port("sys/class/infiniband/mlx5_0", gids=gids, slots=1024)
    table = read_gid_table(machine.tree(), at)
    assert not isinstance(table, Missing)
    assert [gid.index for gid in table.gids] == list(filled)
    assert (table.slots, table.slots_read) == (1024, looked)
