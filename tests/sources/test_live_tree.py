"""The files of a machine: bounded, fenced, and never asked twice for what the firmware does not have."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from netkit.model.missing import Missing, Reason
from netkit.sources import tree as tree_module
from netkit.sources.attributes import integer, natural, text
from netkit.sources.rdma import read_rdma_devices
from netkit.sources.tree import LiveTree

LOOPBACK_SPEED = "sys/class/net/lo/speed"


def rooted(folder: Path) -> LiveTree:
    return LiveTree({"sys": folder})


def failing(monkeypatch: pytest.MonkeyPatch, code: int) -> list[int]:
    """Make every read of a file fail with `code`; returns the list of descriptors asked."""
    asked: list[int] = []

    def refuse(place: int, _limit: int, **_: bool) -> bytes:
        asked.append(place)
        raise OSError(code, "injected")

    monkeypatch.setattr(tree_module, "_contents", refuse)
    return asked


@pytest.mark.fault("C03")
def test_a_real_attribute_without_a_value_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loopback interface has no speed: the kernel says EINVAL, and is not asked again."""
    tree = LiveTree()
    first = tree.read(LOOPBACK_SPEED)
    if not isinstance(first, Missing) or first.detail != "EINVAL":
        pytest.skip("the loopback interface of this kernel answers something else")
    asked = failing(monkeypatch, errno.EIO)
    assert tree.read(LOOPBACK_SPEED) == first
    assert first.reason is Reason.UNSUPPORTED
    assert asked == []


@pytest.mark.fault("C03")
def test_a_device_that_is_added_again_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of a refused file ends with the folder it was in."""
    old, new, place = tmp_path / "old", tmp_path / "new", tmp_path / "device"
    for folder in (old, new):
        folder.mkdir()
        (folder / "counter").write_text("7\n")
    old.rename(place)
    tree = rooted(tmp_path)
    with monkeypatch.context() as injected:
        asked = failing(injected, errno.EINVAL)
        assert [tree.read("sys/device/counter"), tree.read("sys/device/counter")].count(b"7\n") == 0
        assert len(asked) == 1
    place.rename(tmp_path / "gone")
    new.rename(place)
    assert tree.read("sys/device/counter") == b"7\n"


@pytest.mark.fault("C04")
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("EIO", Reason.TIMEOUT),
        ("ENODATA", Reason.ABSENT),
        ("EOPNOTSUPP", Reason.UNSUPPORTED),
        ("EACCES", Reason.DENIED),
        ("EBUSY", Reason.TIMEOUT),
        ("ETIMEDOUT", Reason.TIMEOUT),
    ],
)
def test_other_failures_are_named_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: Reason
) -> None:
    """Only EINVAL is remembered: what failed for another reason may work at the next reading."""
    (tmp_path / "counter").write_text("7\n")
    tree = rooted(tmp_path)
    with monkeypatch.context() as injected:
        failing(injected, getattr(errno, code))
        found = tree.read("sys/counter")
    assert isinstance(found, Missing)
    assert (found.reason, found.detail) == (reason, code)
    assert tree.read("sys/counter") == b"7\n"


@pytest.mark.fault("C11")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"7", 7),
        (b"7\n", 7),
        (b"18446744073709551615\n", 2**64 - 1),
        (b"", Reason.MALFORMED),
        (b"\n", Reason.MALFORMED),
        (b" 7\n", Reason.MALFORMED),
        (b"7 \n", Reason.MALFORMED),
        (b"7\n\n", Reason.MALFORMED),
        (b"0x10\n", Reason.MALFORMED),
        (b"1e3\n", Reason.MALFORMED),
        (b"+7\n", Reason.MALFORMED),
        (b"1_000\n", Reason.MALFORMED),
        (b"\xd9\xa7\n", Reason.MALFORMED),
        (b"\xff\xfe\x00\x01", Reason.MALFORMED),
        (b"18446744073709551616\n", Reason.MALFORMED),
        (b"9" * 5000, Reason.MALFORMED),
        (b"N/A (no PMA)\n", Reason.UNSUPPORTED),
    ],
)
def test_a_number_is_digits_and_nothing_else(tmp_path: Path, content: bytes, expected: int | Reason) -> None:
    """Whatever is no plain number is Missing with a reason; it is never guessed and never 0."""
    (tmp_path / "counter").write_bytes(content)
    found = integer(rooted(tmp_path), "sys/counter")
    assert (found.reason if isinstance(found, Missing) else found) == expected


@pytest.mark.fault("C11")
def test_a_huge_file_costs_one_page(tmp_path: Path) -> None:
    """A file of one gigabyte is refused after reading a few kilobytes."""
    with (tmp_path / "counter").open("wb") as file:
        file.truncate(1 << 30)
    found = rooted(tmp_path).read("sys/counter")
    assert isinstance(found, Missing)
    assert (found.reason, found.detail) == (Reason.MALFORMED, "EFBIG")


@pytest.mark.fault("C16")
def test_links_may_not_leave_the_root(tmp_path: Path) -> None:
    """Neither a link out, nor one through a folder link, nor `..` reads a file outside."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("secret\n")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "above").symlink_to(tmp_path)
    tree = rooted(root)
    for path in ("sys/out", "sys/above/secret", "sys/../secret"):
        found = tree.read(path)
        assert isinstance(found, Missing)
        assert (found.reason, found.detail) == (Reason.DENIED, "EXDEV")
    assert isinstance(tree.list("sys/above"), Missing)
    assert isinstance(tree.link("sys/out"), Missing)
    assert not tree.exists("sys/above/secret")


