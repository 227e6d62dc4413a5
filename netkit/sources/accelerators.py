"""Accelerators of one node, by whatever tells about them.

NVML or `nvidia-smi`, AMD's sysfs, Ascend's `npu-smi` and `hccn_tool`, Cambricon's `cnmon`, Hygon's `hy-smi`.
A vendor whose driver is not here is Missing (absent) and costs one failed start of its tool. A driver that hangs, or
that is to be let go, is not asked again through the tool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from netkit.errors import InputError
from netkit.model.gpu import Accelerators, GpuInventory, NpuPort
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.amd import read_amd_gpus
from netkit.sources.ascend import HCCN_QUESTIONS, parse_hccn, parse_npu_smi
from netkit.sources.cambricon import parse_cnmon
from netkit.sources.drivers import Drivers
from netkit.sources.hygon import parse_hy_smi
from netkit.sources.nvidia_smi import parse_link_status, parse_query, with_links
from netkit.sources.nvml.answer import parse_answer
from netkit.sources.tree import Tree

_T = TypeVar("_T")
_ONLY_FILES = "not recorded: only files were read"


def read_accelerators(tree: Tree, drivers: Drivers | None) -> Accelerators:
    """Return every vendor's; without `drivers` only what sysfs tells, the rest is Missing (not recorded)."""
    if drivers is None:
        unasked = Missing(reason=Reason.UNSUPPORTED, where="accelerators", detail=_ONLY_FILES)
        none = dict.fromkeys(("nvidia", "ascend", "cambricon", "hygon", "npu_ports", "nvidia_matrix"), unasked)
        return Accelerators(amd=read_amd_gpus(tree), **none)
    nvidia, ascend = read_nvidia(drivers), read_ascend(drivers)
    return Accelerators(
        nvidia=nvidia,
        amd=read_amd_gpus(tree),
        ascend=ascend,
        cambricon=read_cambricon(drivers),
        hygon=read_hygon(drivers),
        npu_ports=ascend if isinstance(ascend, Missing) else read_npu_ports(drivers, ascend),
        nvidia_matrix=nvidia if isinstance(nvidia, Missing) else drivers.tool("nvidia-smi", "topo", "-m"),
    )


def read_nvidia(drivers: Drivers) -> GpuInventory | Missing:
    """Ask NVML; where it is not installed, `nvidia-smi`. Missing (absent) on a node without either."""
    answer = drivers.nvml()
    found = answer if isinstance(answer, Missing) else parse_answer(answer)
    if not isinstance(found, Missing) or found.reason is not Reason.ABSENT:
        return found
    by_tool = _tool(drivers, parse_query, "nvidia-smi", "-q")
    if isinstance(by_tool, Missing):
        return found if by_tool.reason is Reason.ABSENT else by_tool
    links = _tool(drivers, parse_link_status, "nvidia-smi", "nvlink", "--status")
    return by_tool if isinstance(links, Missing) else with_links(by_tool, links)


def read_cambricon(drivers: Drivers) -> GpuInventory | Missing:
    """Ask `cnmon`."""
    return _tool(drivers, parse_cnmon, "cnmon")


def read_hygon(drivers: Drivers) -> GpuInventory | Missing:
    """Ask `hy-smi`."""
    return _tool(drivers, parse_hy_smi, "hy-smi")


def read_ascend(drivers: Drivers) -> GpuInventory | Missing:
    """Ask `npu-smi`."""
    return _tool(drivers, parse_npu_smi, "npu-smi", "info")


def read_npu_ports(drivers: Drivers, inventory: GpuInventory) -> tuple[NpuPort, ...] | Missing:
    """Ask `hccn_tool` for the port of every device; Missing where the tool is not installed."""
    ports: list[NpuPort] = []
    for gpu in inventory.gpus:
        asked = {name: drivers.tool("hccn_tool", "-i", str(gpu.index), f"-{name}", "-g") for name in HCCN_QUESTIONS}
        answers = {name: text for name, text in asked.items() if not isinstance(text, Missing)}
        if not answers:
            return next(text for text in asked.values() if isinstance(text, Missing))
        ports.append(parse_hccn(gpu.index, answers))
    return tuple(ports)


def _tool(drivers: Drivers, parse: Callable[[str], _T], *words: str) -> _T | Missing:
    """Read what a tool printed; Missing where that is no report: tools explain themselves in a line."""
    text = drivers.tool(*words)
    if isinstance(text, Missing):
        return text
    try:
        return parse(text)
    except InputError:
        return Missing(reason=Reason.UNSUPPORTED, where=" ".join(words), detail=visible(text.strip(), 200))
