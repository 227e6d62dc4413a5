"""Quality of service as each port is set up, by DCB netlink (RTM_GETDCB): one digest a port, every setting on request.

IEEE 802.1Qbb and 802.1Qaz; Linux include/uapi/linux/dcbnl.h. With the option `dcb=all` each setting has its series.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from netkit.catalogue.metric_rows import dcb as rows
from netkit.model.missing import Missing
from netkit.model.qos import AppSelector, Dcb, PriorityFlowControl, ReceiveBuffers, TransmissionSelection
from netkit.sources.netlink.dcb import read_dcb
from netkit.sources.netlink.kernel import Kernel
from netkit_exporters.collecting import Collector, Machine, Reading, Sample
from netkit_exporters.nics import Nic, NicSource, told

_DIGITS = 12


def _read(nic: Nic, kernel: Kernel, everything: bool) -> Reading:
    bridging = read_dcb(kernel, nic.netdev)
    if isinstance(bridging, Missing):
        return Reading(faults=(bridging,), state=told((bridging,), any_sample=False))
    settings = tuple(_settings(nic.labels, bridging))
    shown = settings if everything else ()
    return Reading(samples=(Sample(rows.DIGEST, (*nic.labels, digest(settings)), 1.0), *shown))


def digest(settings: tuple[Sample, ...]) -> str:
    """Return a short text that is the same for ports with the same settings, whatever their names."""
    told_apart = sorted(f"{sample.metric.name} {sample.labels[2:]} {sample.value!r}" for sample in settings)
    return hashlib.sha256("\n".join(told_apart).encode()).hexdigest()[:_DIGITS]


def _settings(labels: tuple[str, str], bridging: Dcb) -> Iterator[Sample]:
    yield from _words(labels, bridging)
    yield from _priorities(labels, bridging)
    if isinstance(bridging.selection, TransmissionSelection):
        yield from _shares(labels, bridging.selection)
    if isinstance(bridging.buffers, ReceiveBuffers):
        yield from _buffers(labels, bridging.buffers)
    if isinstance(bridging.flow_control, PriorityFlowControl):
        yield Sample(rows.DELAY, labels, bridging.flow_control.delay_bits / 8)
    rates = () if isinstance(bridging.max_rate_bytes_per_second, Missing) else bridging.max_rate_bytes_per_second
    for number, rate in enumerate(rates):
        if rate:
            yield Sample(rows.MAX_RATE, (*labels, str(number)), rate)


def _words(labels: tuple[str, str], bridging: Dcb) -> Iterator[Sample]:
    if not isinstance(bridging.trust, Missing):
        yield Sample(rows.TRUST, (*labels, ",".join(bridging.trust)), 1.0)
    if not isinstance(bridging.negotiated_by, Missing):
        yield Sample(rows.NEGOTIATED, (*labels, ",".join(bridging.negotiated_by)), 1.0)


def _priorities(labels: tuple[str, str], bridging: Dcb) -> Iterator[Sample]:
    for entry in () if isinstance(bridging.app_priorities, Missing) else bridging.app_priorities:
        if entry.selector is AppSelector.DSCP:
            yield Sample(rows.DSCP, (*labels, str(entry.protocol)), float(entry.priority))


def _shares(labels: tuple[str, str], selection: TransmissionSelection) -> Iterator[Sample]:
    for priority, number in enumerate(selection.class_of_priority):
        yield Sample(rows.CLASS, (*labels, str(priority)), float(number))
    for number, (percent, algorithm) in enumerate(zip(selection.bandwidth_percent, selection.algorithm, strict=False)):
        if algorithm == "ets":
            yield Sample(rows.SHARE, (*labels, str(number)), percent / 100)


def _buffers(labels: tuple[str, str], buffers: ReceiveBuffers) -> Iterator[Sample]:
    for number, size in enumerate(buffers.size_bytes):
        if size:
            yield Sample(rows.BUFFER, (*labels, str(number)), float(size))
    for priority, number in enumerate(buffers.buffer_of_priority):
        yield Sample(rows.PRIORITY_BUFFER, (*labels, str(priority)), float(number))


def _open(machine: Machine) -> NicSource:
    everything = machine.options.get("dcb") == "all"
    return NicSource(machine, lambda nic, kernel: _read(nic, kernel, everything))


COLLECTOR = Collector(
    id="dcb",
    question="Is quality of service set up alike on every port?",
    open=_open,
    metrics=rows.ROWS,
    interval_seconds=30.0,
)
