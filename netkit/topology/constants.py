"""Link bandwidths as NCCL and RCCL assume them, in bytes per second.

NVIDIA NCCL, src/graph/topo.h (NVLink, inter-socket) and src/graph/topo.cc (kvDictPciGen: PCIe; ncclTopoAddCpu: CPU
models); ROCm RCCL, src/graph/topo.h (XGMI). These are the numbers NCCL plans with, below what the hardware can do.
"""

from __future__ import annotations

from types import MappingProxyType

from netkit.model.topology import Cpu

GIGA = 1e9
LOCAL_BANDWIDTH = 5000.0 * GIGA
UNSTATED_NET_RATE = 10_000 / 8000.0 * GIGA
"""NCCL's choice for a port whose speed is absent, zero or negative: 10 Gbit/s."""

# Units of 100 Mbit/s per lane; the kernel wrote "16 GT/s" until 5.6 and writes "16.0 GT/s PCIe" since.
_PCIE_LANE = MappingProxyType({2.5: 15, 5.0: 30, 8.0: 60, 16.0: 120, 32.0: 240, 64.0: 480})
_PCIE_FALLBACK = 60

_NVLINK = ((100, 40.1), (90, 20.6), (87, 20.0), (86, 12.0), (70, 20.0), (60, 18.0))
_NVLINK_FALLBACK = 20.0
_XGMI = MappingProxyType({"906": 24.0, "908": 24.0, "90a": 36.0, "910": 36.0, "940": 48.0, "941": 48.0, "942": 48.0})
_XGMI_NEWER = 48.0

_INTEL_NEWEST_MODELS = frozenset({0xAD, 0xAE, 0xAF})
_INTEL = ((0xCF, 40.0), (0x8F, 22.0), (0x55, 10.0), (0, 6.0))
# The large family numbers are what older RCCL and NCCL topology files carry.
_AMD = MappingProxyType({26: 32.0, 0xBF: 32.0, 25: 24.0, 0xAF: 24.0})
_AMD_OLDER = 16.0
_BY_ARCH = MappingProxyType({"ppc64": 32.0 * GIGA, "arm64": 6.0 * GIGA})
_ZHAOXIN = frozenset({"CentaurHauls", "  Shanghai  "})


def pcie_lane_known(speed_gt_per_second: float | None) -> bool:
    """Tell whether NCCL knows this link speed; it plans with 8 GT/s for any other."""
    return speed_gt_per_second in _PCIE_LANE


def pcie_bandwidth(speed_gt_per_second: float | None, width: int) -> float:
    """Return what NCCL plans for a PCIe link: 48 GB/s for 32 GT/s x16; width 0 counts as 16."""
    lane = _PCIE_LANE.get(speed_gt_per_second or 0.0, _PCIE_FALLBACK)
    return (width or 16) * lane / 80.0 * GIGA


def nvlink_bandwidth(compute_capability: int | None) -> float:
    """Return what NCCL plans for one NVLink of a GPU of this compute capability (90 for sm_90)."""
    known = (rate for since, rate in _NVLINK if compute_capability is not None and compute_capability >= since)
    return next(known, _NVLINK_FALLBACK) * GIGA


def xgmi_bandwidth(architecture: str) -> float:
    """Return what RCCL plans for one XGMI link of a GPU of this architecture, such as gfx942."""
    return _XGMI.get(architecture.removeprefix("gfx"), _XGMI_NEWER) * GIGA


def inter_cpu_bandwidth(cpu: Cpu) -> float:
    """Return what NCCL plans between two NUMA nodes of this processor."""
    if cpu.arch != "x86_64":
        return _BY_ARCH.get(cpu.arch or "", LOCAL_BANDWIDTH)
    if cpu.vendor == "GenuineIntel":
        return _intel(cpu.family, cpu.model) * GIGA
    if cpu.vendor == "AuthenticAMD":
        return _AMD.get(cpu.family or 0, _AMD_OLDER) * GIGA
    if cpu.vendor in _ZHAOXIN:
        return (9.0 if (cpu.family, cpu.model) == (7, 0x5B) else 6.0) * GIGA
    return LOCAL_BANDWIDTH


def _intel(family: int | None, model: int | None) -> float:
    if family != 6 or model is None:
        return _INTEL[-1][1]
    if model in _INTEL_NEWEST_MODELS:
        return _INTEL[0][1]
    return next(rate for since, rate in _INTEL if model >= since)
