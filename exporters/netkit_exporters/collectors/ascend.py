"""Huawei Ascend devices and the network ports inside them, from the text of `npu-smi` and `hccn_tool`.

Huawei "npu-smi Command Reference" and "HCCN Tool Interface Reference". Tools are started seldom, off any scrape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.catalogue.metric_rows import ascend as rows
from netkit.catalogue.metric_rows import gpu as gpu_rows
from netkit.catalogue.metrics import Metric
from netkit.model.gpu import NpuPort
from netkit.model.missing import Missing, Reason
from netkit.sources.accelerators import read_ascend, read_npu_ports
from netkit.sources.drivers import Drivers
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, Target
from netkit_exporters.gpu_samples import reading_of


class _Devices:
    """All devices together: the tools list them all."""

    key = "npu"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._drivers: Drivers | None = None

    def read(self) -> Reading:
        """Ask the tools once."""
        if self._drivers is None:
            assert self._machine.open_drivers is not None
            self._drivers = self._machine.open_drivers()
        found = read_ascend(self._drivers)
        devices = reading_of(found)
        if isinstance(found, Missing):
            return devices
        ports = read_npu_ports(self._drivers, found)
        if isinstance(ports, Missing):
            return Reading(samples=devices.samples, faults=(*devices.faults, ports))
        told = [sample for port in ports for sample in _port_samples(port)]
        return Reading(samples=(*devices.samples, *told), faults=devices.faults)

    def targets(self) -> Sequence[Target] | Missing:
        """Return the devices; Missing where tools would speak of another machine."""
        if self._machine.open_drivers is None:
            return Missing(reason=Reason.UNSUPPORTED, where="npu-smi", detail="only files were recorded")
        return (self,)

    def close(self) -> None:
        """End whatever asks the drivers."""
        close = getattr(self._drivers, "close", None)
        if close is not None:
            close()


def _port_samples(port: NpuPort) -> Iterator[Sample]:
    at = (str(port.device),)
    told: tuple[tuple[Metric, float | Missing], ...] = (
        (rows.UP, port.up),
        (rows.SPEED, port.speed_bytes_per_second),
        (rows.UPS, port.link_ups),
        (rows.MODULE, port.module_celsius),
        (rows.MODULE_PRESENT, port.module_present),
    )
    for metric, value in told:
        if not isinstance(value, Missing):
            yield Sample(metric, at, float(value))
    for counter in () if isinstance(port.counters, Missing) else port.counters:
        if not isinstance(counter.value, Missing):
            yield Sample(rows.COUNTER, (*at, counter.name), float(counter.value))


COLLECTOR = Collector(
    id="ascend",
    question="Are the Ascend devices and the network ports inside them healthy?",
    open=_Devices,
    metrics=rows.ROWS + gpu_rows.ROWS,
    interval_seconds=30.0,
    deadline_seconds=60.0,
)
