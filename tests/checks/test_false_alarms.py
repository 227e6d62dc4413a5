"""Alarms other tools raise on healthy machines, which these rules do not; and what a virtual machine cannot know."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace

import pytest

from netkit.checks import checks
from netkit.doctor.context import Wishes, context_of
from netkit.doctor.contract import Member
from netkit.doctor.judge import judge
from netkit.model.check import Outcome, Result
from netkit.model.finding import Severity
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress, PciDevice
from netkit.model.pci_capabilities import PortType
from netkit.sources.lspci import parse_lspci
from netkit.sources.snapshot import read_node
from tests.checks.scenes import healthy, of, scene, with_capability, with_device, with_gpu
from tests.sources.extra_recordings import extra_data, h100


def results(node: NodeSnapshot, wishes: Wishes | None = None) -> tuple[Result, ...]:
    return judge(checks(), [Member(name="n", snapshot=node, context=context_of(node, wishes or Wishes()))], {}).results


def loud(node: NodeSnapshot) -> list[str]:
    return [
        f"{one.rule} {one.subject}: {one.summary}"
        for one in results(node)
        if one.outcome is Outcome.FINDING and one.severity is not Severity.INFO
    ]


def of_rule(node: NodeSnapshot, rule: str) -> list[Result]:
    return [one for one in results(node) if one.rule == rule]


def ports_beside_the_way(node: NodeSnapshot) -> Iterator[PciAddress]:
    """Root and upstream ports: on the way to the CPU, never on the way from GPU to NIC."""
    for one in node.pci_capabilities:
        if one.port_type in {PortType.ROOT_PORT, PortType.UPSTREAM}:
            yield one.address


@pytest.mark.fault("X20")
def test_acs_off_the_way_is_no_alarm() -> None:
    """Redirects on root ports touch no peer traffic below a switch."""
    node = healthy()
    roots = [one for one in node.pci_capabilities if one.port_type is PortType.ROOT_PORT]
    assert any(not isinstance(one.acs, Missing) and one.acs.redirects for one in roots)
    assert all(one.outcome is Outcome.OK for one in of_rule(node, "T11"))


@pytest.mark.fault("X21")
def test_a_link_is_measured_against_its_partner() -> None:
    """A Gen5 device at a Gen4 port runs at Gen4: `downgraded` for lspci, right for us."""
    node = healthy()
    nic = of(node.rdma_devices)[0].address
    device = node.pci_device(nic)
    assert device is not None
    slower = replace(device.max_link, speed_gt_per_second=16.0)
    node = with_device(node, nic, current_link=slower)
    assert any("T06" in line for line in loud(node))
    partner = with_device(node, device.chain[-1], max_link=slower)
    mine = [one for one in results(partner) if one.rule in {"T06", "T07", "T08"} and str(nic) in one.subject]
    assert {one.outcome for one in mine} == {Outcome.OK}


@pytest.mark.fault("X22")
def test_read_requests_of_switch_ports_are_of_no_account() -> None:
    """128 on a bridge is what bridges show."""
    node = healthy()
    for address in list(ports_beside_the_way(node)):
        node = with_capability(node, address, max_read_request_bytes=128, max_payload_supported_bytes=2048)
    assert loud(node) == []


@pytest.mark.fault("X23")
def test_an_idle_gpu_may_lower_its_link() -> None:
    """Incomplete until it is read under load; never a finding, never ok."""
    node = healthy()
    gpu = node.accelerators.gpus[0]
    assert isinstance(gpu.address, PciAddress)
    device = node.pci_device(gpu.address)
    assert device is not None
    slow = replace(device.current_link, speed_gt_per_second=2.5)
    node = with_device(node, gpu.address, current_link=slow)
    idle = replace(gpu.utilisation, compute=0.0)
    node = with_gpu(node, 0, utilisation=idle, pcie=replace(gpu.pcie, generation=1))
    mine = [one for one in results(node) if one.rule in {"T06", "S07"} and str(gpu.address) in one.subject]
    assert {one.outcome for one in mine} == {Outcome.INCOMPLETE}
    assert loud(node) == []


@pytest.mark.fault("X24")
@pytest.mark.parametrize("below_one", [True, False])
def test_a_virtual_bridge_counts_only_when_the_way_crosses_it(below_one: bool) -> None:
    """`2.5 GT/s x1` above GPU and NIC together is harmless; between them it is not."""
    node = healthy()
    slow = replace(of(node.pci_devices)[0].max_link, speed_gt_per_second=2.5, width=1)
    nic = node.pci_device(of(node.rdma_devices)[0].address)
    assert nic is not None
    bridge = nic.chain[0] if below_one else nic.chain[-1]
    changed = with_device(node, bridge, max_link=slow, current_link=slow)
    found = {one.outcome for one in of_rule(changed, "T10")}
    assert (Outcome.FINDING in found) is not below_one


@pytest.mark.fault("X25")
def test_a_virtual_machine_is_told_what_it_cannot_know() -> None:
    """ACS of the host is the host's; NUMA and speeds are mended by a topology file; none of it is a warning."""
    node = healthy()
    guest = replace(node, host=replace(node.host, virtual_machine=True))
    hidden = Missing(reason=Reason.UNSUPPORTED, where="made-up", detail="Unknown")

    def flat(one: PciDevice) -> PciDevice:
        link = replace(one.max_link, speed_gt_per_second=hidden, width=hidden)
        return replace(one, chain=(), numa_node=hidden, max_link=link, current_link=link)

    guest = replace(guest, pci_devices=tuple(map(flat, of(guest.pci_devices))))
    assert loud(guest) == []
    told = {one.rule: one for one in results(guest) if one.rule in {"T01", "T11", "T12", "T05"}}
    assert told["T11"].outcome is Outcome.INCOMPLETE
    assert told["T01"].outcome is Outcome.INCOMPLETE
    assert told["T12"].outcome is Outcome.FINDING
    assert "not knowable" in told["T12"].summary
    assert "topology file" in told["T05"].remedy


def test_a_silenced_finding_stays_in_the_report() -> None:
    """With its reason; it no longer counts as a finding."""
    parent = scene()
    node = with_capability(parent.now, of(parent.now.rdma_devices)[0].address, relaxed_ordering=False)
    member = Member(name="n", snapshot=node, context=context_of(node, Wishes()))
    report = judge(checks(), [member], {"T17": "known, ticket 7"})
    silenced = [one for one in report.results if one.outcome is Outcome.SILENCED]
    assert [one.rule for one in silenced] == ["T17"]
    assert silenced[0].evidence[-1] == "silenced: known, ticket 7"
    assert not report.worst_at_least(Severity.WARNING)


def test_a_real_h100_by_lspci_raises_no_alarm() -> None:
    """Eight GPUs, eight ConnectX-7: no ACS, link, payload or read-request alarm, and every way was looked at."""
    place = extra_data() / "exporters" / "gpud" / "lspci-vvv-8xH100-cx7.txt.gz"
    node = parse_lspci(gzip.decompress(place.read_bytes()).decode(), 0.0)
    assert loud(node) == []
    for rule in ("T01", "T06", "T07", "T11", "T15", "T16"):
        found = of_rule(node, rule)
        assert len(found) >= 8
        assert {one.outcome for one in found} == {Outcome.OK}, rule


def test_a_real_h100_by_sysfs_raises_no_alarm() -> None:
    """A full error counter is information: it says nothing about now."""
    node = read_node(h100(), 0.0)
    assert loud(node) == []
    full = {one.subject: one.summary for one in of_rule(node, "N16") if one.outcome is Outcome.FINDING}
    assert "link_downed stands at 255" in full["mlx5_1"]
