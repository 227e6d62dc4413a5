"""The binary table of AMD GPUs and the compute driver's processes; every table and machine here is synthetic."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.gpu import Throttle
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.sources.amd import read_amd_gpus
from netkit.sources.amd_metrics import parse_metrics
from netkit.sources.amd_processes import read_amd_processes
from tests.sources.gpu.test_amd import machine
from tests.sources.made_up import Machine

U16, U32, U64 = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
_HEADER = [("size", U16), ("format", ctypes.c_uint8), ("content", ctypes.c_uint8)]
_HEAT = [("hotspot", U16), ("mem", U16), ("vrsoc", U16), ("socket_power", U16), ("gfx", U16), ("umc", U16)]
_CLOCKS = [("energy", U64), ("system_clock", U64)]
_STATUS = [("throttle_status", U32), ("lock", U32)]
_SUMS = [("accumulation", U32), *((f"residency{n}", U32) for n in range(5)), ("lock", U32)]
_WIRES = [("pcie_width", U16), ("pcie_speed", U16), ("xgmi_width", U16), ("xgmi_speed", U16), ("gfx_acc", U32)]
_PCIE = [("mem_acc", U32), *((name, U64) for name in ("bw_acc", "bw_inst", "recov", "replay", "rover"))]
_NAKS = [("nak_sent", U32), ("nak_rcvd", U32)]
_MOVED = [("read", U64 * 8), ("written", U64 * 8)]
_END = [("firmware_clock", U64), ("more", U16 * 40)]
_V13 = [
    *((f"t{n}", U16) for n in range(6)),
    *((f"a{n}", U16) for n in range(3)),
    ("socket_power", U16),
    *_CLOCKS,
    *((f"c{n}", U16) for n in range(14)),
    *(("throttle_status", U32), ("fan", U16), ("pcie_width", U16), ("pcie_speed", U16), ("padding", U16)),
    *(
        ("gfx_acc", U32),
        ("mem_acc", U32),
        ("hbm", U16 * 4),
        ("firmware_clock", U64),
        ("mv", U16 * 4),
        ("throttle", U64),
    ),
]
_STRUCTS: dict[tuple[int, int], list[Any]] = {
    (1, 3): _V13,
    (1, 4): [*_HEAT, ("vcn", U16 * 4), *_CLOCKS, *_STATUS, *_WIRES, *_PCIE, *_MOVED, *_END],
    (1, 5): [*_HEAT, ("vcn", U16 * 4), ("jpeg", U16 * 32), *_CLOCKS, *_STATUS, *_WIRES, *_PCIE, *_NAKS, *_MOVED, *_END],
    (1, 6): [*_HEAT, *_CLOCKS, *_SUMS, *_WIRES, *_PCIE, *_NAKS, *_MOVED, *_END],
    (1, 7): [
        *_HEAT,
        ("bandwidth", U64),
        *_CLOCKS,
        *_SUMS,
        *_WIRES,
        *_PCIE,
        *_NAKS,
        *_MOVED,
        ("status", U16 * 8),
        *_END,
    ],
}
_STRUCTS[1, 8] = _STRUCTS[1, 7]


def table(version: tuple[int, int], **values: Any) -> bytes:
    """The table as a C compiler lays it out."""

    class Table(ctypes.Structure):
        _fields_ = [*_HEADER, *_STRUCTS[version]]

    made = Table(ctypes.sizeof(Table), *version)
    for name, value in values.items():
        setattr(made, name, type(getattr(made, name))(*value) if isinstance(value, tuple) else value)
    return bytes(made)


def wired(version: tuple[int, int], **more: Any) -> bytes:
    return table(version, xgmi_width=16, xgmi_speed=32, read=(5, 0, 7), written=(1, 0, 2), replay=3, **more)


@pytest.mark.parametrize("version", [(1, 4), (1, 5), (1, 6)])
def test_links_that_moved_data_are_up(version: tuple[int, int]) -> None:
    """Sixteen lanes of 32 Gbit/s are 64 GB/s; a link without traffic may be idle, and is not called down."""
    found = parse_metrics(wired(version), "m")
    assert not isinstance(found.links, Missing)
    assert [link.active is True for link in found.links] == [True, False, True, *[False] * 5]
    assert isinstance(found.links[1].active, Missing)
    assert {link.bytes_per_second for link in found.links} == {64e9}
    assert found.pcie_replays == 3


@pytest.mark.parametrize("version", [(1, 7), (1, 8)])
def test_links_have_states_in_newer_tables(version: tuple[int, int]) -> None:
    """Up or down is said; a place without a link is all ones and left out."""
    ones = 2**64 - 1
    read, written = (9, 9, 9, 0, ones, ones, ones, ones), (1, 1, 1, 0, ones, ones, ones, ones)
    status = (1, 1, 0, 1, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF)
    found = parse_metrics(table(version, xgmi_width=16, xgmi_speed=32, read=read, written=written, status=status), "m")
    assert not isinstance(found.links, Missing)
    assert [(link.index, link.active) for link in found.links] == [(0, True), (1, True), (2, False), (3, True)]


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        (0, ()),
        (1 << 0, (Throttle.SOFTWARE_POWER_CAP,)),
        (1 << 22, (Throttle.HARDWARE_SLOWDOWN,)),
        (1 << 36 | 1 << 34, (Throttle.HARDWARE_THERMAL,)),
        (1 << 3 | 1 << 47, (Throttle.SOFTWARE_POWER_CAP, Throttle.HARDWARE_THERMAL)),
    ],
)
def test_what_holds_clocks_back(bits: int, expected: tuple[Throttle, ...]) -> None:
    """Power limits, current limits and heat, in bits that are the same for every chip."""
    assert parse_metrics(table((1, 3), throttle=bits), "m").throttle == expected


@pytest.mark.parametrize(("version", "words"), [((1, 4), "differ by chip"), ((1, 6), "sums")])
def test_throttling_that_does_not_say_now_is_missing(version: tuple[int, int], words: str) -> None:
    """A sum since the driver loaded is no reason for anything today."""
    found = parse_metrics(table(version), "m").throttle
    assert isinstance(found, Missing)
    assert words in found.detail


@pytest.mark.parametrize("version", [(2, 4), (3, 0), (1, 0), (1, 9), (9, 9)])
def test_a_version_nobody_knows_is_unsupported(version: tuple[int, int]) -> None:
    """Its fields are somewhere else."""
    found = parse_metrics(b"\x40\x00" + bytes(version) + bytes(60), "m").links
    assert isinstance(found, Missing)
    assert (found.reason, found.detail) == (Reason.UNSUPPORTED, f"version {version[0]}.{version[1]} of the table")


@pytest.mark.parametrize("version", sorted(_STRUCTS))
def test_a_table_cut_anywhere_is_malformed(version: tuple[int, int]) -> None:
    """No number from a table that is not whole."""
    whole = wired(version) if version != (1, 3) else table(version)
    for length in range(len(whole)):
        found = parse_metrics(whole[:length], "m")
        assert isinstance(found.links, Missing)
        assert isinstance(found.pcie_replays, Missing)


@given(st.binary(max_size=600))
def test_any_bytes_are_read(data: bytes) -> None:
    """Nothing is raised."""
    parse_metrics(data, "m")
    for version in _STRUCTS:
        parse_metrics(b"\x00\x00" + bytes(version) + data, "m")


def compute_driver(made: Machine) -> Machine:
    """The compute driver's class over two GPUs: a processor's node, two GPUs' nodes, two processes."""
    at = "sys/class/kfd/kfd"
    made.texts(f"{at}/topology/nodes/0", {"gpu_id": "0", "properties": "cpu_cores_count 96"})
    for gpu in (0, 1):
        made.texts(f"{at}/topology/nodes/{gpu + 1}", {"gpu_id": str(41000 + gpu)})
        made.texts(f"{at}/topology/nodes/{gpu + 1}", {"properties": f"domain 0\nlocation_id {gpu << 8}\nnum_xcc 8"})
        made.texts(f"{at}/proc/{700 + gpu}", {f"vram_{41000 + gpu}": "1048576", f"vram_{41001 - gpu}": "0"})
    return made


def test_processes_belong_to_the_gpus_they_have_memory_on() -> None:
    """By the GPU's id, which has its slot beside it; 0 bytes is a process that only looked."""
    found = read_amd_processes(compute_driver(Machine()).tree())
    assert not isinstance(found, Missing)
    pids = {str(address): [process.pid for process in processes] for address, processes in found.items()}
    assert pids == {"0000:00:00.0": [700], "0000:01:00.0": [701]}


def test_a_gpu_carries_its_table_and_its_processes() -> None:
    """Both reach the record of the GPU; the file's own replay count goes before the table's."""
    made = compute_driver(machine())
    for path in [path for path in made.files if path.endswith("/gpu_busy_percent")]:
        made.files[path.replace("gpu_busy_percent", "gpu_metrics")] = wired((1, 6))
    found = read_amd_gpus(made.tree())
    assert not isinstance(found, Missing)
    first = found.gpus[0]
    assert not isinstance(first.links, Missing)
    assert len(first.links) == 8
    assert not isinstance(first.processes, Missing)
    assert [process.pid for process in first.processes] == [700]
    assert first.pcie.replays == 4
    assert first.address == PciAddress.parse("0000:00:00.0")
