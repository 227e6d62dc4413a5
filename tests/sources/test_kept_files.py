"""Files read again and again: one call each, new values seen, refusals remembered, devices that come back found."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from netkit.model.missing import Missing, Reason
from netkit.sources.kept_files import KeptFiles
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.tree import LiveTree


class Counting(LiveTree):
    """A tree that counts how often a file is opened."""

    def __init__(self, root: Path) -> None:
        super().__init__({"sys": root})
        self.opened: list[str] = []

    def open(self, path: str) -> int:
        self.opened.append(path)
        return super().open(path)


@pytest.fixture
def tree(tmp_path: Path) -> Counting:
    (tmp_path / "counter").write_text("1\n")
    return Counting(tmp_path)


def test_a_file_is_opened_once_and_read_anew(tree: Counting, tmp_path: Path) -> None:
    """The descriptor stays; the value is today's."""
    files = KeptFiles(tree)
    assert files.read("sys/counter") == b"1\n"
    (tmp_path / "counter").write_text("22\n")
    assert files.read("sys/counter") == b"22\n"
    assert tree.opened == ["sys/counter"]
    files.close()
    assert files.read("sys/counter") == b"22\n"
    assert len(tree.opened) == 2


@pytest.mark.parametrize("code", [errno.ENODEV, errno.ENOENT])
def test_a_device_that_came_back_is_opened_again(tree: Counting, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A kept descriptor of a device that was taken out answers so; the file may be a new one."""
    files = KeptFiles(tree)
    files.read("sys/counter")
    first = fails_once(monkeypatch, code)
    assert files.read("sys/counter") == b"1\n"
    assert first
    assert len(tree.opened) == 2


def test_another_failure_costs_one_reading(tree: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    """EIO is said, and the next reading tries again."""
    files = KeptFiles(tree)
    files.read("sys/counter")
    fails_once(monkeypatch, errno.EIO)
    found = files.read("sys/counter")
    assert isinstance(found, Missing)
    assert (found.reason, found.detail) == (Reason.TIMEOUT, "EIO")
    assert files.read("sys/counter") == b"1\n"


def test_a_path_that_is_refused_is_not_read_again(tree: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each such reading makes some firmware write to the kernel log; a new object forgets."""
    files = KeptFiles(tree)
    fails_once(monkeypatch, errno.EINVAL)
    for _ in range(3):
        found = files.read("sys/counter")
        assert isinstance(found, Missing)
        assert found.detail == "EINVAL"
    assert len(tree.opened) == 1
    assert KeptFiles(tree).read("sys/counter") == b"1\n"


def test_a_real_refusal_is_remembered() -> None:
    """The kernel has no speed of the loopback interface."""
    tree = Counting(Path("/sys"))
    if not tree.exists("sys/class/net/lo/speed"):
        pytest.skip("no loopback interface here")
    files = KeptFiles(tree)
    assert [str(files.read("sys/class/net/lo/speed")) for _ in range(3)] == [
        "unsupported at sys/class/net/lo/speed: EINVAL"
    ] * 3
    assert len(tree.opened) == 1


def test_what_is_not_below_the_root_is_not_opened(tree: Counting, tmp_path: Path) -> None:
    """A link out of the tree is refused at the opening."""
    (tmp_path / "out").symlink_to("/etc/passwd")
    found = KeptFiles(tree).read("sys/out")
    assert isinstance(found, Missing)
    assert found.detail == "EXDEV"


def test_a_recording_is_read_as_it_is() -> None:
    """Without descriptors."""
    assert KeptFiles(MemoryTree({"sys/counter": b"7\n"})).read("sys/counter") == b"7\n"


def fails_once(monkeypatch: pytest.MonkeyPatch, code: int) -> list[int]:
    """Let the next pread fail."""
    real, failed = os.pread, list[int]()

    def pread(descriptor: int, size: int, offset: int) -> bytes:
        if not failed:
            failed.append(code)
            raise OSError(code, "as told")
        return real(descriptor, size, offset)

    monkeypatch.setattr("netkit.sources.kept_files.os.pread", pread)
    return failed
