"""A device whose firmware does not answer: it is missing, the others are fresh, and nobody waits for it twice."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import pytest

from netkit.model.missing import Missing, Reason
from netkit.sources.patient_tree import PatientTree, device_of
from netkit.sources.rdma import read_rdma_devices
from netkit.sources.recording import RecordingTree
from netkit.sources.snapshot import read_node
from netkit.sources.tree import READ_LIMIT, LiveTree
from tests.sources.made_up import Machine, roce_two_rails


class StallingTree:
    """A machine one of whose folders answers no read before it is let go."""

    def __init__(self, machine: Machine, stuck: str) -> None:
        self._tree = machine.tree()
        self._stuck = stuck
        self.waits = 0
        self.let_go = threading.Event()

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        if path.startswith(self._stuck):
            self.waits += 1
            self.let_go.wait(30)
        return self._tree.read(path, limit)

    def list(self, path: str) -> tuple[str, ...] | Missing:
        return self._tree.list(path)

    def link(self, path: str) -> str | Missing:
        return self._tree.link(path)

    def exists(self, path: str) -> bool:
        return self._tree.exists(path)

    def lines(self, path: str, keep: re.Pattern[bytes], most: int) -> bytes | Missing:
        return self._tree.lines(path, keep, most)


@pytest.fixture
def stalling() -> Iterator[StallingTree]:
    tree = StallingTree(roce_two_rails(), "sys/class/infiniband/mlx5_0/")
    yield tree
    tree.let_go.set()


@pytest.mark.fault("C17")
def test_a_device_that_hangs_is_missing_and_the_others_are_fresh(stalling: StallingTree) -> None:
    """One deadline for the first read of it, none for the rest; the second NIC is whole."""
    started = time.monotonic()
    devices = read_rdma_devices(PatientTree(stalling, 0.3))
    assert time.monotonic() - started < 3
    assert stalling.waits == 1
    assert not isinstance(devices, Missing)
    hung, fresh = devices
    assert isinstance(hung.node_guid, Missing)
    assert hung.node_guid.reason is Reason.TIMEOUT
    again = read_rdma_devices(roce_two_rails().tree())
    assert not isinstance(again, Missing)
    assert fresh == again[1]


@pytest.mark.fault("C17")
def test_a_whole_node_is_read_around_a_device_that_hangs(stalling: StallingTree) -> None:
    """Everything that is not of that device is what it is without it, in a recording too."""
    recorder = RecordingTree(PatientTree(stalling, 0.3))
    started = time.monotonic()
    node = read_node(recorder, 0.0)
    assert time.monotonic() - started < 5
    healthy = read_node(roce_two_rails().tree(), 0.0)
    assert node.pci_devices == healthy.pci_devices
    assert node.netdevs == healthy.netdevs
    assert "timeout" in str(node.rdma_devices)


def test_answers_and_refusals_pass_unchanged() -> None:
    """Patience costs a machine that answers nothing."""
    assert read_node(PatientTree(roce_two_rails().tree()), 0.0) == read_node(roce_two_rails().tree(), 0.0)


def test_a_fault_of_the_inner_tree_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug shows where the question was asked, and does not look like a hang."""

    class Broken(StallingTree):
        def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
            raise ValueError(path, limit)

    reported: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda about: reported.append(about.exc_type))
    with pytest.raises(RuntimeError, match="sys/x"):
        PatientTree(Broken(Machine(), "sys/none")).read("sys/x")
    assert reported == [ValueError]


def test_thousands_of_questions_cost_little() -> None:
    """Less than a tenth of a millisecond each beside the read itself."""
    tree = PatientTree(LiveTree())
    started = time.process_time()
    for _ in range(2000):
        tree.read("proc/sys/kernel/hostname")
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    ("path", "device"),
    [
        ("sys/class/infiniband/mlx5_0/ports/1/state", "sys/class/infiniband/mlx5_0"),
        ("sys/class/net/eth0/mtu", "sys/class/net/eth0"),
        ("sys/bus/pci/devices/0000:1b:00.0/config", "sys/bus/pci/devices/0000:1b:00.0"),
        ("sys/class/net", "sys/class/net"),
        ("proc/77/stat", "proc/77"),
        ("kmsg", "kmsg"),
    ],
)
def test_the_smallest_thing_that_hangs_alone(path: str, device: str) -> None:
    """One device of a class, one function of a bus, one process."""
    assert device_of(path) == device
