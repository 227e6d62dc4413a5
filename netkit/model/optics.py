"""The module in a port's cage: who made it, how warm it is, how much light arrives on each lane."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.model.missing import Missing


class ModuleAlarm(StrEnum):
    """What a module warns of by itself."""

    TEMPERATURE_HIGH_ALARM = "temperature-high-alarm"
    TEMPERATURE_LOW_ALARM = "temperature-low-alarm"
    TEMPERATURE_HIGH_WARNING = "temperature-high-warning"
    TEMPERATURE_LOW_WARNING = "temperature-low-warning"
    SUPPLY_HIGH_ALARM = "supply-high-alarm"
    SUPPLY_LOW_ALARM = "supply-low-alarm"
    SUPPLY_HIGH_WARNING = "supply-high-warning"
    SUPPLY_LOW_WARNING = "supply-low-warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The module's own limits of one quantity, in that quantity's unit."""

    high_alarm: float
    low_alarm: float
    high_warning: float
    low_warning: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OpticalLane:
    """One lane, counted from 1. The flags stay set until they are read once, by anybody."""

    number: int
    received_watts: float | Missing
    sent_watts: float | Missing
    bias_amperes: float | Missing
    receive_signal_lost: bool | Missing
    receive_clock_lost: bool | Missing
    send_signal_lost: bool | Missing
    send_clock_lost: bool | Missing
    send_fault: bool | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class OpticalModule:
    """One module or cable end; a passive copper cable measures nothing, and says nothing rather than 0."""

    form: str
    """`QSFP28`, `QSFP-DD`, `OSFP`, …"""
    standard: str
    """The memory map: `SFF-8636` or `CMIS`."""
    state: str | Missing
    """CMIS only: `ready`, `low-power`, `fault`, …"""
    copper: bool
    vendor: str
    part_number: str
    revision: str
    serial_number: str
    made_on: str
    cable_length_metres: float | Missing
    temperature_celsius: float | Missing
    supply_volts: float | Missing
    alarms: tuple[ModuleAlarm, ...]
    lanes: tuple[OpticalLane, ...]
    temperature_limits_celsius: Limits | Missing
    received_limits_watts: Limits | Missing
    sent_limits_watts: Limits | Missing
