"""`ethtool -S` by ioctl: names that change between the calls, counts that lie, drivers that have none."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing, Reason
from netkit.sources.netlink.driver_statistics import read_driver_statistics
from netkit.sources.netlink.ethtool_ioctl import Ioctl, parse_names, parse_values
from netkit.sources.netlink.kernel import LiveKernel

SET_INFO, STRINGS, STATISTICS = 0x37, 0x1B, 0x1D


def driver(names: Iterator[list[str]]) -> Ioctl:
    """A synthetic driver whose names are the next list whenever it is called; value n of the nth name."""

    def ioctl(_interface: str, buffer: bytes) -> bytes:
        (command,) = struct.unpack_from("=I", buffer)
        now = next(names)
        if command == SET_INFO:
            return struct.pack("=IIQI", command, 0, 2 if now else 0, len(now))
        if command == STRINGS:
            answer = struct.pack("=III", command, 1, len(now)) + b"".join(
                name.encode().ljust(32, b"\0") for name in now
            )
            return answer + buffer[len(answer) :]
        (told,) = struct.unpack_from("=I", buffer, 4)
        # The kernel gives none when the count it was told is not the count it has.
        given = len(now) if told == len(now) else 0
        return struct.pack(f"=II{given}Q", command, given, *range(given)) + bytes(64)

    return ioctl


def test_names_and_values_belong_together() -> None:
    """In the driver's order."""
    found = read_driver_statistics(LiveKernel(ioctl=driver(iter([["a", "b"]] * 3))), "eth0")
    assert not isinstance(found, Missing)
    assert [(counter.name, counter.raw) for counter in found] == [("a", 0), ("b", 1)]


def test_names_that_appear_between_the_calls_are_read_again() -> None:
    """PFC is switched on between names and values: no value gets the name of another."""
    grown = ["a", "rx_prio3_pause", "b"]
    found = read_driver_statistics(
        LiveKernel(ioctl=driver(iter([["a", "b"], ["a", "b"], grown, grown, grown, grown]))), "eth0"
    )
    assert not isinstance(found, Missing)
    assert [counter.name for counter in found] == grown


def test_names_that_never_stand_still_are_stale() -> None:
    """Three tries, then no numbers rather than wrong ones."""
    changing = iter([["a"] * (1 + step % 2) for step in range(9)])
    found = read_driver_statistics(LiveKernel(ioctl=driver(changing)), "eth0")
    assert isinstance(found, Missing)
    assert found.reason is Reason.STALE


def test_a_driver_without_statistics_is_unsupported() -> None:
    """An empty mask means the set is not there."""
    found = read_driver_statistics(LiveKernel(ioctl=driver(iter([[]]))), "eth0")
    assert isinstance(found, Missing)
    assert found.reason is Reason.UNSUPPORTED


@pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.ENODEV, Reason.ABSENT), (errno.EOPNOTSUPP, Reason.UNSUPPORTED), (errno.EPERM, Reason.DENIED)],
)
def test_a_refused_call_is_missing(code: int, reason: Reason) -> None:
    """By its errno."""

    def refuse(_interface: str, _buffer: bytes) -> bytes:
        raise OSError(code, "no")

    found = read_driver_statistics(LiveKernel(ioctl=refuse), "eth0")
    assert isinstance(found, Missing)
    assert found.reason is reason


@given(st.binary(min_size=12, max_size=200))
def test_a_count_larger_than_its_buffer_reads_no_further(answer: bytes) -> None:
    """Whatever the driver claims."""
    assert len(parse_names(answer)) <= len(answer) // 32
    assert len(parse_values(answer)) <= len(answer) // 8


@pytest.mark.fault("D04")
def test_an_interface_that_is_gone_is_absent() -> None:
    """The real ioctl."""
    found = read_driver_statistics(LiveKernel(), "nosuch0")
    assert isinstance(found, Missing)
    assert (found.reason, found.detail) == (Reason.ABSENT, "ENODEV")
