"""The plain answer of `NvmlReader.refresh` turned into records; works the same on an answer that was recorded.

nvml.h: nvmlClocksEventReason*, nvmlGpuFabricState_t, nvmlProcessInfo_t. What single values may be: `values`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.counter import Counter, CounterForm
from netkit.model.gpu import (
    Gpu,
    GpuClocks,
    GpuEcc,
    GpuFabric,
    GpuInventory,
    GpuLink,
    GpuMemory,
    GpuPcie,
    GpuPower,
    GpuProcess,
    GpuTemperature,
    GpuUtilisation,
    GpuVendor,
    SilentGpu,
    Throttle,
)
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.model.text import visible
from netkit.sources.nvml.values import GONE, GPU_IS_LOST, Fields, Plain, entries, failed

_THROTTLE = (
    (0x001, Throttle.IDLE),
    (0x002, Throttle.APPLICATION_CLOCKS),
    (0x004, Throttle.SOFTWARE_POWER_CAP),
    (0x008, Throttle.HARDWARE_SLOWDOWN),
    (0x010, Throttle.SYNC_BOOST),
    (0x020, Throttle.SOFTWARE_THERMAL),
    (0x040, Throttle.HARDWARE_THERMAL),
    (0x080, Throttle.HARDWARE_POWER_BRAKE),
    (0x100, Throttle.DISPLAY_CLOCKS),
)


_COUNTS = MappingProxyType(
    {
        "energy_millijoules": CounterForm(unit="millijoules", bits=64),
        **dict.fromkeys(("nvlink_sent_kibibytes", "nvlink_received_kibibytes"), CounterForm(unit="kibibytes", bits=64)),
        **dict.fromkeys(
            ("nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_flit_errors", "nvlink_crc_data_errors"),
            CounterForm(unit="errors", bits=64),
        ),
        **dict.fromkeys(("pcie_sent_bytes", "pcie_received_bytes"), CounterForm(unit="bytes", bits=64)),
        **dict.fromkeys(
            ("throttle_power_nanoseconds", "throttle_thermal_nanoseconds"), CounterForm(unit="nanoseconds", bits=64)
        ),
    }
)
"""What the child counts."""
_FABRIC_STATES = MappingProxyType({1: "not-started", 2: "in-progress", 3: "completed"})


def parse_answer(answer: Mapping[str, object]) -> GpuInventory | Missing:
    """Read an answer; Missing where NVML as a whole gave none and no GPU was ever seen."""
    devices = [one for one in entries(answer.get("devices")) if isinstance(one, dict)]
    if "error" in answer and not devices:
        return failed(answer["error"], "nvml")
    answered = [one for one in devices if isinstance(one.get("fields"), dict)]
    off = {visible(str(name)) for one in answered for name in entries(one.get("features_off"))}
    driver = answer.get("driver")
    return GpuInventory(
        driver=visible(driver) if isinstance(driver, str) else failed(answer.get("error"), "nvml driver"),
        gpus=tuple(_gpu(one) for one in answered),
        silent=tuple(_silent(one) for one in devices if "fields" not in one),
        features_off=tuple(sorted(off)),
    )


def _address(shown: object, where: str) -> PciAddress | Missing:
    try:
        return PciAddress.parse(shown) if isinstance(shown, str) else failed(None, where)
    except InputError:
        return Missing(reason=Reason.MALFORMED, where=where, detail=visible(str(shown), 80))


def _silent(device: Plain) -> SilentGpu:
    index, uuid = device.get("index"), device.get("uuid")
    nothing = Missing(reason=Reason.ABSENT, where="nvml", detail="never read")
    return SilentGpu(
        index=index if isinstance(index, int) else nothing,
        uuid=visible(uuid) if isinstance(uuid, str) else nothing,
        address=_address(device["bus_id"], "nvml pci") if device.get("bus_id") else nothing,
        lost=device.get("error") in (GPU_IS_LOST, GONE),
        why=failed(device.get("error"), "nvml"),
    )


def _gpu(device: Plain) -> Gpu:
    fields = Fields(device)
    index = device.get("index")
    bus = fields.raw("pci", "busId")
    return Gpu(
        vendor=GpuVendor.NVIDIA,
        index=index if isinstance(index, int) else 0,
        uuid=fields.text("uuid"),
        address=bus if isinstance(bus, Missing) else _address(bus, "nvml pci"),
        name=fields.text("name"),
        memory=GpuMemory(
            total_bytes=fields.number("memory", "total", most=2**50),
            used_bytes=fields.number("memory", "used", most=2**50),
        ),
        utilisation=GpuUtilisation(
            compute=fields.scaled("utilisation", "gpu", per=100, most=100),
            memory=fields.scaled("utilisation", "memory", per=100, most=100),
        ),
        clocks=_clocks(fields),
        power=GpuPower(
            draw_watts=fields.scaled("power_milliwatts", per=1000, most=1e7),
            limit_watts=fields.scaled("power_limit_milliwatts", per=1000, most=1e7),
        ),
        temperature=GpuTemperature(
            core_celsius=fields.scaled("temperature", most=200),
            memory_celsius=fields.scaled("values", "memory_celsius", most=200),
        ),
        throttle=_throttle(fields),
        pcie=_pcie(fields),
        links=_links(fields),
        fabric=_fabric(fields),
        mig_enabled=fields.flag("mig", 0),
        ecc=_ecc(fields),
        processes=_processes(fields),
        counters=tuple(_counters(fields)),
    )


def _counters(fields: Fields) -> Iterator[Counter]:
    """Yield the counts the driver keeps; one it has not is left out."""
    for name, form in _COUNTS.items():
        raw = fields.number("values", "counts", name)
        if not isinstance(raw, Missing):
            yield Counter(name=name, raw=raw, form=form)


def _clocks(fields: Fields) -> GpuClocks:
    return GpuClocks(
        graphics_hertz=fields.hertz("clock_graphics"),
        memory_hertz=fields.hertz("clock_memory"),
        max_graphics_hertz=fields.hertz("clock_max_graphics"),
        max_memory_hertz=fields.hertz("clock_max_memory"),
    )


def _pcie(fields: Fields) -> GpuPcie:
    return GpuPcie(
        generation=fields.number("pcie_generation", most=16),
        width=fields.number("pcie_width", most=64),
        max_generation=fields.number("pcie_max_generation", most=16),
        max_width=fields.number("pcie_max_width", most=64),
        replays=fields.number("pcie_replays"),
    )


def _ecc(fields: Fields) -> GpuEcc:
    corrected = fields.number("remapped_rows", 0)
    uncorrected = fields.number("remapped_rows", 1)
    missing = corrected if isinstance(corrected, Missing) else uncorrected
    return GpuEcc(
        enabled=fields.flag("ecc_mode", 0),
        corrected=fields.number("ecc_corrected"),
        uncorrected=fields.number("ecc_uncorrected"),
        remapped_rows=missing
        if isinstance(missing, Missing) or isinstance(corrected, Missing)
        else corrected + missing,
        remap_pending=fields.flag("remapped_rows", 2),
        remap_failed=fields.flag("remapped_rows", 3),
    )


def _throttle(fields: Fields) -> tuple[Throttle, ...] | Missing:
    mask = fields.number("throttle")
    return mask if isinstance(mask, Missing) else tuple(reason for bit, reason in _THROTTLE if mask & bit)


def _links(fields: Fields) -> tuple[GpuLink, ...] | Missing:
    states = fields.entries("links")
    if isinstance(states, Missing):
        return states
    return tuple(
        GpuLink(
            index=link,
            active=fields.flag("links", link),
            bytes_per_second=fields.scaled("values", "link_megabytes_per_second", link, times=1e6, most=1e6),
        )
        for link in range(len(states))
    )


def _fabric(fields: Fields) -> GpuFabric | Missing:
    state = fields.number("fabric", "state", most=255)
    if isinstance(state, Missing):
        return state
    if state not in _FABRIC_STATES:
        return Missing(reason=Reason.UNSUPPORTED, where="nvml fabric", detail=f"state {state}")
    nothing = Missing(reason=Reason.ABSENT, where="nvml fabric", detail="not completed")
    status, cluster = fields.number("fabric", "status"), fields.raw("fabric", "cluster")
    known = isinstance(cluster, str) and bool(cluster.strip("0"))
    done = _FABRIC_STATES[state] == "completed"
    return GpuFabric(
        state=_FABRIC_STATES[state],
        status=nothing if not done else "success" if status == 0 else f"failed (NVML {status})",
        cluster=visible(str(cluster), 64) if known else nothing,
        clique=fields.number("fabric", "clique") if done else nothing,
    )


def _processes(fields: Fields) -> tuple[GpuProcess, ...] | Missing:
    listed = fields.entries("processes")
    if isinstance(listed, Missing):
        return listed
    found = [one for one in listed if isinstance(one, dict) and isinstance(one.get("pid"), int)]
    return tuple(
        GpuProcess(
            pid=one["pid"],
            compute=True,
            name=Missing(reason=Reason.UNSUPPORTED, where="nvml processes", detail="not asked of NVML"),
            memory_bytes=Fields({"fields": one}).number("usedGpuMemory", most=2**50),
        )
        for one in found
    )
