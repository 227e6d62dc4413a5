"""Lines of the kernel log that mean something for the data path, in every form a log comes in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.host import KernelEventKind as Kind
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.kernel_log import KEEP, parse_log, read_kernel_events
from tests.sources import made_up

_CASES = [
    ("NVRM: Xid (PCI:0000:9b:00): 119, pid=2, name=nvidia-smi, Timeout after 6s", Kind.XID, "0000:9b:00.0", 119),
    ("NVRM: Xid (PCI:0000:b3:00.0): 79, GPU has fallen off the bus.", Kind.XID, "0000:b3:00.0", 79),
    ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32", Kind.SXID, "0000:05:00.0", 12028),
    (
        "NVRM: The NVIDIA GPU 0000:0e:00.0 (PCI ID: 10de:1b06) installed in this system has fallen off the bus",
        Kind.GPU_LOST,
        "0000:0e:00.0",
        None,
    ),
    ("NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", Kind.GPU_LOST, "0000:01:00.0", None),
    (
        "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:838:(pid 1): ACCESS_REG(0x805) failed, syndrome (0x305684), err(-22)",
        Kind.MLX5_SYNDROME,
        "0000:d2:00.0",
        0x305684,
    ),
    (
        "mlx5_core 0000:03:00.0: wait_func:964:(pid 112): ENABLE_HCA(0x104) timeout. Will cause a leak of a command",
        Kind.MLX5_TIMEOUT,
        "0000:03:00.0",
        None,
    ),
    (
        "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High Temperature",
        Kind.MODULE_TEMPERATURE,
        "0000:5c:00.0",
        None,
    ),
    (
        "mlx5_core 0000:5c:00.0: Port module event[error]: module 1, Cable error, Bus stuck (I2C or data shorted)",
        Kind.MODULE_ERROR,
        "0000:5c:00.0",
        None,
    ),
    (
        "mlx5_core 0000:12:00.0: mlx5_pcie_event:299: Detected insufficient power on the PCIe slot (27W).",
        Kind.SLOT_POWER,
        "0000:12:00.0",
        27,
    ),
    ("mlx5_core 0000:1e:00.0 eth0: Link down", Kind.LINK_DOWN, "0000:1e:00.0", None),
    ("mlx5_core 0000:1e:00.0 mlx5_0: Port: 1 Link DOWN", Kind.LINK_DOWN, "0000:1e:00.0", None),
    ("mlx5_core 0000:1e:00.0 eth0: Link up", Kind.LINK_UP, "0000:1e:00.0", None),
    ("bond0: (slave ens6f1): link status definitely down, disabling slave", Kind.LINK_DOWN, None, None),
    ("ice 0000:17:00.0 ens1f0: NIC Link is Down", Kind.LINK_DOWN, "0000:17:00.0", None),
    ("pcieport 0000:b0:02.0: AER: Corrected error received: 0000:b1:00.0", Kind.AER, "0000:b1:00.0", None),
    (
        "mlx5_core 0000:b1:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)",
        Kind.AER,
        "0000:b1:00.0",
        None,
    ),
    (
        "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        Kind.PEERMEM,
        None,
        None,
    ),
    ("NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 3 timed out", Kind.TRANSMIT_TIMEOUT, None, None),
]

_FORMS = {
    "bare": "{}",
    "kmsg": "6,3973,227996636,-;{}",
    "dmesg": "[  227.996636] {}",
    "dmesg -T": "[Sun Feb 23 16:24:18 2025] {}",
    "dmesg --decode": "kern  :warn  : 2025-01-21T04:41:44,285060+00:00 {}",
    "syslog": "Aug 17 06:18:01 n1 kernel: {}",
}


@pytest.mark.parametrize(("line", "kind", "address", "code"), _CASES, ids=[case[0][:40] for case in _CASES])
@pytest.mark.parametrize("form", _FORMS.values(), ids=_FORMS.keys())
def test_each_line_is_one_event(form: str, line: str, kind: Kind, address: str | None, code: int | None) -> None:
    """Kind, function and code come out of every form of log, and the filter at the source lets the line through."""
    written = form.format(line).encode()
    assert KEEP.search(written)
    (event,) = parse_log(written + b"\n")
    assert event.kind is kind
    assert (None if isinstance(event.address, Missing) else str(event.address)) == address
    assert (None if isinstance(event.code, Missing) else event.code) == code


def test_a_flapping_link_is_counted_with_its_interface() -> None:
    """Carrier messages of systemd-networkd name the interface."""
    lines = b"Aug 17 06:18:06 vm-0 systemd-networkd[5398]: ib6: lost carrier\n" * 6
    lines += b"Aug 17 06:18:06 vm-0 systemd-networkd[5398]: ib6: Gained carrier\n" * 6
    events = parse_log(lines)
    assert [event.kind for event in events] == [Kind.LINK_DOWN] * 6 + [Kind.LINK_UP] * 6
    assert {event.interface for event in events} == {"ib6"}


def test_a_lost_gpu_told_in_three_lines_is_one_event() -> None:
    """The driver breaks the sentence; other lines may stand around it."""
    log = (
        b"6,1,1000000,-;usb 1-1: new device\n"
        b"3,2,2000000,-;NVRM: The NVIDIA GPU 0000:9a:00.0\n"
        b"3,3,2000001,-;NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        b"3,4,2000002,-;NVRM: fallen off the bus and is not responding to commands.\n"
        b"3,5,3000000,-;NVRM: Xid (PCI:0000:9a:00): 79, GPU has fallen off the bus.\n"
    )
    events = parse_log(log)
    assert [(event.kind, str(event.address)) for event in events] == [
        (Kind.GPU_LOST, "0000:9a:00.0"),
        (Kind.XID, "0000:9a:00.0"),
    ]
    assert events[0].seconds_since_boot == 2.0


def test_a_log_without_permission_is_missing() -> None:
    """No right to read the log is not an empty log."""
    found = read_kernel_events(made_up.hidden_pcie().tree())
    assert isinstance(found, Missing)
    assert found.reason is Reason.DENIED


def test_only_matching_lines_leave_the_machine() -> None:
    """A line nobody asked for is not in the record, nor in a recording."""
    tree = made_up.roce_two_rails().tree()
    kept = tree.lines("kmsg", KEEP, 100)
    assert isinstance(kept, bytes)
    assert b"nobody's business" not in kept
    events = read_kernel_events(tree)
    assert not isinstance(events, Missing)
    assert [event.kind for event in events] == [Kind.LINK_DOWN, Kind.LINK_UP, Kind.XID]


@given(st.binary(max_size=400))
def test_any_log_is_read(data: bytes) -> None:
    """Whatever a log holds, events are safe to show and nothing is raised."""
    assert all(visible(event.text) == event.text for event in parse_log(data))


@given(st.integers(0, 500))
def test_a_log_cut_anywhere_gives_a_prefix_of_events(length: int) -> None:
    """Only the line that was cut can be lost or shortened."""
    whole = b"".join(f"6,1,1000000,-;{case[0]}\n".encode() for case in _CASES)
    events, cut = parse_log(whole), parse_log(whole[:length])
    complete = whole[:length].count(b"\n")
    assert [event.kind for event in cut[:complete]] == [event.kind for event in events[:complete]]
