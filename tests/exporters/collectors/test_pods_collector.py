"""Pods and their devices, asked of a kubelet that speaks real gRPC, and of ones that do not answer as they should."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import SourceError
from netkit.lab.virtual_node import virtual_sources
from netkit.model.missing import Missing, Reason
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.podresources import HeldDevice, parse_held_devices, read_held_devices
from netkit.sources.process_pods import parse_pod_uid, pod_names
from netkit.sources.tree import READ_LIMIT, Tree
from netkit_exporters.collecting import Machine, Reading
from netkit_exporters.collectors import pods
from netkit_exporters.collectors.pods import COLLECTOR
from netkit_exporters.held_devices import KEPT_SECONDS, identify
from tests.exporters import scrape
from tests.exporters.fake_kubelet import claim, kubelet, reply

UUID = "GPU-11111111-2222-3333-4444-555555555555"
HELD = [
    ("team-a", "trainer-0", "main", "nvidia.com/gpu", [UUID]),
    ("team-b", "trainer-1", "main", "nvidia.com/mellanoxnics", ["0000:5e:00.2"]),
]
NODE = MemoryTree(
    {"sys/devices/pci0000:5d/0000:5e:00.2/infiniband/mlx5_9/node_guid": b"0\n"},
    {"sys/bus/pci/devices/0000:5e:00.2": "../../../devices/pci0000:5d/0000:5e:00.2"},
)


def machine(place: Path) -> Machine:
    return Machine(tree=NODE, open_kernel=None, options={"pod_resources": str(place)})


class Asked:
    """The collector's kubelet target, asked again and again."""

    def __init__(self, place: Path) -> None:
        targets = COLLECTOR.open(machine(place)).targets()
        assert not isinstance(targets, Missing)
        (self.target,) = targets

    def read(self) -> Reading:
        return self.target.read()


def pods_of(reading: Reading) -> set[str]:
    return {labels[1] for labels in scrape.values(reading.samples, "netkit_pod_device_info")}


def readable(reading: Reading) -> dict[tuple[str, ...], float]:
    return scrape.values(reading.samples, "netkit_pod_resources_readable")


@contextmanager
def impostor(place: Path, answer: bytes) -> Iterator[None]:
    """Something that listens there, takes one call, sends bytes and waits."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen()
        done = threading.Event()

        def serve() -> None:
            caller, _ = listening.accept()
            with caller:
                caller.sendall(answer)
                done.wait(5)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def test_devices_are_named_by_what_other_series_carry(tmp_path: Path) -> None:
    """A GPU by UUID, a virtual function by address and RDMA device."""
    place = tmp_path / "kubelet.sock"
    with kubelet(place, lambda: reply(HELD)):
        scrape.check_golden("pods", Asked(place).read().samples)


def test_a_claimed_device_is_read(tmp_path: Path) -> None:
    """Dynamic resource allocation names driver and device."""
    place = tmp_path / "kubelet.sock"
    with kubelet(place, lambda: claim("trainer-2", "gpu.nvidia.com", "gpu-3")):
        (held,) = read_held_devices(str(place))
    assert (held.pod, held.resource, held.device) == ("trainer-2", "gpu.nvidia.com", "gpu-3")


def test_a_large_node_does_not_run_into_flow_control(tmp_path: Path) -> None:
    """An answer of 2 MB is many frames and more than HTTP/2's first window."""
    place = tmp_path / "kubelet.sock"
    many = [("team", f"pod-{number}", "main", "nvidia.com/gpu", [UUID] * 40) for number in range(1000)]
    with kubelet(place, lambda: reply(many)):
        assert len(read_held_devices(str(place))) == 40_000


@pytest.mark.fault("F01")
def test_no_socket_is_said_and_costs_nothing_else(tmp_path: Path) -> None:
    """Series without pods, and a reason."""
    reading = Asked(tmp_path / "absent.sock").read()
    assert readable(reading) == {("absent",): 0.0}
    assert reading.faults[0].reason is Reason.ABSENT


@pytest.mark.fault("F01")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may open every socket")
def test_a_socket_one_may_not_open_is_denied(tmp_path: Path) -> None:
    """The reason is another one."""
    place = tmp_path / "kubelet.sock"
    with kubelet(place, lambda: reply(HELD)):
        place.chmod(0)
        assert readable(Asked(place).read()) == {("denied",): 0.0}


@pytest.mark.fault("F02")
def test_a_kubelet_that_restarts_is_found_again(tmp_path: Path) -> None:
    """A new socket at the old place, with no restart of ours."""
    place = tmp_path / "kubelet.sock"
    asked = Asked(place)
    with kubelet(place, lambda: reply(HELD)):
        assert pods_of(asked.read()) == {"trainer-0", "trainer-1"}
    with kubelet(place, lambda: reply(HELD[:1])):
        again = asked.read()
    assert pods_of(again) == {"trainer-0"}
    assert readable(again) == {("",): 1.0}


