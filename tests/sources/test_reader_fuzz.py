"""No reader raises, whatever a file holds, wherever a link leads, whatever a call answers."""

from __future__ import annotations

import errno
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.lab.virtual_config import config_space
from netkit.model.missing import Missing
from netkit.model.text import visible
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.recording import RecordedTree, RecordingTree
from netkit.sources.redaction import redact
from netkit.sources.snapshot import read_node
from tests.sources.made_up import MACHINES, Machine

_CODES = (errno.EIO, errno.EINVAL, errno.EACCES, errno.ENODEV, errno.ETIMEDOUT, errno.ENODATA, errno.EBADMSG)


def small() -> Machine:
    """One GPU, one NIC with one port, a bond: every kind of file once or twice."""
    machine = Machine()
    machine.host()
    gpu = machine.pci("pci0000:1a/0000:1a:01.0/0000:1d:00.0", "0x030200", "0x10de", config=config_space(0, acs=1))
    machine.aer(gpu)
    nic = machine.pci(
        "pci0000:1a/0000:1e:00.0", "0x020000", driver="mlx5_core", config=config_space(0, serial=5, ats=1)
    )
    folder = machine.netdev("eth0", nic)
    machine.texts(f"{folder}/ecn/roce_np", {"cnp_dscp": "48"})
    machine.texts(f"{machine.netdev('bond0')}/bonding", {"mode": "802.3ad 4", "slaves": "eth0"})
    gids = {0: ("fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v2", "eth0")}
    device = machine.rdma(nic, "mlx5_0", guid="0000:0000:0000:0001")
    machine.port(device, counters={"link_downed": "0"}, hw={"out_of_sequence": "1"}, gids=gids, slots=3)
    machine.files["kmsg"] = b"6,1,100,-;mlx5_core 0000:1e:00.0 eth0: Link down\n"
    return machine


_SMALL = small()
_CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(lambda text: text.encode(errors="surrogatepass")),
    st.sampled_from(_CODES),
    st.sampled_from([b"", b"-1\n", b"0x\n", b"max\n", b"9" * 20, b"1" * 5000, b"\x00", b"0::/../../x\n"]),
)


def survives(files: Mapping[str, bytes | int], links: Mapping[str, str]) -> None:
    """Read live and replayed, as it is and redacted."""
    recorder = RecordingTree(MemoryTree(files, links))
    node = read_node(recorder, 1.0)
    assert read_node(RecordedTree(recorder.answers), 1.0) == node
    read_node(RecordedTree(redact(recorder.answers)), 1.0)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(_SMALL.files)), _CONTENTS, min_size=1, max_size=25))
def test_any_contents_in_any_files(changed: dict[str, bytes | int]) -> None:
    """Values or Missing, nothing else; the replay is the identity all the same."""
    survives({**_SMALL.files, **changed}, _SMALL.links)


@settings(max_examples=10, deadline=None)
@given(_CONTENTS)
def test_the_same_contents_in_every_file(content: bytes | int) -> None:
    """All files empty, all binary, all failing."""
    survives(dict.fromkeys(_SMALL.files, content), _SMALL.links)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(sorted(_SMALL.links)),
        st.sampled_from(["..", "../../..", "nowhere", "../../../sys", "./.", "../infiniband", "/etc", ""]),
        min_size=1,
        max_size=6,
    )
)
def test_any_links(changed: dict[str, str]) -> None:
    """Loops, dangling links and links out of the tree."""
    survives(_SMALL.files, {**_SMALL.links, **changed})


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from(sorted([*_SMALL.files, *_SMALL.links])), max_size=40))
def test_any_files_missing(gone: set[str]) -> None:
    """Files and links that are not there."""
    files = {path: data for path, data in _SMALL.files.items() if path not in gone}
    links = {path: target for path, target in _SMALL.links.items() if path not in gone}
    survives(files, links)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(blacklist_characters="/\0"), min_size=1, max_size=12), min_size=1, max_size=6))
def test_any_names_of_devices_and_counters(names: list[str]) -> None:
    """Names a driver makes up are shown with visible escapes and split nothing."""
    machine = small()
    for name in names:
        if name not in {".", ".."}:
            machine.texts(f"sys/class/infiniband/{name}/ports/1/hw_counters", {name: "1"})
            machine.texts(f"sys/class/net/{name}", {"mtu": "9000"})
            machine.texts(f"sys/bus/pci/devices/{name}", {"class": "0x020000"})
    survives(machine.files, machine.links)
    node = read_node(machine.tree(), 0.0)
    assert not isinstance(node.rdma_devices, Missing)
    assert all(visible(device.name) == device.name for device in node.rdma_devices)


@pytest.mark.parametrize("name", MACHINES)
def test_every_made_up_machine_with_each_file_failing_in_turn(name: str) -> None:
    """Each tenth file answers EIO: the readers go on, and the replay agrees."""
    machine = MACHINES[name]()
    paths = sorted(machine.files)
    for start in range(10):
        survives({**machine.files, **dict.fromkeys(paths[start::10], errno.EIO)}, machine.links)
