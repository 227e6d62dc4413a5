"""Samples of one vendor's accelerators; three collectors give the same families."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.catalogue.metric_rows import gpu as rows
from netkit.catalogue.metrics import Metric
from netkit.model.gpu import Gpu, GpuInventory, GpuLink, SilentGpu, Throttle
from netkit.model.missing import Missing
from netkit_exporters.collecting import Reading, Sample, State
from netkit_exporters.readout import label

_NO_TROUBLE = frozenset({Throttle.IDLE, Throttle.APPLICATION_CLOCKS, Throttle.DISPLAY_CLOCKS})
_COUNTS: dict[str, tuple[Metric, tuple[str, ...], float]] = {
    "energy_millijoules": (rows.ENERGY, (), 1e-3),
    "nvlink_sent_kibibytes": (rows.NVLINK_BYTES, ("sent",), 1024),
    "nvlink_received_kibibytes": (rows.NVLINK_BYTES, ("received",), 1024),
    "pcie_sent_bytes": (rows.PCIE_BYTES, ("sent",), 1),
    "pcie_received_bytes": (rows.PCIE_BYTES, ("received",), 1),
    **{
        f"nvlink_{kind}_errors": (rows.NVLINK_ERRORS, (kind,), 1.0)
        for kind in ("replay", "recovery", "crc_flit", "crc_data")
    },
    **{f"throttle_{reason}_nanoseconds": (rows.THROTTLE_TIME, (reason,), 1e-9) for reason in ("power", "thermal")},
}
"""By the name in the inventory: family, labels beside the device's, factor to the base unit."""

Labels = tuple[str, ...]


def reading_of(found: GpuInventory | Missing) -> Reading:
    """Turn an inventory into a reading; a vendor that is not here is no data."""
    if isinstance(found, Missing):
        absent = found.reason.value in ("absent", "unsupported")
        return Reading(faults=(found,), state=State.NO_DATA if absent else State.ERROR)
    samples = [sample for gpu in found.gpus for sample in gpu_samples(gpu, found.driver)]
    samples += [silent_sample(gpu) for gpu in found.silent]
    return Reading(samples=samples, faults=[gpu.why for gpu in found.silent])


def silent_sample(gpu: SilentGpu) -> Sample:
    """Say that a GPU gave no answer, and whether the driver itself calls it lost."""
    return Sample(rows.LOST, (_or_nothing(gpu.index), _or_nothing(gpu.uuid), _or_nothing(gpu.address)), float(gpu.lost))


def gpu_samples(gpu: Gpu, driver: str | Missing) -> Iterator[Sample]:
    """Yield everything one device gave."""
    at = (str(gpu.index), _or_nothing(gpu.uuid), _or_nothing(gpu.address))
    yield Sample(rows.INFO, (*at, gpu.vendor.value, _or_nothing(gpu.name), _or_nothing(driver)), 1.0)
    for metric, more, value in _values(gpu):
        if not isinstance(value, Missing):
            yield Sample(metric, (*at, *more), float(value))
    for counter in gpu.counters:
        metric, more, factor = _COUNTS[counter.name]
        if not isinstance(counter.raw, Missing):
            yield Sample(metric, (*at, *more), counter.raw * factor)


def _values(gpu: Gpu) -> Iterator[tuple[Metric, Labels, float | Missing]]:
    yield rows.UTILISATION, (), gpu.utilisation.compute
    yield rows.MEMORY_TOTAL, (), gpu.memory.total_bytes
    yield rows.MEMORY_USED, (), gpu.memory.used_bytes
    yield rows.CLOCK, (), gpu.clocks.graphics_hertz
    yield rows.POWER, (), gpu.power.draw_watts
    yield rows.POWER_LIMIT, (), gpu.power.limit_watts
    yield rows.TEMPERATURE, ("chip",), gpu.temperature.core_celsius
    yield rows.TEMPERATURE, ("memory",), gpu.temperature.memory_celsius
    yield rows.REPLAYS, (), gpu.pcie.replays
    yield rows.ECC, ("corrected",), gpu.ecc.corrected
    yield rows.ECC, ("uncorrected",), gpu.ecc.uncorrected
    yield rows.REMAP_PENDING, (), gpu.ecc.remap_pending
    yield rows.REMAP_FAILED, (), gpu.ecc.remap_failed
    yield from _throttled(gpu)
    yield from _links(() if isinstance(gpu.links, Missing) else gpu.links)
    if not isinstance(gpu.fabric, Missing) and not isinstance(gpu.fabric.state, Missing):
        yield rows.FABRIC, (), float(gpu.fabric.state == "completed" and gpu.fabric.status == "success")


def _throttled(gpu: Gpu) -> Iterator[tuple[Metric, Labels, float]]:
    reasons = () if isinstance(gpu.throttle, Missing) else gpu.throttle
    for reason in reasons:
        if reason not in _NO_TROUBLE:
            yield rows.THROTTLED, (reason.value,), 1.0


def _links(links: tuple[GpuLink, ...]) -> Iterator[tuple[Metric, Labels, float]]:
    if links:
        yield rows.LINKS_UP, (), float(sum(link.active is True for link in links))


def _or_nothing(value: object) -> str:
    return "" if isinstance(value, Missing) else label(str(value))
