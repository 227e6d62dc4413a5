"""QSFP+ and QSFP28 modules: SFF-8636 rev 2.11 (management interface for 4-lane pluggable modules)."""

from __future__ import annotations

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

IDENTIFIERS = frozenset({0x0C, 0x0D, 0x11})
THRESHOLD_PAGE = 3
_LANES = 4
_FIRST_COPPER = 0xA
"""Page 00h byte 147, bits 7-4: transmitter technologies from here on are copper cables."""
_ALARMS = (
    # Lower page bytes 6 and 7, bits 7 to 4.
    (6, 7, ModuleAlarm.TEMPERATURE_HIGH_ALARM),
    (6, 6, ModuleAlarm.TEMPERATURE_LOW_ALARM),
    (6, 5, ModuleAlarm.TEMPERATURE_HIGH_WARNING),
    (6, 4, ModuleAlarm.TEMPERATURE_LOW_WARNING),
    (7, 7, ModuleAlarm.SUPPLY_HIGH_ALARM),
    (7, 6, ModuleAlarm.SUPPLY_LOW_ALARM),
    (7, 5, ModuleAlarm.SUPPLY_HIGH_WARNING),
    (7, 4, ModuleAlarm.SUPPLY_LOW_WARNING),
)


def decode_sff8636(memory: ModuleMemory) -> OpticalModule:
    """Read the lower page, page 00h and, where it was read, page 03h with the limits."""
    copper = (memory.byte(147) or 0) >> 4 >= _FIRST_COPPER
    length = memory.byte(146)  # page 00h: cable length in metres, 0 where it can be unplugged
    return OpticalModule(
        form=FORMS.get(memory.byte(0) or 0, "unknown"),
        standard="SFF-8636",
        state=unmeasured("state"),
        copper=copper,
        vendor=memory.words(148, 16),
        part_number=memory.words(168, 16),
        revision=memory.words(184, 2),
        serial_number=memory.words(196, 16),
        made_on=memory.words(212, 8),
        cable_length_metres=float(length) if length else unread(146),
        temperature_celsius=_sensed(memory.celsius(22), "temperature"),  # lower page bytes 22-23
        supply_volts=_sensed(_volts(memory), "supply"),
        alarms=tuple(alarm for at, bit, alarm in _ALARMS if memory.bit(at, bit) is True),
        lanes=tuple(_lane(memory, lane, copper) for lane in range(_LANES)),
        temperature_limits_celsius=memory.celsius_limits(128, THRESHOLD_PAGE),
        received_limits_watts=memory.limits(176, THRESHOLD_PAGE, TENTH_OF_MICROWATT),
        sent_limits_watts=memory.limits(192, THRESHOLD_PAGE, TENTH_OF_MICROWATT),
    )


def _volts(memory: ModuleMemory) -> float | None:
    found = memory.unsigned(26)  # lower page bytes 26-27
    return None if found is None else found * HUNDRED_MICROVOLTS


def _sensed(value: float | None, what: str) -> float | Missing:
    """Take exactly 0 for "no sensor": no module runs at 0 V, and a passive cable leaves both bytes 0."""
    return value or unmeasured(what)


def _lane(memory: ModuleMemory, lane: int, copper: bool) -> OpticalLane:
    light = unmeasured("light")
    received, bias, sent = 34 + 2 * lane, 42 + 2 * lane, 50 + 2 * lane  # lower page
    return OpticalLane(
        number=lane + 1,
        received_watts=light if copper else scaled(memory.unsigned(received), TENTH_OF_MICROWATT, received),
        sent_watts=light if copper else scaled(memory.unsigned(sent), TENTH_OF_MICROWATT, sent),
        bias_amperes=light if copper else scaled(memory.unsigned(bias), TWO_MICROAMPERES, bias),
        receive_signal_lost=memory.bit(3, lane),
        send_signal_lost=memory.bit(3, lane + 4),
        send_fault=memory.bit(4, lane),
        receive_clock_lost=memory.bit(5, lane),
        send_clock_lost=memory.bit(5, lane + 4),
    )
