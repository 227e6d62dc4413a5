"""What the GPU driver of a made-up node would say: H100-like, NVLink up, one process on each GPU. Synthetic.

The form is that of `netkit.sources.nvml.child`; `nvidia-smi topo -m` as nvidia-smi(1) prints it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netkit.lab.virtual_layout import Slot, VirtualGpu, VirtualNic
from netkit.sources.drivers import RecordedDrivers

_MEMORY = 85_899_345_920
_LINKS = 18
_MEGABYTES_A_LINK = 26_562


def virtual_drivers(gpus: Sequence[VirtualGpu], nics: Sequence[VirtualNic]) -> RecordedDrivers:
    """Return the drivers of a node with these devices; no other vendor's tools are installed."""
    nvml = {"source": "nvml", "driver": "570.124.06", "devices": [_device(gpu) for gpu in gpus]}
    others = (["npu-smi", "info"], ["cnmon"], ["hy-smi"])
    return RecordedDrivers(
        (
            {"op": "nvml", "answer": nvml},
            {"op": "tool", "words": ["nvidia-smi", "topo", "-m"], "text": _matrix(gpus, nics)},
            *({"op": "tool", "words": words} | _not_installed(words[0]) for words in others),
        )
    )


def _not_installed(tool: str) -> dict[str, str]:
    return {"missing": "absent", "where": tool, "detail": "No such file or directory"}


def _device(gpu: VirtualGpu) -> dict[str, Any]:
    fields = {
        "uuid": f"GPU-00000000-0000-4000-8000-{gpu.index:012x}",
        "pci": {"busId": f"0000{gpu.slot.address}"},
        "name": "virtual H100, synthetic",
        "utilisation": {"gpu": 98, "memory": 40},
        "memory": {"total": _MEMORY, "used": _MEMORY * 3 // 4},
        "throttle": 0,
        "processes": [{"pid": gpu.process, "usedGpuMemory": _MEMORY * 3 // 4}],
        "links": [1] * _LINKS,
        "values": {"memory_celsius": 62, "link_megabytes_per_second": [_MEGABYTES_A_LINK] * _LINKS},
        "fabric": {"state": 3, "status": 0, "clique": 0, "cluster": "0" * 32},
        **_pcie(),
        **_health(),
    }
    return {"index": gpu.index, "fields": fields, "errors": {}, "features_off": []}


def _pcie() -> dict[str, int]:
    ends = {"pcie_generation": 5, "pcie_width": 16, "pcie_max_generation": 5, "pcie_max_width": 16}
    return ends | {"pcie_replays": 0}


def _health() -> dict[str, Any]:
    clocks = {"clock_graphics": 1980, "clock_memory": 2619, "clock_max_graphics": 1980, "clock_max_memory": 2619}
    power = {"power_milliwatts": 650_000, "power_limit_milliwatts": 700_000, "temperature": 55}
    memory = {"ecc_mode": [1, 1], "ecc_corrected": 0, "ecc_uncorrected": 0, "remapped_rows": [0, 0, 0, 0]}
    return {**clocks, **power, **memory, "mig": [0, 0]}


def _matrix(gpus: Sequence[VirtualGpu], nics: Sequence[VirtualNic]) -> str:
    columns = [*((f"GPU{gpu.index}", gpu.slot) for gpu in gpus), *((f"NIC{nic.index}", nic.slot) for nic in nics)]
    head = "\t".join(("", *(name for name, _ in columns), "CPU Affinity", "NUMA Affinity"))
    rows = [
        "\t".join((name, *(_cell(name, slot, *other) for other in columns), "", str(slot.numa)))
        for name, slot in columns
    ]
    legend = "\n".join(f"  NIC{nic.index}: {nic.device}" for nic in nics)
    return f"{head}\n" + "\n".join(rows) + f"\n\nNIC Legend:\n\n{legend}\n"


def _cell(name: str, slot: Slot, other_name: str, other: Slot) -> str:
    if name == other_name:
        return " X "
    if name.startswith("GPU") and other_name.startswith("GPU"):
        return f"NV{_LINKS}"
    if slot.numa != other.numa:
        return "SYS"
    same = slot.place.split("/")[2] == other.place.split("/")[2] and slot.place.count("/") == other.place.count("/")
    return "PIX" if same else "NODE"
