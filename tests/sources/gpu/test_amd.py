"""AMD GPUs in sysfs; every machine here is synthetic."""

from __future__ import annotations

import errno
from collections.abc import Mapping

import pytest

from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.sources.amd import read_amd_gpus
from netkit.sources.recording import RecordedTree, RecordingTree
from tests.sources.made_up import Machine

_FILES: Mapping[str, str | int] = {
    "unique_id": "8f7a6b5c4d3e2f10",
    "product_name": "Synthetic MI300X",
    "gpu_busy_percent": "97",
    "mem_busy_percent": "41",
    "mem_info_vram_total": str(192 << 30),
    "mem_info_vram_used": str(100 << 30),
    "pp_dpm_sclk": "0: 132Mhz\n1: 2100Mhz *",
    "pp_dpm_mclk": "0: 900Mhz *\n1: 1300Mhz",
    "pcie_replay_count": "4",
    "current_compute_partition": "SPX",
    "xgmi_hive_info/xgmi_hive_id": "11493180173265",
    "ras/features": "feature mask: 0x1",
    "ras/umc_err_count": "ue: 1\nce: 23",
    "hwmon/hwmon4/power1_average": "412000000",
    "hwmon/hwmon4/power1_cap": "750000000",
    "hwmon/hwmon4/temp1_label": "edge",
    "hwmon/hwmon4/temp1_input": "40000",
    "hwmon/hwmon4/temp2_label": "junction",
    "hwmon/hwmon4/temp2_input": "61000",
    "hwmon/hwmon4/temp3_label": "mem",
    "hwmon/hwmon4/temp3_input": "52000",
}


def machine(changes: Mapping[str, str | int] = _FILES, count: int = 2) -> Machine:
    made = Machine()
    for number in range(count):
        link = ("32.0 GT/s PCIe", "8" if number else "16")
        at = made.pci(f"pci0000:0{number}/0000:0{number}:00.0", "0x120000", "0x1002", device="0x74a1", link=link)
        made.texts(at, {**_FILES, **changes})
        made.link(f"sys/class/drm/card{number}", f"{at}/drm/card{number}")
        made.texts(f"{at}/drm/card{number}", {"dev": "226:0"})
        made.link(f"{at}/drm/card{number}/device", at)
    return made


def test_every_value_comes_in_base_units() -> None:
    """Bytes, hertz, watts, degrees and fractions; the junction is hotter than the edge."""
    found = read_amd_gpus(machine().tree())
    assert not isinstance(found, Missing)
    first, second = found.gpus
    assert first.address == PciAddress.parse("0000:00:00.0")
    assert (first.uuid, first.name) == ("8f7a6b5c4d3e2f10", "Synthetic MI300X")
    assert (first.utilisation.compute, first.utilisation.memory) == (0.97, 0.41)
    assert (first.memory.total_bytes, first.memory.used_bytes) == (192 << 30, 100 << 30)
    assert (first.clocks.graphics_hertz, first.clocks.max_memory_hertz) == (2_100_000_000, 1_300_000_000)
    assert (first.power.draw_watts, first.power.limit_watts) == (412.0, 750.0)
    assert (first.temperature.core_celsius, first.temperature.memory_celsius) == (61.0, 52.0)
    assert (first.pcie.generation, first.pcie.width, first.pcie.replays) == (5, 16, 4)
    assert (second.pcie.width, second.pcie.max_width) == (8, 16)
    assert (first.ecc.corrected, first.ecc.uncorrected, first.mig_enabled) == (23, 1, False)
    assert not isinstance(first.fabric, Missing)
    assert first.fabric.cluster == "11493180173265"


@pytest.mark.parametrize("fault", [errno.EINVAL, errno.EIO, errno.EACCES, errno.EPERM])
@pytest.mark.parametrize("name", sorted(_FILES))
def test_one_file_that_fails_costs_its_own_value(name: str, fault: int) -> None:
    """Every other value of the GPU, and the other GPU, stay."""
    whole, less = read_amd_gpus(machine().tree()), read_amd_gpus(machine({name: fault}).tree())
    assert not isinstance(whole, Missing)
    assert not isinstance(less, Missing)
    assert len(less.gpus) == 2
    before, after = whole.gpus[0], less.gpus[0]
    changed = [field for field in before.__slots__ if getattr(before, field) != getattr(after, field)]
    assert len(changed) <= 1


@pytest.mark.parametrize(
    ("name", "text"),
    [("gpu_busy_percent", "-1"), ("gpu_busy_percent", "97%"), ("pp_dpm_sclk", "fast *"), ("ras/umc_err_count", "none")],
)
def test_what_is_no_number_is_missing(name: str, text: str) -> None:
    """Never zero."""
    found = read_amd_gpus(machine({name: text}).tree())
    assert not isinstance(found, Missing)
    gpu = found.gpus[0]
    value = {
        "gpu_busy_percent": gpu.utilisation.compute,
        "pp_dpm_sclk": gpu.clocks.graphics_hertz,
        "ras/umc_err_count": gpu.ecc.corrected,
    }[name]
    assert isinstance(value, Missing)


def test_a_partitioned_gpu_counts_once() -> None:
    """More cards of one function are partitions of one GPU."""
    made = machine({"current_compute_partition": "CPX"}, 1)
    made.link("sys/class/drm/card7", "sys/devices/pci0000:00/0000:00:00.0/drm/card0")
    found = read_amd_gpus(made.tree())
    assert not isinstance(found, Missing)
    assert [(gpu.index, gpu.mig_enabled) for gpu in found.gpus] == [(0, True)]


def test_cards_of_others_and_connectors_are_passed_over() -> None:
    """A display controller of the mainboard and `card0-DP-1` are no AMD GPU."""
    made = machine(count=1)
    at = made.pci("pci0000:05/0000:05:00.0", "0x030000", "0x1a03", device="0x2000")
    made.texts(f"{at}/drm/card3", {"dev": "226:3"})
    made.link(f"{at}/drm/card3/device", at)
    made.link("sys/class/drm/card3", f"{at}/drm/card3")
    made.link("sys/class/drm/card0-DP-1", f"{at}/drm/card3")
    found = read_amd_gpus(made.tree())
    assert not isinstance(found, Missing)
    assert len(found.gpus) == 1


@pytest.mark.fault("E01")
def test_a_node_without_graphics_is_absence() -> None:
    """No class folder: missing, not "no GPUs"."""
    found = read_amd_gpus(Machine().tree())
    assert isinstance(found, Missing)
    assert found.reason is Reason.ABSENT


def test_a_recording_gives_the_same_gpus() -> None:
    """Recording and replay are the identity."""
    recording = RecordingTree(machine().tree())
    live = read_amd_gpus(recording)
    assert read_amd_gpus(RecordedTree(recording.answers)) == live
