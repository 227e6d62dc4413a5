"""Ethernet links: synthetic answers of every kind, and the loopback interface of this machine."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing, Reason
from netkit.sources.netlink import ethtool
from netkit.sources.netlink.attributes import attribute, nested_attribute, number_attribute, parse
from netkit.sources.netlink.driver_statistics import read_driver_statistics
from netkit.sources.netlink.ethtool import Command, Fec, Mode, PauseAttr, State, Stats
from netkit.sources.netlink.kernel import Answer, LiveKernel, Question
from netkit.sources.netlink.link_words import EXT_STATES, EXT_SUBSTATES, STATISTICS

WHERE = "made up"
GENERIC = bytes(4)


class SameAnswer:
    """A kernel with one answer for every question."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def ask(self, _question: Question) -> Answer | Missing:
        return Answer(bodies=(self.body,))


def test_a_400_gigabit_link() -> None:
    """Speed in bytes per second, lanes, negotiation."""
    body = number_attribute(Mode.SPEED, 400_000) + number_attribute(Mode.DUPLEX, 1, 1)
    body += number_attribute(Mode.LANES, 4) + number_attribute(Mode.AUTONEG, 1, 1)
    found = ethtool.parse_mode(parse(body), WHERE)
    assert (found.speed_bytes_per_second, found.full_duplex, found.lanes, found.negotiated) == (50e9, True, 4, True)


@pytest.mark.parametrize("speed", [0, 0xFFFFFFFF])
def test_an_unknown_speed_is_missing(speed: int) -> None:
    """A link that is down has none; it is not 0."""
    found = ethtool.parse_mode(parse(number_attribute(Mode.SPEED, speed)), WHERE)
    assert isinstance(found.speed_bytes_per_second, Missing)
    assert isinstance(found.full_duplex, Missing)


@pytest.mark.parametrize(
    ("state", "substate", "words"),
    [
        (4, None, "no cable"),
        (1, 1, "link training failed: frame lock not acquired"),
        (2, 5, "logical mismatch: rs-fec not locked"),
        (3, 1, "bad signal: many physical errors"),
        (5, 2, "cable issue: cable test failed"),
        (9, None, "module too hot"),
        (10, 1, "module: management interface not ready"),
        (77, 3, "77: 3"),
    ],
)
def test_why_a_link_is_down(state: int, substate: int | None, words: str) -> None:
    """The kernel's extended state in words; a newer one keeps its number."""
    body = number_attribute(State.LINK, 0, 1) + number_attribute(State.EXT_STATE, state, 1)
    body += b"" if substate is None else number_attribute(State.EXT_SUBSTATE, substate, 1)
    found = ethtool.parse_state(parse(body + number_attribute(State.EXT_DOWN_CNT, 12)), WHERE)
    assert (found.up, found.why_down, found.downs) == (False, words, 12)


def test_the_words_cover_the_kernels_list() -> None:
    """Eleven states, 22 substates in include/uapi/linux/ethtool.h."""
    assert (len(EXT_STATES), len(EXT_SUBSTATES)) == (11, 22)
    assert [len(words) for _, words in STATISTICS.values()] == [1, 22, 3, 4]


def test_pause_frames_are_counted_where_the_driver_counts() -> None:
    """Sent is attribute 2, received attribute 3."""
    counts = nested_attribute(PauseAttr.STATS, number_attribute(2, 5, 8), number_attribute(3, 21, 8))
    body = number_attribute(PauseAttr.RX, 1, 1) + number_attribute(PauseAttr.TX, 0, 1)
    counted = ethtool.parse_pause(parse(body + counts), WHERE)
    assert (counted.receives, counted.sends, counted.sent_frames, counted.received_frames) == (True, False, 5, 21)
    assert isinstance(ethtool.parse_pause(parse(body), WHERE).sent_frames, Missing)


def test_corrected_errors_of_the_port_and_its_lanes() -> None:
    """The first number of each array is the total."""
    blocks = attribute(2, struct.pack("=5Q", 10, 1, 2, 3, 4)) + attribute(3, struct.pack("=Q", 0))
    body = number_attribute(Fec.ACTIVE, 50) + nested_attribute(Fec.STATS, blocks)
    found = ethtool.parse_error_correction(parse(body), WHERE)
    assert (found.active, found.corrected_blocks, found.uncorrectable_blocks) == ("rs", 10, 0)
    assert found.corrected_blocks_by_lane == (1, 2, 3, 4)
    assert isinstance(found.corrected_bits, Missing)


def test_standard_counters_by_their_names() -> None:
    """Number 12 of eth-mac is octets received; a group without counters stays empty."""
    octets = nested_attribute(4, number_attribute(12, 9000, 8))
    errors = nested_attribute(4, number_attribute(4, 3, 8))
    body = nested_attribute(Stats.GRP, number_attribute(2, 1), octets, errors)
    body += nested_attribute(Stats.GRP, number_attribute(2, 0))
    mac, phy = ethtool.parse_statistics(parse(body))
    assert [(each.name, each.value, each.form.unit) for each in mac.counters] == [
        ("OctetsReceivedOK", 9000, "bytes"),
        ("FrameCheckSequenceErrors", 3, "packets"),
    ]
    assert (phy.name, phy.counters) == ("eth-phy", ())


READERS = (
    ethtool.read_index,
    ethtool.read_connector,
    ethtool.read_mode,
    ethtool.read_state,
    ethtool.read_pause,
    ethtool.read_error_correction,
    ethtool.read_statistics,
)


@pytest.mark.fault("D03")
@given(st.binary(max_size=120))
def test_any_answer_is_read_or_missing(junk: bytes) -> None:
    """No reader raises, whatever the kernel is said to have sent."""
    for read in READERS:
        read(SameAnswer(GENERIC + junk), "eth0")
        read(SameAnswer(junk), "eth0")
    ethtool.read_strings(SameAnswer(GENERIC + junk), "eth0", 1)


@pytest.mark.parametrize("read", READERS)
def test_an_interface_that_is_not_there_is_absent(read: object) -> None:
    """Every question says so by itself."""
    assert callable(read)
    with LiveKernel() as kernel:
        found = read(kernel, "nosuch0")
    assert isinstance(found, Missing)
    # Kernels before 5.6 have no such family at all.
    assert found.reason is Reason.ABSENT


def test_names_by_netlink_and_by_ioctl_are_the_same() -> None:
    """Two ways to the same driver, for every interface of this namespace."""
    with LiveKernel() as kernel:
        strings = ethtool.read_strings(kernel, "lo", 1)
        statistics = read_driver_statistics(kernel, "lo")
    if isinstance(strings, Missing):
        pytest.skip(f"this kernel: {strings}")
    names = () if isinstance(statistics, Missing) else tuple(counter.name for counter in statistics)
    assert strings == names


def test_a_question_carries_its_command_and_interface() -> None:
    """Bytes as the kernel's documentation has them: a nested header with the name."""
    asked = ethtool.question(Command.PAUSE, "eth0", statistics=True)
    header = parse(asked.body).group(1)
    assert header is not None
    assert (asked.command, header.text(2), header.number(3)) == (21, "eth0", 4)
