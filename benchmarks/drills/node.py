"""A made-up node on disk whose counters move: sysfs, procfs, kernel log, driver statistics, NVML's answer. Synthetic.

Files as `netkit.lab.virtual_node` makes them, and beside them what a node under load counts. A path of `moves` is one
counter: below `sys/`, or `ethtool/<interface>/<statistic>`, or `nvml/<gpu>/<count>`.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netkit.catalogue.counters.mlx5 import TABLE
from netkit.lab.virtual_drivers import virtual_drivers
from netkit.lab.virtual_files import virtual_files
from netkit.lab.virtual_kernel import LOSSLESS, VirtualKernel
from netkit.lab.virtual_layout import VirtualGpu, VirtualNic, gpus, nics
from netkit.model.missing import Missing
from netkit.sources.netlink.driver_statistics import read_driver_statistics
from netkit.sources.tree import Tree

SMALL, WHOLE = 2, 8
"""Devices of a node; what a platform expects of a machine is asked of whole ones only."""
LINE_RATE = 50e9
"""Bytes per second of a port."""
_STATISTICS = tuple(row.name.replace("%d", str(LOSSLESS)) for row in TABLE.statistics)
"""What the driver counts beside what a virtual node has; of priorities, the lossless one."""
_GPU_COUNTS = (
    *(f"throttle_{reason}_nanoseconds" for reason in ("power", "thermal")),
    *(f"nvlink_{kind}_errors" for kind in ("replay", "recovery", "crc_flit", "crc_data")),
)
_PACKET = 4096
_LANE_OCTETS = 4


@dataclass(slots=True)
class Node:
    """One node: `place` is its folder, `moves` the growth of each counter a second."""

    name: str
    place: Path
    devices: int = SMALL
    infiniband: bool = False
    """Whether its ports are InfiniBand's, which count errors that Ethernet's leave at 0."""
    misplaced: tuple[int, ...] = ()
    moves: dict[str, float] = field(default_factory=dict)
    _counts: dict[str, float] = field(default_factory=dict)
    _moved_at: float = 0.0
    _sheets: dict[str, dict[str, int]] = field(default_factory=dict)
    _nvml: dict[str, Any] = field(default_factory=dict)

    def lay_out(self) -> None:
        """Write every file; the counters stand where a node under load for some minutes has them."""
        cards, there = self.nics(), self.gpus()
        self.lay_out_files()
        (self.place / "kmsg").write_bytes(b"")
        (self.place / "results").mkdir()
        kernel = VirtualKernel(cards, there)
        for nic in cards:
            counted = read_driver_statistics(kernel, nic.interface)
            assert not isinstance(counted, Missing)
            counts = {one.name: int(one.raw) for one in counted if isinstance(one.raw, int)}
            self._sheets[nic.interface] = dict.fromkeys(_STATISTICS, 0) | counts
        answer = virtual_drivers(there, cards).nvml()
        assert not isinstance(answer, Missing)
        self._nvml = dict(answer)
        for gpu in there:
            self.gpu(gpu.index)["values"]["counts"] = dict.fromkeys(_GPU_COUNTS, 0)
        for nic in cards:
            for path, rate in _traffic(nic):
                self.count(path, rate)
        self._moved_at = time.monotonic()
        self.move()

    def lay_out_files(self) -> None:
        """Write sysfs and procfs, every counter of the driver in it."""
        tree = virtual_files(self.name, self.gpus(), self.nics())
        for root in ("sys", "proc"):
            if not (self.place / root).exists():
                _write_tree(tree, root, self.place)
        for nic in self.nics():
            _write(self.place / f"sys/class/net/{nic.interface}/flags", b"0x1003\n")
            if self.infiniband:
                self.set(port(nic.device, "link_layer"), "InfiniBand")
            for row in TABLE.hardware:
                _write(self.place / port(nic.device, f"hw_counters/{row.name}"), b"0\n")

    def nics(self) -> tuple[VirtualNic, ...]:
        """Return its NICs."""
        return nics(self.name, self.misplaced)[: self.devices]

    def gpus(self) -> tuple[VirtualGpu, ...]:
        """Return its GPUs."""
        return gpus()[: self.devices]

    def count(self, path: str, rate: float = 0.0) -> None:
        """Let there be a counter, at 0 unless it was there."""
        self.moves.setdefault(path, rate)
        if path.startswith("sys/") and not (self.place / path).exists():
            _write(self.place / path, b"0\n")

    def move(self, seconds: float | None = None) -> None:
        """Let every counter grow by what some time gives: what passed since the last call, or as long as is said."""
        now = time.monotonic()
        passed, self._moved_at = now - self._moved_at if seconds is None else seconds, now
        for path, rate in self.moves.items():
            self._counts[path] = self._counts.get(path, 0.0) + rate * passed
            self._put(path, int(self._counts[path]))
        self._save()

    def set(self, path: str, text: str) -> None:
        """Give a file of sysfs another text."""
        _overwrite(self.place / path, f"{text}\n".encode())

    def log(self, line: str) -> None:
        """Add a record to the kernel log."""
        with (self.place / "kmsg").open("a") as file:
            file.write(f"4,1,{int(time.monotonic() * 1e6)},-;{line}\n")

    def gpu(self, index: int) -> dict[str, Any]:
        """Return what NVML tells about a GPU, to be changed in place."""
        fields: dict[str, Any] = self._nvml["devices"][index]["fields"]
        return fields

    def _put(self, path: str, count: int) -> None:
        root, _, rest = path.partition("/")
        if root == "ethtool":
            interface, _, name = rest.partition("/")
            self._sheets[interface][name] = count
        elif root == "nvml":
            index, _, name = rest.partition("/")
            self.gpu(int(index))["values"]["counts"][name] = count
        else:
            # A driver that is gone counts nothing.
            with suppress(FileNotFoundError):
                _overwrite(self.place / path, f"{count}\n".encode())

    def _save(self) -> None:
        (self.place / "ethtool").mkdir(exist_ok=True)
        for interface, sheet in self._sheets.items():
            text = "".join(f"{name}: {count}\n" for name, count in sheet.items())
            _replace(self.place / "ethtool" / interface, text)
        _replace(self.place / "nvml.json", json.dumps(self._nvml))


def port(device: str, name: str) -> str:
    """Return the path of a file of a device's port."""
    return f"sys/class/infiniband/{device}/ports/1/{name}"


