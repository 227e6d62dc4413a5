"""Optics: synthetic memories laid out as SFF-8636 and CMIS have them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing, Reason
from netkit.model.optics import Limits, ModuleAlarm
from netkit.sources.netlink.attributes import attribute, parse
from netkit.sources.netlink.cmis import decode_cmis
from netkit.sources.netlink.kernel import Answer, Question
from netkit.sources.netlink.module_eeprom import read_module
from netkit.sources.netlink.module_memory import ModuleMemory
from netkit.sources.netlink.sff8636 import decode_sff8636

Fields = dict[int, bytes]


def half(fields: Fields) -> bytes:
    """128 bytes with these values at their addresses in the specification."""
    page = bytearray(128)
    for at, value in fields.items():
        page[at % 128 : at % 128 + len(value)] = value
    return bytes(page)


def words(*values: int) -> bytes:
    return struct.pack(f">{len(values)}H", *values)


LIMITS = words(80 * 256, 0xF600, 70 * 256, 0)
QSFP28_LOWER: Fields = {
    0: b"\x11",
    3: b"\x21",
    5: b"\x02",
    6: b"\x20",
    22: b"\x2a\x80",
    26: words(33000),
    34: words(10000, 1, 0, 12589),
    42: words(4000, 0, 0, 0),
    50: words(7943, 0, 0, 0),
}
QSFP28_NAMES: Fields = {
    146: b"\x05",
    147: b"\x40",
    148: b"ACME OPTICS     ",
    168: b"QSFP28-SR4      ",
    184: b"1A",
    196: b"SN\x1b0001          ",
    212: b"260131  ",
}
QSFP28_LIMITS: Fields = {128: LIMITS, 176: words(21878, 401, 17378, 1008), 192: words(1, 2, 3, 4)}
QSFP28 = ModuleMemory(half(QSFP28_LOWER), {0: half(QSFP28_NAMES), 3: half(QSFP28_LIMITS)})
OSFP_LOWER: Fields = {
    0: b"\x19",
    1: b"\x52",
    2: b"\x00",
    3: b"\x06",
    9: b"\x01",
    14: b"\xff\x80",
    16: words(32800),
    85: b"\x02",
}
OSFP_NAMES: Fields = {
    129: b"ACME            ",
    148: b"OSFP-800G-DR8   ",
    164: b"B2",
    166: b"X1              ",
    202: b"\x43",
}
OSFP_LIMITS: Fields = {128: LIMITS, 176: words(9, 8, 7, 6), 192: words(5, 4, 3, 2)}
OSFP_LANES: Fields = {
    135: b"\x80",
    147: b"\x02",
    148: b"\x04",
    154: words(*range(10000, 10008)),
    170: words(*[100] * 8),
    186: words(*range(8)),
}
OSFP = ModuleMemory(
    half(OSFP_LOWER), {0: half(OSFP_NAMES), 1: half({160: b"\x10"}), 2: half(OSFP_LIMITS), 0x11: half(OSFP_LANES)}
)
COPPER = half({0: b"\x11", 2: b"\x04"})
COPPER_PAGE = half({146: b"\x02", 147: b"\xa0", 148: b"ACME COPPER     "})


def test_a_100_gigabit_module() -> None:
    """Who made it, how warm it is, which lane lost its light."""
    found = decode_sff8636(QSFP28)
    assert (found.form, found.vendor, found.part_number, found.revision) == (
        "QSFP28",
        "ACME OPTICS",
        "QSFP28-SR4",
        "1A",
    )
    assert (found.serial_number, found.made_on, found.cable_length_metres) == ("SN\\x1b0001", "260131", 5.0)
    assert found.temperature_celsius == 42.5
    assert found.supply_volts == pytest.approx(3.3)
    assert found.alarms == (ModuleAlarm.TEMPERATURE_HIGH_WARNING,)
    first, second, *_ = found.lanes
    assert first.received_watts == pytest.approx(1e-3)
    assert first.bias_amperes == pytest.approx(8e-3)
    assert first.sent_watts == pytest.approx(0.7943e-3)
    assert [lane.receive_signal_lost for lane in found.lanes] == [True, False, False, False]
    assert [lane.send_signal_lost for lane in found.lanes] == [False, True, False, False]
    assert second.receive_clock_lost is True
    assert found.temperature_limits_celsius == Limits(high_alarm=80, low_alarm=-10, high_warning=70, low_warning=0)


def test_no_light_is_measured_as_none() -> None:
    """A dark optical lane reads 0 W: that is a measurement."""
    assert decode_sff8636(QSFP28).lanes[2].received_watts == 0


def test_an_800_gigabit_module() -> None:
    """Eight lanes, limits, a bias scaled by what the module advertises."""
    found = decode_cmis(OSFP)
    assert (found.form, found.state, found.vendor, found.cable_length_metres) == ("OSFP", "ready", "ACME", 3.0)
    assert found.temperature_celsius == -0.5
    assert found.alarms == (ModuleAlarm.TEMPERATURE_HIGH_ALARM,)
    assert [lane.number for lane in found.lanes] == list(range(1, 9))
    assert found.lanes[7].sent_watts == pytest.approx(1.0007e-3)
    assert found.lanes[7].received_watts == pytest.approx(7e-7)
    assert found.lanes[0].bias_amperes == pytest.approx(100 * 8e-6)
    assert [lane.number for lane in found.lanes if lane.send_fault] == [8]
    assert [lane.number for lane in found.lanes if lane.receive_signal_lost] == [2]
    assert [lane.number for lane in found.lanes if lane.receive_clock_lost] == [3]
    assert isinstance(found.received_limits_watts, Limits)
    assert found.received_limits_watts.high_alarm == pytest.approx(5e-7)


def test_copper_measures_nothing() -> None:
    """A passive cable's zeros are no temperature, no voltage, no light."""
    found = decode_sff8636(ModuleMemory(COPPER, {0: COPPER_PAGE}))
    assert (found.copper, found.cable_length_metres) == (True, 2.0)
    values = (found.temperature_celsius, found.supply_volts, found.lanes[0].received_watts, found.lanes[0].bias_amperes)
    assert [isinstance(value, Missing) for value in values] == [True] * 4


