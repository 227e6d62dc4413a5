"""What a NIC's driver counts beyond the standard statistics: drops, FEC, the physical layer, PCIe as the NIC sees it.

`ethtool -S` names hundreds of values; only those of the catalogue go out. Corrected and uncorrectable blocks come from
ethtool netlink (FEC_GET), where the driver answers it. One reading is some forty commands to mlx5's firmware, hence
less often than pauses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.catalogue.counter import CounterRow, statistic_rows
from netkit.catalogue.metric_rows import ethtool as rows
from netkit.catalogue.pause_names import pause_counts
from netkit.model.counter import Counter
from netkit.model.ethernet_link import ErrorCorrection
from netkit.model.missing import Missing
from netkit.sources.netlink.driver_statistics import read_driver_statistics
from netkit.sources.netlink.ethtool import read_error_correction
from netkit.sources.netlink.kernel import Kernel
from netkit_exporters.collecting import Collector, Machine, Reading, Sample
from netkit_exporters.nics import Nic, NicSource, told
from netkit_exporters.readout import label

_OF_ALL_TRAFFIC = frozenset({"priority_rx_bytes", "priority_tx_bytes", "priority_discards"})
"""Of a priority without PFC; what is told of lossless ones makes no sense there."""


def read_nic(nic: Nic, kernel: Kernel) -> Reading:
    """Read one interface."""
    statistics = read_driver_statistics(kernel, nic.netdev)
    correction = read_error_correction(kernel, nic.netdev)
    corrected = () if isinstance(correction, Missing) else tuple(_corrected(nic, correction))
    faults = [statistics] if isinstance(statistics, Missing) else []
    counted = () if isinstance(statistics, Missing) else tuple(_counted(nic, statistics))
    by_netlink = {sample.metric for sample in corrected}
    samples = [*corrected, *(sample for sample in counted if sample.metric not in by_netlink)]
    return Reading(samples=samples, faults=faults, state=told(faults, bool(samples)))


def _counted(nic: Nic, statistics: Sequence[Counter]) -> Iterator[Sample]:
    known = statistic_rows(nic.driver)
    paused, carrying = _priorities(nic, statistics)
    for counter in statistics:
        if counter.name in known and isinstance(counter.raw, int):
            row, priority = known[counter.name]
            if not priority or priority in paused or (priority in carrying and row.stem in _OF_ALL_TRAFFIC):
                yield Sample(rows.COUNTERS[row.stem], (*nic.labels, *_more(row, priority)), counter.raw)


def _priorities(nic: Nic, statistics: Sequence[Counter]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the priorities with PFC and those that carried traffic; the others would be forty zeros a port."""
    known = statistic_rows(nic.driver)
    paused = {str(count.priority) for count in pause_counts(nic.driver, statistics) if count.priority is not None}
    carrying = {known[counter.name][1] for counter in statistics if counter.raw and counter.name in known}
    return frozenset(paused), frozenset(carrying)


def _more(row: CounterRow, priority: str) -> tuple[str, ...]:
    return (*((row.label[1],) if row.label else ()), *((priority,) if row.numbered else ()))


def _corrected(nic: Nic, correction: ErrorCorrection) -> Iterator[Sample]:
    if isinstance(correction.active, str):
        yield Sample(rows.FEC, (*nic.labels, label(correction.active)), 1.0)
    counts = ((rows.CORRECTED, correction.corrected_blocks), (rows.UNCORRECTABLE, correction.uncorrectable_blocks))
    for metric, value in counts:
        if not isinstance(value, Missing):
            yield Sample(metric, nic.labels, value)


def _open(machine: Machine) -> NicSource:
    return NicSource(machine, read_nic, lambda nic: bool(statistic_rows(nic.driver)))


COLLECTOR = Collector(
    id="ethtool",
    question="What do the NICs drop, correct and wait for, below what the kernel counts?",
    open=_open,
    metrics=rows.ROWS,
    interval_seconds=15.0,
)
