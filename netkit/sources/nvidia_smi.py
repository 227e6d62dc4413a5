"""`nvidia-smi -q` and `nvidia-smi nvlink --status` as the records NVML gives: the way in where NVML cannot be used.

nvidia-smi(1). A value shown as N/A is Missing. Throttle reasons are called "Clocks Throttle Reasons" before driver
535; a GPU the driver lost is one line "Unable to determine the device handle for GPU …: GPU is lost".
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from netkit.errors import InputError
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
from netkit.sources.nvidia_smi_text import LONGEST_TEXT, Section, parse_sections

_REASONS = (
    (("Idle",), Throttle.IDLE),
    (("Applications Clocks Setting",), Throttle.APPLICATION_CLOCKS),
    (("SW Power Cap",), Throttle.SOFTWARE_POWER_CAP),
    (("HW Slowdown",), Throttle.HARDWARE_SLOWDOWN),
    (("HW Slowdown", "HW Thermal Slowdown"), Throttle.HARDWARE_THERMAL),
    (("HW Slowdown", "HW Power Brake Slowdown"), Throttle.HARDWARE_POWER_BRAKE),
    (("Sync Boost",), Throttle.SYNC_BOOST),
    (("SW Thermal Slowdown",), Throttle.SOFTWARE_THERMAL),
    (("Display Clock Setting",), Throttle.DISPLAY_CLOCKS),
)
_HEADING = re.compile(r"GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])")
_LOST = re.compile(
    r"Unable to determine the device handle for (?:GPU|gpu) ?([0-9A-Fa-f:.]{7,16}): (?:GPU is lost|Unknown Error)"
)
_LINK_GPU = re.compile(r"GPU [0-9]{1,4}: .*\(UUID: ([A-Za-z0-9-]{1,80})\)")
_LINK = re.compile(r"\s+Link ([0-9]{1,3}): (?:([0-9]{1,6}(?:\.[0-9]{1,6})?) GB/s|<inactive>)")
_MOST_PROCESSES = 4096


def parse_query(text: str) -> GpuInventory:
    """Read the output of `nvidia-smi -q`; InputError when it is not one."""
    root = parse_sections(text)
    headings = [(section, match[1]) for section in root.below if (match := _HEADING.fullmatch(section.name))]
    lost = [match[1] for match in _LOST.finditer(text)]
    if not headings and not lost and root.find("Attached GPUs") is None:
        raise InputError("nvidia-smi text", "the output of `nvidia-smi -q`")
    return GpuInventory(
        driver=root.text("Driver Version"),
        gpus=tuple(_gpu(index, shown, section) for index, (section, shown) in enumerate(headings)),
        silent=tuple(_silent(shown) for shown in lost),
        features_off=(),
    )


def parse_link_status(text: str) -> Mapping[str, tuple[GpuLink, ...]]:
    """Read `nvidia-smi nvlink --status`: the links of each GPU by UUID, speeds in one direction."""
    if len(text) > LONGEST_TEXT:
        raise InputError("nvidia-smi text", f"at most {LONGEST_TEXT >> 20} MiB")
    links: dict[str, tuple[GpuLink, ...]] = {}
    uuid = ""
    for line in text.split("\n"):
        if heading := _LINK_GPU.fullmatch(line.rstrip()):
            uuid = heading[1]
            links[uuid] = ()
        elif uuid and (match := _LINK.fullmatch(line.rstrip())):
            links[uuid] += (_link(match),)
    return links


def with_links(inventory: GpuInventory, links: Mapping[str, tuple[GpuLink, ...]]) -> GpuInventory:
    """Put the links where they belong; a GPU not listed keeps what it had."""
    gpus = tuple(dataclasses.replace(gpu, links=links.get(str(gpu.uuid), gpu.links)) for gpu in inventory.gpus)
    return dataclasses.replace(inventory, gpus=gpus)


def _link(match: re.Match[str]) -> GpuLink:
    nothing = Missing(reason=Reason.ABSENT, where="nvidia-smi nvlink", detail="inactive")
    speed = float(match[2]) * 1e9 if match[2] else nothing
    return GpuLink(index=int(match[1]), active=match[2] is not None, bytes_per_second=speed)


def _address(shown: str) -> PciAddress | Missing:
    try:
        return PciAddress.parse(shown)
    except InputError:
        return Missing(reason=Reason.MALFORMED, where="nvidia-smi bus id", detail=visible(shown, 40))


def _silent(shown: str) -> SilentGpu:
    nothing = Missing(reason=Reason.ABSENT, where="nvidia-smi", detail="not in the line")
    why = Missing(reason=Reason.ABSENT, where="nvidia-smi", detail="GPU is lost")
    return SilentGpu(index=nothing, uuid=nothing, address=_address(shown), lost=True, why=why)


def _gpu(index: int, shown: str, section: Section) -> Gpu:
    return Gpu(
        vendor=GpuVendor.NVIDIA,
        index=index,
        uuid=section.text("GPU UUID"),
        address=_address(shown),
        name=section.text("Product Name"),
        memory=GpuMemory(
            total_bytes=section.whole("FB Memory Usage", "Total"), used_bytes=section.whole("FB Memory Usage", "Used")
        ),
        utilisation=GpuUtilisation(compute=_fraction(section, "Gpu", "GPU"), memory=_fraction(section, "Memory")),
        clocks=_clocks(section),
        power=_power(section),
        temperature=GpuTemperature(
            core_celsius=section.number("Temperature", "GPU Current Temp"),
            memory_celsius=section.number("Temperature", "Memory Current Temp"),
        ),
        throttle=_throttle(section),
        pcie=_pcie(section),
        links=Missing(reason=Reason.ABSENT, where="nvidia-smi nvlink --status", detail="not asked"),
        fabric=_fabric(section),
        mig_enabled=section.flag("Enabled", "Disabled", "MIG Mode", "Current"),
        ecc=_ecc(section),
        processes=_processes(section),
    )


def _fraction(section: Section, *names: str) -> float | Missing:
    """Driver 570 writes `GPU` where earlier ones wrote `Gpu`."""
    name = next((name for name in names if section.find("Utilization", name)), names[0])
    percent = section.number("Utilization", name)
    return percent if isinstance(percent, Missing) else percent / 100


def _clocks(section: Section) -> GpuClocks:
    return GpuClocks(
        graphics_hertz=section.whole("Clocks", "Graphics"),
        memory_hertz=section.whole("Clocks", "Memory"),
        max_graphics_hertz=section.whole("Max Clocks", "Graphics"),
        max_memory_hertz=section.whole("Max Clocks", "Memory"),
    )


def _power(section: Section) -> GpuPower:
    at = "GPU Power Readings" if section.find("GPU Power Readings") else "Power Readings"
    draw = "Average Power Draw" if section.find(at, "Average Power Draw") else "Power Draw"
    limit = "Current Power Limit" if section.find(at, "Current Power Limit") else "Power Limit"
    return GpuPower(draw_watts=section.number(at, draw), limit_watts=section.number(at, limit))


def _pcie(section: Section) -> GpuPcie:
    info = section.find("PCI", "GPU Link Info") or Section("", None)
    return GpuPcie(
        generation=info.whole("PCIe Generation", "Current"),
        width=info.whole("Link Width", "Current"),
        max_generation=info.whole("PCIe Generation", "Max"),
        max_width=info.whole("Link Width", "Max"),
        replays=section.whole("PCI", "Replays Since Reset"),
    )


def _throttle(section: Section) -> tuple[Throttle, ...] | Missing:
    reasons = section.find("Clocks Event Reasons") or section.find("Clocks Throttle Reasons")
    if reasons is None or not reasons.below:
        return Missing(reason=Reason.ABSENT, where="nvidia-smi Clocks Event Reasons", detail="no such lines")
    shown = [(reasons.text(*names), throttle) for names, throttle in _REASONS]
    if all(isinstance(value, Missing) for value, _ in shown):
        return Missing(reason=Reason.UNSUPPORTED, where="nvidia-smi Clocks Event Reasons", detail="N/A")
    return tuple(throttle for value, throttle in shown if value == "Active")


def _fabric(section: Section) -> GpuFabric | Missing:
    state = section.text("Fabric", "State")
    if isinstance(state, Missing):
        return state
    status = section.text("Fabric", "Status")
    return GpuFabric(
        state=state.lower().replace(" ", "-"),
        status=status if isinstance(status, Missing) else status.lower(),
        cluster=section.text("Fabric", "ClusterUUID"),
        clique=section.whole("Fabric", "CliqueId"),
    )


def _ecc(section: Section) -> GpuEcc:
    volatile = section.find("ECC Errors", "Volatile") or Section("", None)
    return GpuEcc(
        enabled=section.flag("Enabled", "Disabled", "ECC Mode", "Current"),
        corrected=_sum(volatile, " Correctable"),
        uncorrected=_sum(volatile, " Uncorrectable"),
        remapped_rows=_sum(section.find("Remapped Rows") or Section("", None), "orrectable Error"),
        remap_pending=section.flag("Yes", "No", "Remapped Rows", "Pending"),
        remap_failed=section.flag("Yes", "No", "Remapped Rows", "Remapping Failure Occurred"),
    )


def _sum(section: Section, name_holds: str) -> int | Missing:
    """Add the lines of one kind; one that is not given makes the sum Missing."""
    lines = [line.name for line in section.below if name_holds in line.name]
    values = [section.whole(name) for name in lines]
    missing = [value for value in values if isinstance(value, Missing)]
    if missing:
        return missing[0]
    nothing = Missing(reason=Reason.ABSENT, where=f"nvidia-smi {section.name or 'section'}", detail="no such lines")
    return sum(value for value in values if isinstance(value, int)) if values else nothing


def _processes(section: Section) -> tuple[GpuProcess, ...] | Missing:
    found = section.find("Processes")
    if found is None:
        return Missing(reason=Reason.ABSENT, where="nvidia-smi Processes", detail="no such lines")
    if found.value not in (None, "None"):
        return Missing(reason=Reason.UNSUPPORTED, where="nvidia-smi Processes", detail=found.value or "empty")
    processes = [line for line in found.below[: _MOST_PROCESSES * 4] if line.name == "Process ID"]
    return tuple(_process(line) for line in processes if line.value is not None and line.value.isdecimal())


def _process(line: Section) -> GpuProcess:
    kind = line.text("Type")
    return GpuProcess(
        pid=int(line.value or 0),
        compute=isinstance(kind, str) and "C" in kind,
        name=line.text("Name"),
        memory_bytes=line.whole("Used GPU Memory"),
    )
