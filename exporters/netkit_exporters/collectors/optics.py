"""Optical modules: temperature, light and alarms, by ethtool netlink (MODULE_EEPROM_GET); seldom, and only on request.

SFF-8636 and CMIS. Needs CAP_NET_ADMIN. Each page is a slow transfer over the module's bus, which has disturbed traffic
on some NICs, and reading clears latched flags: hence off by default and at most once a minute.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.catalogue.metric_rows import optics as rows
from netkit.catalogue.metrics import Metric
from netkit.model.missing import Missing
from netkit.model.optics import Limits, OpticalLane, OpticalModule
from netkit.sources.netlink.kernel import Kernel
from netkit.sources.netlink.module_eeprom import read_module
from netkit_exporters.collecting import Collector, Machine, Reading, Sample
from netkit_exporters.nics import Nic, NicSource, told
from netkit_exporters.readout import label

_LIMITS = ("high_alarm", "high_warning", "low_warning", "low_alarm")


def read_nic(nic: Nic, kernel: Kernel) -> Reading:
    """Read the module of one interface."""
    module = read_module(kernel, nic.netdev)
    if isinstance(module, Missing):
        return Reading(faults=(module,), state=told((module,), any_sample=False))
    return Reading(samples=tuple(_samples(nic.labels, module)))


def _samples(labels: tuple[str, str], module: OpticalModule) -> Iterator[Sample]:
    about = (module.form, module.vendor, module.part_number, module.serial_number)
    yield Sample(rows.INFO, (*labels, *map(label, about), str(module.copper).lower()), 1.0)
    yield from _one(rows.TEMPERATURE, labels, module.temperature_celsius)
    yield from _one(rows.SUPPLY, labels, module.supply_volts)
    for lane in module.lanes:
        yield from _lane(labels, lane)
    for alarm in module.alarms:
        yield Sample(rows.ALARM, (*labels, alarm.value), 1.0)
    yield from _limits(rows.TEMPERATURE_LIMIT, labels, module.temperature_limits_celsius)
    yield from _limits(rows.RECEIVED_LIMIT, labels, module.received_limits_watts)


def _lane(labels: tuple[str, str], lane: OpticalLane) -> Iterator[Sample]:
    at = (*labels, str(lane.number))
    yield from _one(rows.RECEIVED, at, lane.received_watts)
    yield from _one(rows.SENT, at, lane.sent_watts)
    yield from _one(rows.BIAS, at, lane.bias_amperes)
    yield from _one(rows.LOST, (*at, "received"), lane.receive_signal_lost)
    yield from _one(rows.LOST, (*at, "sent"), lane.send_signal_lost)


def _one(metric: Metric, labels: tuple[str, ...], value: float | Missing) -> Iterator[Sample]:
    if not isinstance(value, Missing):
        yield Sample(metric, labels, float(value))


def _limits(metric: Metric, labels: tuple[str, str], limits: Limits | Missing) -> Iterator[Sample]:
    if not isinstance(limits, Missing):
        for name in _LIMITS:
            yield Sample(metric, (*labels, name), getattr(limits, name))


def _open(machine: Machine) -> NicSource:
    return NicSource(machine, read_nic)


COLLECTOR = Collector(
    id="optics",
    question="How warm are the modules, and how much light arrives?",
    open=_open,
    metrics=rows.ROWS,
    interval_seconds=60.0,
    deadline_seconds=10.0,
    default=False,
)
