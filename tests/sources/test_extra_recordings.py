"""Readers over recordings of real machines, where those are at hand."""

from __future__ import annotations

import pytest

from netkit.model.host import KernelEventKind as Kind
from netkit.model.missing import Missing
from netkit.sources.kernel_log import parse_log
from netkit.sources.pci import read_pci_devices
from netkit.sources.recording import RecordedTree, RecordingTree
from netkit.sources.snapshot import read_node
from tests.sources.extra_recordings import ARCHIVES, extra_data, h100, mixed


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_real_tree_is_read_and_replays_the_same(name: str) -> None:
    """No exception, and the replay is the identity."""
    recorder = RecordingTree(ARCHIVES[name]())
    node = read_node(recorder, 0.0)
    assert read_node(RecordedTree(recorder.answers), 0.0) == node
    assert not isinstance(node.rdma_devices, Missing)
    assert node.rdma_devices


def test_nine_ports_of_an_h100_node() -> None:
    """All active at 400 Gbit/s but the management port; every counter file is a number."""
    devices = read_node(h100(), 0.0).rdma_devices
    assert not isinstance(devices, Missing)
    ports = [port for device in devices if not isinstance(device.ports, Missing) for port in device.ports]
    assert [port.state.code for port in ports] == [4] * 9
    rates = [port.rate.bytes_per_second for port in ports]
    assert rates.count(50e9) == 8
    read = [counter for port in ports if not isinstance(port.counters, Missing) for counter in port.counters]
    read += [counter for port in ports if not isinstance(port.hw_counters, Missing) for counter in port.hw_counters]
    assert len(read) > 400
    assert [counter.name for counter in read if isinstance(counter.raw, Missing)] == []


@pytest.mark.fault("C02")
def test_other_drivers_than_mlx5_keep_what_they_have() -> None:
    """hfi1 and mlx4 in one tree: texts for numbers cost their own sample."""
    devices = read_node(mixed(), 0.0).rdma_devices
    assert not isinstance(devices, Missing)
    assert {"hfi1_0", "mlx4_0"} <= {device.name for device in devices}


def test_pci_functions_of_a_real_tree() -> None:
    """A device that shows no class is left out; the others have their chain."""
    devices = read_pci_devices(mixed())
    assert not isinstance(devices, Missing)
    chains = {str(device.address): [str(bridge) for bridge in device.chain] for device in devices}
    assert chains["0000:01:00.0"] == ["0000:00:02.1"]


def test_the_published_flapping_interface() -> None:
    """Five times lost, six times gained, on one interface: what the log says, no more."""
    data = (extra_data() / "syslog" / "azure_nhc_1dev_6flap_syslog").read_bytes()
    events = parse_log(data)
    assert {event.interface for event in events} == {"ib6"}
    assert [event.kind for event in events].count(Kind.LINK_DOWN) == data.count(b"lost carrier")
    assert [event.kind for event in events].count(Kind.LINK_UP) == data.count(b"Gained carrier")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("kmsg.2.peermem.log", Kind.PEERMEM), ("dmesg-with-xid-119.log", Kind.XID)],
)
def test_published_logs_are_understood(name: str, kind: Kind) -> None:
    """The line the log is published for is found."""
    events = parse_log((extra_data() / "exporters" / "gpud" / name).read_bytes())
    assert kind in {event.kind for event in events}
