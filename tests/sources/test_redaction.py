"""A redacted recording says how a machine is built and not which one it is."""

from __future__ import annotations

import ipaddress
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.sources.pci_config import parse_config
from netkit.sources.recording import RecordedTree, RecordingTree
from netkit.sources.recording_file import dump, load
from netkit.sources.redaction import Redactor, redact
from netkit.sources.snapshot import read_node
from tests.sources.made_up import MACHINES, Machine, roce_two_rails

_KEY = bytes(32)
_REDACTOR = Redactor("gpu-node-17.cluster.example", _KEY)

_SECRETS = {
    "MAC": "a0:88:c2:ff:aa:01",
    "GUID": "a088:c203:00ff:aa01",
    "link-local GID": "fe80:0000:0000:0000:a288:c2ff:feff:aa01",
    "routable GID": "2001:0db8:1234:5678:a288:c2ff:feff:aa01",
    "IPv4 GID": "0000:0000:0000:0000:0000:ffff:0a14:0205",
    "IPv4": "203.0.113.77",
    "private IPv4": "10.20.2.5",
    "IPv6": "2001:db8::17:5",
    "UUID": "22f60bd2-a142-4825-ba51-dbf6a06e6df8",
    "GPU": "GPU-509665ad-b600-ac93-3616-d754b23d636d",
    "container": "docker-422f5c87275c7ddd6a383c0bdd64fbca422f5c87275c7ddd6a383c0bdd64fbca.scope",
    "pod": "kubepods-pod22f60bd2_a142_4825_ba51_dbf6a06e6df8.slice",
    "serial": "GPU Board Serial Number: 1650124014249",
    "interface": "enxa088c2ffaa01",
    "IPoIB": "00:00:10:86:fe:80:00:00:00:00:00:00:a0:88:c2:03:00:ff:aa:01",
}
_KEPT = [
    *("0000:3b:00.0", "pci0000:3a", "400 Gb/sec (4X NDR)", "4: ACTIVE", "32.0 GT/s PCIe", "28.43.2026"),
    *("ffffffff,ffffffff", "12:34:56", "127.0.0.1", "0.0.0.0", "224.0.0.1", "300.1.2.3", "MT_0000000838"),
    *("ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "0000:0000:0000:0000", "fe80:0000:0000:0000:0000:0000:0000:0000"),
    *("mlx5_bond_0", "syndrome (0x305684)"),
]


@pytest.mark.parametrize("shown", _SECRETS.values(), ids=_SECRETS.keys())
def test_what_identifies_is_replaced_and_keeps_its_form(shown: str) -> None:
    """The digits change, the length and the punctuation do not (serial numbers become a word)."""
    changed = _REDACTOR.text(shown)
    assert changed != shown
    if "Serial" not in shown and "::" not in shown and "." not in shown:
        assert re.sub("[0-9a-f]", "x", changed) == re.sub("[0-9a-f]", "x", shown)


@pytest.mark.parametrize("shown", _KEPT)
def test_what_describes_is_kept(shown: str) -> None:
    """PCI addresses, states, speeds, versions and addresses that are the same everywhere."""
    assert _REDACTOR.text(shown) == shown


@pytest.mark.parametrize("shown", ["gpu-node-17", "GPU-NODE-17", "gpu-node-17.cluster.example"])
def test_the_host_name_becomes_one_alias(shown: str) -> None:
    """Short, long and in capitals it is one machine."""
    changed = _REDACTOR.free_text(f"{shown} mlx5_0")
    assert changed == _REDACTOR.free_text("gpu-node-17 mlx5_0")
    assert "gpu-node-17" not in changed
    assert changed.endswith(" mlx5_0")


def test_a_longer_name_is_another_name() -> None:
    """`gpu-node-170` is not `gpu-node-17` with a digit behind."""
    assert _REDACTOR.free_text("gpu-node-170 x") == "gpu-node-170 x"


def test_two_redactions_share_nothing() -> None:
    """Without the key, the same address elsewhere is another one: lists of hashes are no use."""
    assert Redactor("n1").text(_SECRETS["MAC"]) != Redactor("n1").text(_SECRETS["MAC"])


addresses = st.integers(0, 2**32 - 1).map(lambda value: str(ipaddress.IPv4Address(value)))


@given(addresses, addresses)
def test_different_addresses_stay_different(one: str, other: str) -> None:
    """One to one: a mix-up of two machines would be invented."""
    assert (_REDACTOR.text(one) == _REDACTOR.text(other)) == (one == other)


@given(st.integers(0, 2**24 - 1), st.integers(0, 2**24 - 1), st.integers(8, 32))
def test_private_neighbours_stay_neighbours(one: int, other: int, length: int) -> None:
    """Two addresses of 10/8 share a subnet after exactly when they did before."""
    pair = [ipaddress.IPv4Address((10 << 24) + value) for value in (one, other)]
    changed = [ipaddress.IPv4Address(_REDACTOR.text(str(address))) for address in pair]
    assert all(address in ipaddress.IPv4Network("10.0.0.0/8") for address in changed)

    def together(several: list[ipaddress.IPv4Address]) -> bool:
        return len({ipaddress.IPv4Network((int(address), length), strict=False) for address in several}) == 1

    assert together(changed) == together(pair)


@given(st.integers(1, 2**48 - 2))
def test_a_gid_made_from_a_mac_is_still_made_from_it(mac: int) -> None:
    """Which GID belongs to which interface can be told after as before."""
    pairs = f"{mac:012x}"
    shown = ":".join(pairs[at : at + 2] for at in range(0, 12, 2))

    def gid(address: str) -> str:
        digits = address.replace(":", "")
        inner = f"{int(digits[:6], 16) ^ 0x020000:06x}fffe{digits[6:]}"
        return "fe80:0000:0000:0000:" + ":".join(inner[at : at + 4] for at in range(0, 16, 4))

    if int(gid(shown).replace(":", "")[16:], 16):
        assert _REDACTOR.text(gid(shown)) == gid(_REDACTOR.text(shown))


@given(st.text(max_size=80))
def test_any_text_is_redacted_the_same_way_twice(shown: str) -> None:
    """Same in, same out, for whatever a file holds."""
    assert _REDACTOR.free_text(shown) == _REDACTOR.free_text(shown)


def recorded(machine: Machine) -> RecordingTree:
    recorder = RecordingTree(machine.tree())
    read_node(recorder, 0.0)
    return recorder


def shape(node: NodeSnapshot) -> str:
    """A node without what redaction may change: digits of addresses, names of hosts, kernel parameters."""
    text = str(node)
    text = re.sub(r"command_line=\([^)]*\)", "", text)
    text = re.sub(r"(?:serial|host)-[0-9a-f]{8}|made-up-node|vm-0", "NAME", text)
    return re.sub(r"\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b|\b[0-9a-f]{4}(?::[0-9a-f]{4}){3,7}\b|[0-9a-f-]{36}", "ID", text)


@pytest.mark.parametrize("name", MACHINES)
def test_a_redacted_recording_replays_to_the_same_machine(name: str) -> None:
    """Every question still has its answer, and only identities differ."""
    recorder = recorded(MACHINES[name]())
    changed = read_node(RecordedTree(redact(recorder.answers, _KEY)), 0.0)
    assert shape(changed) == shape(read_node(RecordedTree(recorder.answers), 0.0))
    assert "not in this recording" not in str(changed)


def test_nothing_that_names_the_machine_is_left(tmp_path: Path) -> None:
    """Host name, MACs, GUIDs, addresses, UUIDs and both serial numbers are gone from the file."""
    recorder = recorded(roce_two_rails())
    text = dump(redact(recorder.answers), taken_at=0.0, redacted=True)
    secrets = ("made-up-node", "a0:88:c2:ff:aa", "c203:00ff:aa0", "feff:aa0", "0a14:0", "7c5b2f0e", "8d3a2f40")
    assert [secret for secret in secrets if secret in text] == []
    path = tmp_path / "r"
    path.write_text(text)
    assert load(path).redacted


def test_the_serial_number_in_configuration_space_is_replaced_there() -> None:
    """Sixteen hexadecimal digits change; ACS, ATS and payload are read as before."""
    recorder = recorded(roce_two_rails())
    changed = redact(recorder.answers, _KEY)
    checked = 0
    for question, before in recorder.answers.items():
        if question[1].endswith("/config") and isinstance(before, bytes) and b"\x03\x00" in before[0x100:0x102]:
            after = changed[question]
            assert isinstance(after, bytes)
            assert after != before
            assert before[0x104:0x10C] != after[0x104:0x10C]
            assert before[:0x104] + before[0x10C:] == after[:0x104] + after[0x10C:]
            checked += 1
    assert checked == 4


def test_kernel_parameters_about_the_data_path_are_kept() -> None:
    """`iommu=pt` matters here; where the root disk is does not."""
    node = read_node(RecordedTree(redact(recorded(roce_two_rails()).answers, _KEY)), 0.0)
    assert node.host.command_line == ("quiet", "iommu=pt", "pci=realloc", "root=redacted")


def test_identities_stay_apart() -> None:
    """Two cards are two cards, and an interface is still the one its device names."""
    node = read_node(RecordedTree(redact(recorded(roce_two_rails()).answers, _KEY)), 0.0)
    assert not isinstance(node.rdma_devices, Missing)
    assert len({device.identity for device in node.rdma_devices}) == 2
    assert json.dumps(sorted(device.name for device in node.rdma_devices)) == '["mlx5_0", "mlx5_1"]'


@given(st.binary(max_size=600))
def test_any_configuration_space_can_be_redacted(data: bytes) -> None:
    """Bytes of a broken device pass through, whole."""
    question = "sys/bus/pci/devices/0000:00:00.0/config"
    changed = Redactor("", _KEY)._bytes(question, data)
    assert len(changed) == len(data)
    address = read_node(roce_two_rails().tree(), 0.0).pci_capabilities[0].address
    assert parse_config(address, changed, question) == parse_config(address, data, question)
