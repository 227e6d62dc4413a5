"""Priority flow control: who stops whom, on which priority, for how long, beside which priorities are lossless at all.

Counts come from the driver's statistics (`ethtool -S`, names by driver in `netkit.catalogue.pause_names`), which
priorities are on from DCB netlink (IEEE 802.1Qbb). The counts DCB itself gives are stale on mlx5 and not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.catalogue.metric_rows import pfc as rows
from netkit.catalogue.metrics import Metric
from netkit.catalogue.pause_names import ROWS, PauseCount, PauseMeasure, pause_counts
from netkit.model.ethernet_link import Pause
from netkit.model.missing import Missing
from netkit.model.qos import Dcb, PriorityFlowControl
from netkit.sources.netlink.dcb import read_dcb
from netkit.sources.netlink.driver_statistics import read_driver_statistics
from netkit.sources.netlink.ethtool import read_pause
from netkit.sources.netlink.kernel import Kernel
from netkit_exporters.collecting import Collector, Machine, Reading, Sample
from netkit_exporters.nics import Nic, NicSource, told

_BY_PRIORITY: dict[PauseMeasure, Metric] = {
    PauseMeasure.FRAMES: rows.FRAMES,
    PauseMeasure.SECONDS: rows.SECONDS,
    PauseMeasure.TRANSITIONS: rows.TRANSITIONS,
    PauseMeasure.RESUMES: rows.RESUMES,
}
_OF_THE_LINK: dict[PauseMeasure, Metric] = {
    PauseMeasure.FRAMES: rows.GLOBAL_FRAMES,
    PauseMeasure.SECONDS: rows.GLOBAL_SECONDS,
    PauseMeasure.TRANSITIONS: rows.GLOBAL_TRANSITIONS,
    PauseMeasure.RESUMES: rows.GLOBAL_RESUMES,
}
_LEVELS = {PauseMeasure.STORM_WARNINGS: "warning", PauseMeasure.STORM_ERRORS: "error"}
_WAYS = {True: "received", False: "sent", None: "sent"}
"""Drivers that count storms without a direction mean the pauses they send."""


def read_nic(nic: Nic, kernel: Kernel) -> Reading:
    """Read one interface."""
    statistics = read_driver_statistics(kernel, nic.netdev)
    bridging = read_dcb(kernel, nic.netdev)
    pause = read_pause(kernel, nic.netdev)
    faults = [found for found in (statistics, bridging) if isinstance(found, Missing)]
    counted = () if isinstance(statistics, Missing) else pause_counts(nic.driver, statistics)
    samples = [*_counted(nic, counted), *_configured(nic, bridging, pause)]
    return Reading(samples=samples, faults=faults, state=told(faults, bool(samples)))


def _counted(nic: Nic, counted: Sequence[PauseCount]) -> Iterator[Sample]:
    storms: dict[tuple[str, str], float] = {}
    for count in counted:
        way = _WAYS[count.received]
        if count.measure in _LEVELS:
            level = _LEVELS[count.measure]
            storms[way, level] = storms.get((way, level), 0.0) + count.value
        elif count.priority is not None or "pripause" in count.name:
            priority = "all" if count.priority is None else str(count.priority)
            yield Sample(_BY_PRIORITY[count.measure], (*nic.labels, way, priority), count.value)
        else:
            yield Sample(_OF_THE_LINK[count.measure], (*nic.labels, way), count.value)
    for (way, level), value in storms.items():
        yield Sample(rows.STORMS, (*nic.labels, way, level), value)


def _configured(nic: Nic, bridging: Dcb | Missing, pause: Pause | Missing) -> Iterator[Sample]:
    control = bridging if isinstance(bridging, Missing) else bridging.flow_control
    if isinstance(control, PriorityFlowControl):
        for priority, enabled in enumerate(control.enabled):
            yield Sample(rows.LOSSLESS, (*nic.labels, str(priority)), float(enabled))
    profile = _profile(control, pause)
    if profile:
        yield Sample(rows.PROFILE, (*nic.labels, profile), 1.0)


def _profile(control: PriorityFlowControl | Missing, pause: Pause | Missing) -> str:
    """Name the kind of flow control; empty where neither source says."""
    if isinstance(control, PriorityFlowControl) and any(control.enabled):
        return "pfc"
    if isinstance(pause, Pause) and (pause.receives is True or pause.sends is True):
        return "global"
    return "none" if isinstance(control, PriorityFlowControl) or isinstance(pause, Pause) else ""


def _open(machine: Machine) -> NicSource:
    return NicSource(machine, read_nic, lambda nic: nic.driver in ROWS)


COLLECTOR = Collector(
    id="pfc",
    question="Who pauses whom, on which priority and for how long, and which priorities are lossless?",
    open=_open,
    metrics=rows.ROWS,
)
