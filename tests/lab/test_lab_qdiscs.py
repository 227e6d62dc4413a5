"""Which netlink requests a change of setting makes, written down by a socket that sends nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from netkit.lab.effects import End, Lane, Setting
from netkit.lab.qdiscs import change, plant

HEALTHY = Setting(rate=25e6, queue=1_250_000)
LANE = Lane(end=End.DESTINATION, address="10.0.0.6", rate=20e6)


class Recorder:
    """Stands where a netlink socket would, and keeps (command, kind, handle) of what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, int]] = []
        self.options: list[dict[str, Any]] = []

    def tc(self, command: str, kind: str | None = None, index: int = 0, handle: int = 0, **options: Any) -> None:
        assert index == 5
        self.asked.append((command, kind, handle))
        self.options.append(options)

    def link(self, command: str, *, index: int, state: str) -> None:
        self.asked.append((command, state, index))


def asked(old: Setting, new: Setting) -> list[tuple[str, str | None, int]]:
    recorder = Recorder()
    change(recorder, 5, old, new)
    return recorder.asked


def test_an_unshaped_device_is_left_to_the_kernel() -> None:
    """Nothing is asked for it when it is made."""
    recorder = Recorder()
    plant(recorder, 5, Setting(rate=None, queue=0))
    assert recorder.asked == []


def test_a_cut_changes_classes_and_leaves_the_queue_alone() -> None:
    """Packets that wait stay where they are."""
    cut = replace(HEALTHY, rate=20e6)
    assert asked(HEALTHY, cut) == [("replace-class", "htb", 0x10001), ("replace-class", "htb", 0x10010)]


def test_loss_comes_before_anything_else_and_its_end_brings_the_old_queue_back() -> None:
    """A kernel without netem refuses the first request; nothing is half done then."""
    lossy = replace(HEALTHY, loss=0.01, rate=20e6, up=False)
    assert asked(HEALTHY, lossy)[0] == ("replace", "netem", 0x80100000)
    assert asked(lossy, HEALTHY)[0] == ("replace", "bfifo", 0x100000)
    recorder = Recorder()
    change(recorder, 5, HEALTHY, replace(HEALTHY, loss=0.01, delay=0.005))
    assert recorder.options == [{"parent": 0x10010, "delay": 5000, "loss": 1.0, "limit": 10_000}]


def test_loss_on_an_unshaped_device_sits_at_its_root() -> None:
    """And is deleted again, which brings the kernel's own queue back."""
    bare = Setting(rate=None, queue=0)
    lossy = replace(bare, loss=0.01)
    assert asked(bare, lossy) == [("replace", "netem", 0x80100000)]
    assert asked(lossy, bare) == [("del", None, 0x80100000)]


def test_a_lane_comes_with_class_queue_and_filter_and_goes_with_them() -> None:
    """Filter first on the way out: a class in use cannot be deleted."""
    laned = replace(HEALTHY, lanes=(LANE,))
    assert [row[:2] for row in asked(HEALTHY, laned)] == [
        ("replace-class", "htb"),
        ("replace", "bfifo"),
        ("add-filter", "u32"),
    ]
    assert [row[0] for row in asked(laned, HEALTHY)] == ["del-filter", "del-class"]


def test_a_lane_without_a_rate_follows_its_device() -> None:
    """A cut uplink cuts the lanes of its nodes too."""
    shared = replace(HEALTHY, lanes=(replace(LANE, rate=None),))
    assert ("replace-class", "htb", 0x10106) in asked(shared, replace(shared, rate=10e6))


def test_the_same_setting_asks_nothing() -> None:
    """What does not differ is not touched."""
    laned = replace(HEALTHY, lanes=(LANE,), loss=0.1)
    assert asked(laned, laned) == []