def test_a_flat_cmis_cable_has_no_lanes() -> None:
    """Passive copper with page 00h only."""
    lower = half({0: b"\x18", 2: b"\x80", 85: b"\x03"})
    found = decode_cmis(ModuleMemory(lower, {0: half({202: b"\x0f"})}))
    assert (found.copper, found.lanes) == (True, ())
    assert found.cable_length_metres == pytest.approx(1.5)


@pytest.mark.fault("D03")
@given(st.binary(max_size=128), st.dictionaries(st.sampled_from([0, 1, 2, 3, 0x11]), st.binary(max_size=128)))
def test_any_memory_is_decoded(lower: bytes, upper: dict[int, bytes]) -> None:
    """Short pages, absent pages, any bytes: what is not there is Missing."""
    memory = ModuleMemory(lower, upper)
    assert len(decode_sff8636(memory).lanes) == 4
    assert len(decode_cmis(memory).lanes) in {0, 8}


class Cage:
    """A kernel that gives a module's memory as MODULE_EEPROM_GET does, and counts the transfers."""

    def __init__(self, memory: ModuleMemory) -> None:
        self.memory = memory
        self.asked: list[tuple[int, int]] = []

    def ask(self, question: Question) -> Answer | Missing:
        asked = parse(question.body)
        offset, page = asked.number(2) or 0, asked.number(4) or 0
        self.asked.append((page, offset))
        data = self.memory.lower if offset == 0 else self.memory.upper.get(page)
        if data is None:
            return Missing(reason=Reason.TIMEOUT, where=question.where, detail="EIO")
        return Answer(bodies=(bytes(4) + attribute(7, data),))


@pytest.mark.parametrize(("memory", "pages"), [(QSFP28, [0, 0, 3]), (OSFP, [0, 0, 1, 2, 0x11])])
def test_each_half_page_is_asked_for_once(memory: ModuleMemory, pages: list[int]) -> None:
    """Reading disturbs the bus, so nothing is read twice and nothing a module cannot have."""
    cage = Cage(memory)
    found = read_module(cage, "eth0")
    assert not isinstance(found, Missing)
    assert [page for page, _ in cage.asked] == pages


def test_a_flat_module_is_not_asked_for_pages() -> None:
    """Bit 2 of byte 2 says there is one page."""
    cage = Cage(ModuleMemory(COPPER, {0: COPPER_PAGE}))
    found = read_module(cage, "eth0")
    assert not isinstance(found, Missing)
    assert cage.asked == [(0, 0), (0, 128)]


def test_a_page_that_fails_costs_its_own_values() -> None:
    """Without the limits the measurements are still read."""
    found = read_module(Cage(ModuleMemory(QSFP28.lower, {0: QSFP28.upper[0]})), "eth0")
    assert not isinstance(found, Missing)
    assert found.temperature_celsius == 42.5
    assert isinstance(found.temperature_limits_celsius, Missing)


def test_an_unknown_module_is_unsupported() -> None:
    """An SFP has another memory; its identifier is told."""
    found = read_module(Cage(ModuleMemory(half({0: b"\x03"}), {})), "eth0")
    assert isinstance(found, Missing)
    assert (found.reason, found.detail) == (Reason.UNSUPPORTED, "identifier 0x03")