def _traffic(nic: VirtualNic) -> Iterator[tuple[str, float]]:
    """Yield what a port at half its line rate counts, with the few corrected bits PAM4 always has."""
    packets = LINE_RATE / 2 / _PACKET
    for way in ("xmit", "rcv"):
        yield port(nic.device, f"counters/port_{way}_data"), LINE_RATE / 2 / _LANE_OCTETS
        yield port(nic.device, f"counters/port_{way}_packets"), packets
    statistics: Mapping[str, float] = {
        **{f"{way}_{what}": LINE_RATE / 2 for way in ("rx", "tx") for what in ("bytes", "prio3_bytes")},
        **{f"{way}_{what}": packets for way in ("rx", "tx") for what in ("packets", "prio3_packets")},
        "rx_bits_phy": LINE_RATE * 8,
        "rx_corrected_bits_phy": 40.0,
    }
    for name, rate in statistics.items():
        yield f"ethtool/{nic.interface}/{name}", rate


def _write_tree(tree: Tree, path: str, place: Path) -> None:
    """Write a folder of a tree as real files, and its links as links."""
    found = tree.list(path)
    assert not isinstance(found, Missing)
    for name in found:
        inside = f"{path}/{name}"
        real, data = tree.link(inside), tree.read(inside, 1 << 20)
        if isinstance(real, str) and real != inside:
            (place / inside).parent.mkdir(parents=True, exist_ok=True)
            (place / inside).symlink_to(os.path.relpath(place / real, (place / inside).parent))
        elif isinstance(data, bytes):
            _write(place / inside, data)
        else:
            _write_tree(tree, inside, place)


def _write(place: Path, data: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def _overwrite(place: Path, data: bytes) -> None:
    """Write in one call over what is there: readers keep the file open, and a growing count is never seen in part."""
    descriptor = os.open(place, os.O_WRONLY)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def _replace(place: Path, text: str) -> None:
    new = place.with_name(f".{place.name}.new")
    new.write_text(text)
    new.replace(place)


def remove(place: Path) -> None:
    """Take a file, link or folder away, as a device that goes does."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    else:
        shutil.rmtree(place)