@pytest.mark.fault("C16")
def test_a_root_with_a_longer_neighbour_is_still_a_fence(tmp_path: Path) -> None:
    """`/tree-other` is not below `/tree`, though its name begins the same."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree-other").mkdir()
    (tmp_path / "tree-other" / "file").write_text("x")
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "tree-other")
    assert isinstance(rooted(tmp_path / "tree").read("sys/link/file"), Missing)


@pytest.mark.fault("C16")
def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    """Links that lead to each other are Missing, not a hang."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    found = rooted(tmp_path).read("sys/a")
    assert isinstance(found, Missing)
    assert found.detail == "ELOOP"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: Path(path).mkdir()], ids=["pipe", "folder"])
def test_only_regular_files_are_read(tmp_path: Path, make: object) -> None:
    """A pipe nobody writes to does not make the reader wait."""
    assert callable(make)
    make(tmp_path / "thing")
    found = rooted(tmp_path).read("sys/thing")
    assert isinstance(found, Missing)
    assert found.detail == "EISDIR"


@pytest.mark.fault("C06")
def test_a_file_that_goes_between_listing_and_reading_is_missing(tmp_path: Path) -> None:
    """What vanished is absent; what is still there is read."""
    for name in ("a", "b"):
        (tmp_path / name).write_text("1\n")
    tree = rooted(tmp_path)
    names = tree.list("sys")
    (tmp_path / "a").unlink()
    assert names == ("a", "b")
    assert isinstance(integer(tree, "sys/a"), Missing)
    assert integer(tree, "sys/b") == 1


@pytest.mark.fault("C19")
def test_a_driver_that_loads_later_is_seen_at_the_next_reading(tmp_path: Path) -> None:
    """The same tree, asked again, finds the class folder and the device in it."""
    tree = rooted(tmp_path)
    before = read_rdma_devices(tree)
    device = tmp_path / "class" / "infiniband" / "mlx5_0"
    (device / "ports" / "1").mkdir(parents=True)
    after = read_rdma_devices(tree)
    assert isinstance(before, Missing)
    assert before.reason is Reason.ABSENT
    assert not isinstance(after, Missing)
    assert [found.name for found in after] == ["mlx5_0"]


def test_a_path_says_where_it_really_is(tmp_path: Path) -> None:
    """Links are followed and the answer is in the form questions have."""
    (tmp_path / "devices" / "pci0000:00").mkdir(parents=True)
    (tmp_path / "bus").symlink_to("devices/pci0000:00")
    assert rooted(tmp_path).link("sys/bus") == "sys/devices/pci0000:00"
    assert rooted(tmp_path).link("sys") == "sys"


def test_minus_one_is_the_kernels_word_for_unknown(tmp_path: Path) -> None:
    """A NUMA node of -1 is not a node."""
    (tmp_path / "numa_node").write_text("-1\n")
    found = natural(rooted(tmp_path), "sys/numa_node")
    assert isinstance(found, Missing)
    assert found.reason is Reason.UNSUPPORTED


def test_text_from_a_device_cannot_reach_the_terminal(tmp_path: Path) -> None:
    """Control characters of a description arrive as visible escapes."""
    (tmp_path / "node_desc").write_bytes(b"n1\x1b[31m\xff\n")
    found = text(rooted(tmp_path), "sys/node_desc")
    assert isinstance(found, str)
    assert found.isprintable()


def test_long_files_give_their_last_matching_lines(tmp_path: Path) -> None:
    """Only lines that match leave, the newest of them."""
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % number for number in range(1000)))
    kept = rooted(tmp_path).lines("sys/log", re.compile(rb"7$"), 2)
    assert kept == b"line 987\nline 997\n"


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """A thousand questions of every kind leave as many descriptors as there were."""
    (tmp_path / "file").write_text("1\n")
    (tmp_path / "out").symlink_to("/etc")
    tree = rooted(tmp_path)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    for path in ("sys/file", "sys/out", "sys/none", "sys") * 250:
        tree.read(path)
        tree.list(path)
        tree.link(path)
        tree.exists(path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count