@pytest.mark.fault("F03")
def test_a_call_without_an_answer_ends_and_the_last_map_stands_for_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds at most; after sixty the old map is worse than none."""
    place = tmp_path / "kubelet.sock"
    asked = Asked(place)
    with kubelet(place, lambda: reply(HELD)):
        asked.read()
    place.unlink(missing_ok=True)
    with impostor(place, b""):
        before = time.monotonic()
        waited = asked.read()
        assert 1.5 < time.monotonic() - before < 3.0
    assert readable(waited) == {("timeout",): 0.0}
    assert pods_of(waited) == {"trainer-0", "trainer-1"}
    start = time.monotonic()
    monkeypatch.setattr(pods, "monotonic", lambda: start + KEPT_SECONDS + 1)
    assert pods_of(asked.read()) == set()


@pytest.mark.fault("F03")
def test_an_answer_of_sixteen_megabytes_is_refused(tmp_path: Path) -> None:
    """The cap is four."""
    place = tmp_path / "kubelet.sock"
    with kubelet(place, lambda: b"\x0a" + b"\xff" * (16 << 20)), pytest.raises(SourceError, match=r"above 4 MiB|ended"):
        read_held_devices(str(place), 10.0)


@pytest.mark.fault("F03")
@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + b"\x00" * 8]
)
def test_what_is_no_grpc_server_is_refused(tmp_path: Path, answer: bytes) -> None:
    """An HTTP/1 server, a server that goes away at once."""
    place = tmp_path / "kubelet.sock"
    with impostor(place, answer), pytest.raises(SourceError):
        read_held_devices(str(place))


@pytest.mark.fault("F04")
@pytest.mark.parametrize(
    ("device", "uuid"),
    [
        (UUID, UUID),
        (f"{UUID}::7", UUID),
        ("MIG-11111111-2222-3333-4444-555555555555", "MIG-11111111-2222-3333-4444-555555555555"),
        ("nvidia0/vgpu1", ""),
        ("GPU-short", ""),
        ("", ""),
        (f"x{UUID}", ""),
    ],
)
def test_names_of_other_shapes_are_never_another_device(device: str, uuid: str) -> None:
    """Time slices are cut off; what is not understood stays empty."""
    held = HeldDevice(namespace="a", pod="b", container="c", resource="nvidia.com/gpu", device=device)
    assert identify(NODE, held).uuid == uuid
    assert identify(NODE, held).pci_bus_id == ""


@pytest.mark.fault("F04")
@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_refused(data: bytes) -> None:
    """Nothing but ValueError leaves the decoder."""
    try:
        parse_held_devices(data)
    except ValueError:
        return


@pytest.mark.fault("F04")
def test_an_answer_cut_anywhere_names_no_wrong_pod() -> None:
    """Whole pods before the cut, or a refusal."""
    whole = reply(HELD)
    everything = set(parse_held_devices(whole))
    for cut in range(len(whole)):
        try:
            found = parse_held_devices(whole[:cut])
        except ValueError:
            continue
        assert set(found) <= everything


@pytest.mark.fault("F05")
def test_a_pod_that_ended_is_gone_with_the_next_reading(tmp_path: Path) -> None:
    """No label outlives its pod."""
    place = tmp_path / "kubelet.sock"
    now = list(HELD)
    asked = Asked(place)
    with kubelet(place, lambda: reply(now)):
        assert pods_of(asked.read()) == {"trainer-0", "trainer-1"}
        del now[0]
        assert pods_of(asked.read()) == {"trainer-1"}


@pytest.mark.parametrize(
    ("cgroup", "uid"),
    [
        (
            b"0::/kubepods.slice/kubepods-burstable-pod1a2b3c4d_1111_2222_3333_0123456789ab.slice/cri-x.scope\n",
            "1a2b3c4d-1111-2222-3333-0123456789ab",
        ),
        (b"0::/kubepods/pod1a2b3c4d-1111-2222-3333-0123456789ab/abc\n", "1a2b3c4d-1111-2222-3333-0123456789ab"),
        (b"0::/user.slice/session-1.scope\n", None),
        (b"0::/", None),
    ],
)
def test_a_control_group_names_its_pod(cgroup: bytes, uid: str | None) -> None:
    """Both cgroup drivers of the kubelet; a login session is no pod."""
    assert parse_pod_uid(cgroup) == uid


def test_folders_of_logs_name_pods(tmp_path: Path) -> None:
    """What does not look like one is passed over."""
    (tmp_path / "team-a_trainer-0_1a2b3c4d-1111-2222-3333-0123456789ab").mkdir()
    (tmp_path / "lost+found").mkdir()
    assert pod_names(tmp_path) == {"1a2b3c4d-1111-2222-3333-0123456789ab": ("team-a", "trainer-0")}
    assert pod_names(tmp_path / "absent") == {}


def test_queue_pairs_are_followed_to_their_pod(tmp_path: Path) -> None:
    """Process, control group, UID, folder of logs; processes of no pod and the kernel's own are left out."""
    sources = virtual_sources("node-7")
    uid = "1a2b3c4d-1111-2222-3333-0123456789ab"
    (tmp_path / f"team-a_trainer-0_{uid}").mkdir()
    cgroup = f"0::/kubepods/pod{uid}/x\n".encode()
    kernel, tree = sources.kernel, InPods(sources.tree, cgroup)
    assert kernel is not None
    inside = Machine(tree=cast("Tree", tree), open_kernel=lambda: kernel, options={"pod_logs": str(tmp_path)})
    found = scrape.values(scrape.samples(COLLECTOR, inside), "netkit_pod_rdma_queue_pairs")
    assert found
    assert {labels[:3] for labels in found} == {("team-a", "trainer-0", uid)}
    outside = Machine(tree=MemoryTree({}), open_kernel=lambda: kernel, options={"pod_logs": str(tmp_path)})
    assert scrape.values(scrape.samples(COLLECTOR, outside), "netkit_pod_rdma_queue_pairs") == {}


class InPods:
    """A tree in which every process runs in one pod."""

    def __init__(self, tree: Tree, cgroup: bytes) -> None:
        self._tree = tree
        self._cgroup = cgroup

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        return self._cgroup if path.endswith("/cgroup") else self._tree.read(path, limit)

    def __getattr__(self, name: str) -> object:
        return getattr(self._tree, name)
