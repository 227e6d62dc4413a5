"""XIDs of the kernel log: events that are counted, never a state that stays."""

from __future__ import annotations

from collections import Counter

import pytest

from netkit.model.host import KernelEventKind
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress
from netkit.sources.kernel_log import parse_log
from netkit.sources.memory_tree import MemoryTree
from netkit_exporters.collecting import Machine
from netkit_exporters.collectors.gpu import COLLECTOR
from tests.exporters.scrape import values
from tests.sources import made_up
from tests.sources.extra_recordings import extra_data

_LOG = (
    b"3,1,1000000,-;NVRM: Xid (PCI:0000:9b:00): 31, pid=7, name=python, MMU Fault\n"
    b"3,2,2000000,-;NVRM: Xid (PCI:0000:9b:00): 94, pid=7, name=python, Contained ECC error\n"
    b"3,3,3000000,-;NVRM: Xid (PCI:0000:9b:00): 31, pid=8, name=python, MMU Fault\n"
    b"3,4,4000000,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=9, name=python, MMU Fault\n"
)
_ONE_MORE = b"3,5,5000000,-;NVRM: Xid (PCI:0000:9b:00): 31, pid=9, name=python, MMU Fault\n"


class GrowingLog(MemoryTree):
    """A machine whose kernel log can be replaced between two looks."""

    def say(self, log: bytes) -> None:
        self._files["kmsg"] = log


@pytest.mark.fault("E12")
def test_xids_are_counted_as_they_come_with_the_time_of_the_last() -> None:
    """The same log again changes nothing; one more event is one more, and only its time says how long ago."""
    built = made_up.roce_two_rails()
    tree = GrowingLog(built.files, built.links)
    source = COLLECTOR.open(Machine(tree=tree, open_kernel=None))
    targets = source.targets()
    assert not isinstance(targets, Missing)
    log = next(target for target in targets if target.key == "kernel log")
    seen = []
    for said in (_LOG, _LOG, _LOG + _ONE_MORE):
        tree.say(said)
        samples = log.read().samples
        seen.append(
            [values(samples, name) for name in ("netkit_gpu_xid_codes_total", "netkit_gpu_xid_last_since_boot_seconds")]
        )
    source.close()

    (before, when), again, (after, later) = seen
    assert before == {("0000:9b:00.0", "31"): 2, ("0000:9b:00.0", "94"): 1, ("0000:3b:00.0", "31"): 1}
    assert again == [before, when]
    assert after == {**before, ("0000:9b:00.0", "31"): 3}
    assert later == {**when, ("0000:9b:00.0",): 5.0}


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
    ],
    ids=["one line", "three lines", "short"],
)
def test_a_gpu_off_the_bus_is_named_in_every_wording(lines: list[str]) -> None:
    """The driver breaks the sentence in three; the GPU is found all the same, once."""
    log = "".join(f"3,{number},{number}000000,-;{line}\n" for number, line in enumerate(lines, 1))
    lost = [event for event in parse_log(log.encode()) if event.kind is KernelEventKind.GPU_LOST]
    assert [event.address for event in lost] == [PciAddress.parse("0000:9a:00.0")]


def test_other_events_lose_no_gpu() -> None:
    """An application's fault or a NIC's is none of the bus."""
    log = _LOG + b"6,5,5000000,-;mlx5_core 0000:1e:00.0 eth0: Link down\n"
    assert KernelEventKind.GPU_LOST not in {event.kind for event in parse_log(log)}


def test_a_recorded_log_counts_its_xids() -> None:
    """The recording shows a GPU whose firmware stopped answering: XID 119, and no GPU off the bus."""
    place = extra_data() / "exporters" / "gpud" / "dmesg-with-xid-119.log"
    if not place.exists():
        pytest.skip(f"no {place.name} in the extra recordings")
    counts = Counter((str(event.address), event.code, event.kind) for event in parse_log(place.read_bytes()))
    assert counts == {("0000:9b:00.0", 119, KernelEventKind.XID): place.read_bytes().count(b"NVRM: Xid (PCI:")}
