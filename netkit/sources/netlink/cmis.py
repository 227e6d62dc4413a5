"""QSFP-DD, OSFP and later modules: OIF CMIS 5.2 (Common Management Interface Specification)."""

from __future__ import annotations

from types import MappingProxyType

from netkit.model.missing import Missing
from netkit.model.optics import ModuleAlarm, OpticalLane, OpticalModule
from netkit.sources.netlink.module_memory import (
    FORMS,
    HUNDRED_MICROVOLTS,
    TENTH_OF_MICROWATT,
    TWO_MICROAMPERES,
    ModuleMemory,
    scaled,
    unmeasured,
    unread,
)

IDENTIFIERS = frozenset({0x18, 0x19, 0x1B, 0x1E, 0x1F})
ADVERTISING_PAGE, THRESHOLD_PAGE, LANE_PAGE = 0x01, 0x02, 0x11
PAGES = (ADVERTISING_PAGE, THRESHOLD_PAGE, LANE_PAGE)
"""Beyond page 00h; a module with flat memory (lower byte 2 bit 7) has none of them."""
_LANES = 8
_PASSIVE_COPPER = 3
"""Lower byte 85, media type: passive copper cable."""
# Lower byte 3, bits 3-1.
_STATES = MappingProxyType({1: "low-power", 2: "powering-up", 3: "ready", 4: "powering-down", 5: "fault"})
# Lower byte 9, bits 0 to 7.
_ALARMS = (
    ModuleAlarm.TEMPERATURE_HIGH_ALARM,
    ModuleAlarm.TEMPERATURE_LOW_ALARM,
    ModuleAlarm.TEMPERATURE_HIGH_WARNING,
    ModuleAlarm.TEMPERATURE_LOW_WARNING,
    ModuleAlarm.SUPPLY_HIGH_ALARM,
    ModuleAlarm.SUPPLY_LOW_ALARM,
    ModuleAlarm.SUPPLY_HIGH_WARNING,
    ModuleAlarm.SUPPLY_LOW_WARNING,
)
_LENGTH_UNITS_METRES = (0.1, 1.0, 10.0, 100.0)


def is_flat(memory: ModuleMemory) -> bool:
    """Tell whether the module has page 00h only (lower byte 2 bit 7)."""
    return memory.bit(2, 7) is not False


def decode_cmis(memory: ModuleMemory) -> OpticalModule:
    """Read the lower page, page 00h and those of `PAGES` that were read."""
    copper = memory.byte(85) == _PASSIVE_COPPER
    flat = is_flat(memory)
    return OpticalModule(
        form=FORMS.get(memory.byte(0) or 0, "unknown"),
        standard="CMIS",
        state=_state(memory),
        copper=copper,
        vendor=memory.words(129, 16),
        part_number=memory.words(148, 16),
        revision=memory.words(164, 2),
        serial_number=memory.words(166, 16),
        made_on=memory.words(182, 8),
        cable_length_metres=_length(memory),
        temperature_celsius=memory.celsius(14) or unmeasured("temperature"),  # lower bytes 14-15
        supply_volts=(memory.unsigned(16) or 0) * HUNDRED_MICROVOLTS or unmeasured("supply"),  # lower bytes 16-17
        alarms=tuple(alarm for bit, alarm in enumerate(_ALARMS) if memory.bit(9, bit) is True),
        lanes=() if copper and flat else tuple(_lane(memory, lane, copper) for lane in range(_LANES)),
        temperature_limits_celsius=memory.celsius_limits(128, THRESHOLD_PAGE),
        received_limits_watts=memory.limits(192, THRESHOLD_PAGE, TENTH_OF_MICROWATT),
        sent_limits_watts=memory.limits(176, THRESHOLD_PAGE, TENTH_OF_MICROWATT),
    )


def _state(memory: ModuleMemory) -> str | Missing:
    found = memory.byte(3)
    return unread(3) if found is None else _STATES.get(found >> 1 & 0b111, "reserved")


def _length(memory: ModuleMemory) -> float | Missing:
    found = memory.byte(202)  # page 00h: bits 7-6 the unit, bits 5-0 the number; 0 where it can be unplugged
    return unread(202) if not found else (found & 0x3F) * _LENGTH_UNITS_METRES[found >> 6]


def _bias_factor(memory: ModuleMemory) -> float | None:
    """Return amperes per count: page 01h byte 160 bits 4-3 multiply the 2 µA by 1, 2 or 4."""
    found = memory.byte(160, ADVERTISING_PAGE)
    return None if found is None else TWO_MICROAMPERES * (1 << (found >> 3 & 0b11))


def _lane(memory: ModuleMemory, lane: int, copper: bool) -> OpticalLane:
    light = unmeasured("light")
    sent, bias, received = 154 + 2 * lane, 170 + 2 * lane, 186 + 2 * lane  # page 11h
    factor = _bias_factor(memory)
    measured = {at: memory.unsigned(at, LANE_PAGE) for at in (sent, bias, received)}
    return OpticalLane(
        number=lane + 1,
        received_watts=light if copper else scaled(measured[received], TENTH_OF_MICROWATT, received, LANE_PAGE),
        sent_watts=light if copper else scaled(measured[sent], TENTH_OF_MICROWATT, sent, LANE_PAGE),
        bias_amperes=light if copper or factor is None else scaled(measured[bias], factor, bias, LANE_PAGE),
        send_fault=memory.bit(135, lane, LANE_PAGE),
        send_signal_lost=memory.bit(136, lane, LANE_PAGE),
        send_clock_lost=memory.bit(137, lane, LANE_PAGE),
        receive_signal_lost=memory.bit(147, lane, LANE_PAGE),
        receive_clock_lost=memory.bit(148, lane, LANE_PAGE),
    )
