"""AMD GPUs through sysfs, without any library: `/sys/class/drm/card*/device`.

xGMI links and throttling are in a binary table (`amd_metrics.py`), processes in the compute driver's class
(`amd_processes.py`).
Linux Documentation/gpu/amdgpu/{driver-misc,thermal,ras}.rst; XGMI: drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c; power and
temperatures: Documentation/hwmon/sysfs-interface.rst. Partitions of one GPU show as more cards, one GPU counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from netkit.errors import InputError
from netkit.model.gpu import (
    Gpu,
    GpuClocks,
    GpuEcc,
    GpuFabric,
    GpuInventory,
    GpuMemory,
    GpuPcie,
    GpuPower,
    GpuProcess,
    GpuTemperature,
    GpuUtilisation,
    GpuVendor,
)
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.sources.amd_metrics import read_amd_metrics
from netkit.sources.amd_processes import read_amd_processes
from netkit.sources.attributes import base_name, hexadecimal, malformed, names, natural, text
from netkit.sources.tree import Tree

_CARDS = "sys/class/drm"
_CARD = re.compile(r"card([0-9]{1,4})")
_AMD = 0x1002
_LEVEL = re.compile(r"^\s*[0-9A-Z]{1,3}: ([0-9]{1,6})M[Hh]z *(\*?) *$", re.MULTILINE)
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s(?: PCIe)?")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_ERRORS = re.compile(rb"ue: ([0-9]{1,20})\nce: ([0-9]{1,20})\n?(?:de: [0-9]{1,20}\n?)?")
_HEXADECIMAL = re.compile(r"(?:0x)?[0-9a-f]{1,16}")


def read_amd_gpus(tree: Tree) -> GpuInventory | Missing:
    """Return AMD's GPUs in the order of their cards; Missing where the kernel has no `drm` class at all."""
    listed = tree.list(_CARDS)
    if isinstance(listed, Missing):
        return listed
    found: dict[PciAddress, str] = {}
    for folder in _cards(tree, listed):
        address = _address(tree, folder)
        if address is not None:
            found.setdefault(address, folder)
    processes = read_amd_processes(tree) if found else {}
    gpus = tuple(
        replace(_gpu(tree, index, folder, address), processes=_of(processes, address))
        for index, (address, folder) in enumerate(found.items())
    )
    driver = text(tree, "sys/module/amdgpu/version")
    return GpuInventory(driver=driver, gpus=gpus, silent=(), features_off=())


def _of(
    processes: Mapping[PciAddress, tuple[GpuProcess, ...]] | Missing, address: PciAddress
) -> tuple[GpuProcess, ...] | Missing:
    unlisted = Missing(reason=Reason.ABSENT, where="sys/class/kfd", detail=f"no node for {address}")
    return processes if isinstance(processes, Missing) else processes.get(address, unlisted)


def _cards(tree: Tree, listed: tuple[str, ...]) -> Iterator[str]:
    numbered = sorted((int(match[1]), name) for name in listed if (match := _CARD.fullmatch(name)))
    for _, name in numbered:
        folder = f"{_CARDS}/{name}/device"
        if hexadecimal(tree, f"{folder}/vendor") == _AMD:
            yield folder


def _address(tree: Tree, folder: str) -> PciAddress | None:
    name = base_name(tree, folder)
    try:
        return PciAddress.parse(name) if isinstance(name, str) else None
    except InputError:
        return None


def _gpu(tree: Tree, index: int, folder: str, address: PciAddress) -> Gpu:
    sensors = _sensors(tree, folder)
    metrics = read_amd_metrics(tree, f"{folder}/gpu_metrics")
    draw = _scaled(natural(tree, f"{sensors}/power1_average"), 1e6)
    return Gpu(
        vendor=GpuVendor.AMD,
        index=index,
        uuid=_unique_id(tree, folder),
        address=address,
        name=text(tree, f"{folder}/product_name"),
        memory=GpuMemory(
            total_bytes=natural(tree, f"{folder}/mem_info_vram_total"),
            used_bytes=natural(tree, f"{folder}/mem_info_vram_used"),
        ),
        utilisation=GpuUtilisation(
            compute=_scaled(natural(tree, f"{folder}/gpu_busy_percent"), 100),
            memory=_scaled(natural(tree, f"{folder}/mem_busy_percent"), 100),
        ),
        clocks=_clocks(tree, folder),
        power=GpuPower(
            # Newer chips give only the instantaneous value.
            draw_watts=_scaled(natural(tree, f"{sensors}/power1_input"), 1e6) if isinstance(draw, Missing) else draw,
            limit_watts=_scaled(natural(tree, f"{sensors}/power1_cap"), 1e6),
        ),
        temperature=_temperature(tree, sensors),
        throttle=metrics.throttle,
        pcie=_pcie(tree, folder, metrics.pcie_replays),
        links=metrics.links,
        fabric=_fabric(tree, folder),
        mig_enabled=_partitioned(tree, folder),
        ecc=_ecc(tree, folder),
        processes=_elsewhere(folder, "not asked yet"),
    )


