"""Who a process is: its name, pod and container; processes that end meanwhile, or cannot be seen."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing, Reason
from netkit.model.process import Process
from netkit.sources.job_processes import read_processes
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.tree import LiveTree

UID = "0a1b2c3d-1111-4222-8333-444455556666"
UNDERSCORED = UID.replace("-", "_")
CONTAINER = "f" * 64
HOST = {"proc/2/comm": b"kthreadd\n", "proc/self/mountinfo": b"22 1 0:21 / /proc rw - proc proc rw\n"}


def stat(pid: int, name: str = "python3", state: str = "S", started: int = 12_345) -> bytes:
    return f"{pid} ({name}) {state} {'1 ' * 18}{started} 7 7\n".encode()


def tree(files: dict[str, bytes | int]) -> MemoryTree:
    return MemoryTree({**HOST, **files})


def only(files: dict[str, bytes | int], pid: int = 7) -> Process:
    (process,) = read_processes(tree(files), [pid]).processes
    return process


@pytest.mark.parametrize(
    ("group", "pod", "container"),
    [
        (
            f"0::/kubepods.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice/cri-containerd-{CONTAINER}.scope",
            UID,
            CONTAINER,
        ),
        (f"0::/kubepods/besteffort/pod{UID}/{CONTAINER}", UID, CONTAINER),
        (f"12:cpuset:/\n3:memory:/kubepods/pod{UID}/{CONTAINER}\n0::/", UID, CONTAINER),
        (f"0::/system.slice/docker-{CONTAINER}.scope", "", CONTAINER),
        ("0::/user.slice/user-1000.slice/session-3.scope", "", ""),
        ("0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0", "", ""),
    ],
    ids=["systemd", "cgroupfs", "version-1", "docker", "login", "slurm"],
)
def test_a_control_group_names_the_pod_and_the_container(group: str, pod: str, container: str) -> None:
    """In the forms kubelets and engines give their groups; a process of none of them is in no pod."""
    process = only({"proc/7/stat": stat(7), "proc/7/cgroup": f"{group}\n".encode()})
    assert process.name == "python3"
    assert process.started_seconds == 123.45
    assert ("" if isinstance(process.pod, Missing) else process.pod) == pod
    assert ("" if isinstance(process.container, Missing) else process.container) == container


@pytest.mark.parametrize("name", ["a) S (b", "x y", ") R 1 1", "", "\x1b[31m"])
def test_any_name_is_told_from_what_follows(name: str) -> None:
    """A process may call itself anything; escapes are shown."""
    process = only({"proc/7/stat": stat(7, name)})
    assert process.name.replace("\\x1b", "\x1b") == name
    assert process.started_seconds == 123.45


@pytest.mark.fault("D09")
def test_processes_that_end_are_skipped_and_counted() -> None:
    """Gone before the look, between two looks, and a zombie: three ended, one denied, the others whole."""
    files: dict[str, bytes | int] = {
        "proc/2000/stat": errno.ESRCH,
        "proc/2001/stat": stat(2001, state="Z"),
        "proc/2002/stat": errno.EACCES,
        "proc/2003/stat": stat(2003),
        "proc/2003/cgroup": errno.ESRCH,
    }
    found = read_processes(tree(files), [2000, 2001, 2002, 2003, 2004])
    assert (found.ended, found.denied) == (3, 1)
    (left,) = found.processes
    assert left.pid == 2003
    assert isinstance(left.control_group, Missing)
    assert left.control_group.reason is Reason.ABSENT


@pytest.mark.fault("D09")
def test_real_processes_that_come_and_go_raise_nothing() -> None:
    """Children end at random while all numbers around them are read."""
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            subprocess.run([sys.executable, "-S", "-c", ""], check=True)

    worker = threading.Thread(target=churn)
    worker.start()
    try:
        live = LiveTree()
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            newest = max(psutil.pids())
            found = read_processes(live, range(newest - 40, newest + 5))
            assert found.ended + found.denied + len(found.processes) == 45
    finally:
        stop.set()
        worker.join()


def test_processes_are_those_of_psutil() -> None:
    """An independent reader of the same files: names of processes, and when they started."""
    live = LiveTree()
    for process in map(psutil.Process, psutil.pids()[:20]):
        (ours,) = read_processes(live, [process.pid]).processes or (None,)
        if ours is None or not process.is_running():
            continue
        assert ours.name == process.name()[:15] or process.name().startswith(ours.name)
        assert ours.started_seconds == pytest.approx(process.create_time() - psutil.boot_time(), abs=1.5)


@pytest.mark.fault("D10")
@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"proc/self/mountinfo": b"22 1 0:21 / /proc rw,nosuid - proc proc rw,hidepid=2\n"}, "hidepid"),
        ({"proc/self/mountinfo": b"22 1 0:21 / /proc rw - proc proc rw,gid=4,hidepid=invisible\n"}, "hidepid"),
        ({"proc/2/comm": b"bash\n"}, "hostPID: true"),
        ({"proc/2/comm": errno.ENOENT}, "hostPID: true"),
    ],
    ids=["hidepid=2", "hidepid=invisible", "namespace-with-a-second-process", "namespace"],
)
def test_what_hides_processes_is_named(files: dict[str, bytes | int], words: str) -> None:
    """The table is empty for a reason, and the reason says what would change it."""
    found = read_processes(tree(files), [4242])
    assert found.hidden is not None
    assert found.hidden.reason is Reason.DENIED
    assert words in found.hidden.detail
    assert found.processes == ()


@pytest.mark.fault("D10")
@pytest.mark.parametrize("option", ["hidepid=0", "hidepid=off", "gid=3"])
def test_a_proc_that_hides_nothing_is_not_suspected(option: str) -> None:
    """On the host, processes are all there."""
    mount = f"22 1 0:21 / /proc rw - proc proc rw,{option}\n".encode()
    assert read_processes(tree({"proc/self/mountinfo": mount}), []).hidden is None


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_are_read_or_counted(one: bytes, other: bytes) -> None:
    """Nothing is raised."""
    found = read_processes(tree({"proc/7/stat": one, "proc/7/cgroup": other}), [7])
    assert len(found.processes) + found.ended + found.denied == 1


def _pids() -> Iterator[int]:
    yield from range(10_000_000, 10_010_000)


def test_a_crowd_of_numbers_is_bounded() -> None:
    """No more processes are looked at than any machine has ranks."""
    assert read_processes(tree({}), _pids()).ended == 4096
