"""XIDs of the kernel log: counted, never remembered as a state."""

from __future__ import annotations

import pytest

from netkit.model.pci import PciAddress
from netkit.sources.kernel_log import parse_log
from netkit.sources.xid import count_xids, lost_gpus
from tests.sources.extra_recordings import extra_data

_LOG = (
    b"3,1,1000000,-;NVRM: Xid (PCI:0000:9b:00): 31, pid=7, name=python, MMU Fault\n"
    b"3,2,2000000,-;NVRM: Xid (PCI:0000:9b:00): 94, pid=7, name=python, Contained ECC error\n"
    b"3,3,3000000,-;NVRM: Xid (PCI:0000:9b:00): 31, pid=8, name=python, MMU Fault\n"
    b"3,4,4000000,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=9, name=python, MMU Fault\n"
)


@pytest.mark.fault("E12")
def test_xids_are_counted_with_the_time_of_the_last() -> None:
    """Two of one kind on one GPU are two; the time says how long ago, so nothing needs to be cleared."""
    counts = count_xids(parse_log(_LOG))
    assert [(str(one.address), one.code, one.count, one.last_seconds_since_boot) for one in counts] == [
        ("0000:9b:00.0", 31, 2, 3.0),
        ("0000:9b:00.0", 94, 1, 2.0),
        ("0000:3b:00.0", 31, 1, 4.0),
    ]


@pytest.mark.fault("E12")
def test_a_log_without_new_events_changes_no_count() -> None:
    """Reading the same log again gives the same counts and the same times: no gauge that stays up."""
    assert count_xids(parse_log(_LOG)) == count_xids(parse_log(_LOG))
    assert count_xids(parse_log(b"6,1,1,-;usb 1-1: new device\n")) == ()


@pytest.mark.fault("E13")
@pytest.mark.parametrize(
    "lines",
    [
        ["NVRM: The NVIDIA GPU 0000:9a:00.0 (PCI ID: 10de:2330) installed in this system has fallen off the bus"],
        [
            "NVRM: The NVIDIA GPU 0000:9a:00.0",
            "NVRM: (PCI ID: 10de:2330) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        ],
        ["NVRM: GPU 0000:9a:00.0: GPU has fallen off the bus."],
        ["NVRM: Xid (PCI:0000:9a:00): 79, GPU has fallen off the bus."],
    ],
    ids=["one line", "three lines", "short", "xid 79"],
)
def test_a_gpu_off_the_bus_is_named_in_every_wording(lines: list[str]) -> None:
    """The driver breaks the sentence in three; the GPU is found all the same, once."""
    log = "".join(f"3,{number},{number}000000,-;{line}\n" for number, line in enumerate(lines, 1))
    assert lost_gpus(parse_log(log.encode())) == {PciAddress.parse("0000:9a:00.0")}


def test_other_events_lose_no_gpu() -> None:
    """An application's fault or a NIC's is none of the bus."""
    assert lost_gpus(parse_log(_LOG + b"6,5,5000000,-;mlx5_core 0000:1e:00.0 eth0: Link down\n")) == frozenset()


def test_a_recorded_log_counts_its_xids() -> None:
    """The recording shows a GPU whose firmware stopped answering: XID 119, and no GPU off the bus."""
    place = extra_data() / "exporters" / "gpud" / "dmesg-with-xid-119.log"
    if not place.exists():
        pytest.skip(f"no {place.name} in the extra recordings")
    counts = count_xids(parse_log(place.read_bytes()))
    assert {(str(one.address), one.code) for one in counts} == {("0000:9b:00.0", 119)}
    assert sum(one.count for one in counts) == place.read_bytes().count(b"NVRM: Xid (PCI:")