def _elsewhere(folder: str, detail: str) -> Missing:
    return Missing(reason=Reason.UNSUPPORTED, where=folder, detail=detail)


def _scaled(value: int | Missing, per: float) -> float | Missing:
    return value if isinstance(value, Missing) else value / per


def _unique_id(tree: Tree, folder: str) -> str | Missing:
    shown = text(tree, f"{folder}/unique_id")
    if isinstance(shown, Missing) or _HEXADECIMAL.fullmatch(shown):
        return shown
    return malformed(shown.encode(), f"{folder}/unique_id")


def _clocks(tree: Tree, folder: str) -> GpuClocks:
    graphics, most_graphics = _levels(tree, f"{folder}/pp_dpm_sclk")
    memory, most_memory = _levels(tree, f"{folder}/pp_dpm_mclk")
    return GpuClocks(
        graphics_hertz=graphics,
        memory_hertz=memory,
        max_graphics_hertz=most_graphics,
        max_memory_hertz=most_memory,
    )


def _levels(tree: Tree, path: str) -> tuple[int | Missing, int | Missing]:
    """Read `0: 500Mhz` lines: the one with a star is now, the largest is the most."""
    data = tree.read(path)
    if isinstance(data, Missing):
        return data, data
    levels = [(int(mhz) * 1_000_000, star) for mhz, star in _LEVEL.findall(data.decode(errors="replace"))]
    if not levels:
        return malformed(data, path), malformed(data, path)
    now = next((hertz for hertz, star in levels if star), None)
    return now if now is not None else malformed(data, path), max(hertz for hertz, _ in levels)


def _sensors(tree: Tree, folder: str) -> str:
    return next((f"{folder}/hwmon/{name}" for name in names(tree, f"{folder}/hwmon")), f"{folder}/hwmon")


def _temperature(tree: Tree, sensors: str) -> GpuTemperature:
    """The hottest spot of the chip where it has a sensor of its own, its edge otherwise."""
    labels = {text(tree, f"{sensors}/temp{number}_label"): number for number in (1, 2, 3)}
    core = labels.get("junction", labels.get("edge", 1))
    memory = labels.get("mem", 3)
    return GpuTemperature(
        core_celsius=_scaled(natural(tree, f"{sensors}/temp{core}_input"), 1000),
        memory_celsius=_scaled(natural(tree, f"{sensors}/temp{memory}_input"), 1000),
    )


def _pcie(tree: Tree, folder: str, counted: int | Missing) -> GpuPcie:
    replays = natural(tree, f"{folder}/pcie_replay_count")
    return GpuPcie(
        generation=_generation(tree, f"{folder}/current_link_speed"),
        width=natural(tree, f"{folder}/current_link_width"),
        max_generation=_generation(tree, f"{folder}/max_link_speed"),
        max_width=natural(tree, f"{folder}/max_link_width"),
        replays=counted if isinstance(replays, Missing) else replays,
    )


def _generation(tree: Tree, path: str) -> int | Missing:
    shown = text(tree, path)
    if isinstance(shown, Missing):
        return shown
    match = _SPEED.fullmatch(shown)
    return _GENERATIONS.get(float(match[1]) if match else 0.0) or malformed(shown.encode(), path)


def _fabric(tree: Tree, folder: str) -> GpuFabric | Missing:
    """XGMI: GPUs of one hive reach each other without PCIe."""
    hive = text(tree, f"{folder}/xgmi_hive_info/xgmi_hive_id")
    if isinstance(hive, Missing):
        return hive
    nothing = _elsewhere(folder, "the kernel gives no state of a hive")
    return GpuFabric(state=nothing, status=nothing, cluster=hive, clique=nothing)


def _partitioned(tree: Tree, folder: str) -> bool | Missing:
    mode = text(tree, f"{folder}/current_compute_partition")
    return mode if isinstance(mode, Missing) else mode != "SPX"


def _ecc(tree: Tree, folder: str) -> GpuEcc:
    paths = [f"{folder}/ras/{name}" for name in ("umc_err_count", "aca_umc")]
    path = next((path for path in paths if tree.exists(path)), paths[0])
    data = tree.read(path)
    match = None if isinstance(data, Missing) else _ERRORS.fullmatch(data)
    fault = data if isinstance(data, Missing) else malformed(data, path)
    rows = _elsewhere(folder, "retired pages are in a log of their own")
    return GpuEcc(
        enabled=tree.exists(f"{folder}/ras/features"),
        corrected=int(match[2]) if match else fault,
        uncorrected=int(match[1]) if match else fault,
        remapped_rows=rows,
        remap_pending=rows,
        remap_failed=rows,
    )
