"""What one node's GPUs said, as plain data that can be written down and read again into the same records.

Three ways in: the answer of NVML's child process, the text of `nvidia-smi`, the text of Ascend's tools. AMD needs none:
its values are files (`netkit.sources.amd`) and travel with the rest of the tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from netkit.errors import InputError
from netkit.model.gpu import GpuInventory
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.ascend import parse_npu_smi
from netkit.sources.disposable import tool_text
from netkit.sources.nvidia_smi import parse_link_status, parse_query, with_links
from netkit.sources.nvml import NvmlReader
from netkit.sources.nvml_answer import parse_answer

SCHEMA = "netkit.gpu/1"
_TOOL_SECONDS = 20.0
_GRACE_SECONDS = 2.0
_MOST_DEPTH = 12


class GpuWay(StrEnum):
    """How an answer was obtained."""

    NVML = "nvml"
    NVIDIA_SMI = "nvidia-smi"
    NPU_SMI = "npu-smi"


def _nvidia_smi(answer: Mapping[str, Any]) -> GpuInventory:
    inventory = parse_query(_text(answer, "query"))
    return with_links(inventory, parse_link_status(_text(answer, "nvlink"))) if "nvlink" in answer else inventory


def _npu_smi(answer: Mapping[str, Any]) -> GpuInventory:
    return parse_npu_smi(_text(answer, "info"))


def _text(answer: Mapping[str, Any], name: str) -> str:
    found = answer.get(name)
    if not isinstance(found, str):
        raise InputError(f"recorded GPU answer, {name!r}", "text")
    return found


_PARSERS: Mapping[GpuWay, Callable[[Mapping[str, Any]], GpuInventory | Missing]] = MappingProxyType(
    {GpuWay.NVML: parse_answer, GpuWay.NVIDIA_SMI: _nvidia_smi, GpuWay.NPU_SMI: _npu_smi}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSource:
    """One answer and the way it came."""

    way: GpuWay
    answer: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return what a snapshot keeps: nothing but JSON values."""
        return {"schema": SCHEMA, "way": str(self.way), "answer": dict(self.answer)}

    @classmethod
    def from_plain(cls, data: object) -> GpuSource:
        """Take back what `plain` gave; InputError for anything else."""
        if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("answer"), dict):
            raise InputError("recorded GPU answer", f"an object with schema {SCHEMA!r}, way and answer")
        if data.get("way") not in tuple(GpuWay):
            raise InputError(f"recorded GPU answer from {visible(str(data.get('way')), 40)!r}", ", ".join(GpuWay))
        _refuse_what_is_not_plain(data["answer"], _MOST_DEPTH)
        return cls(way=GpuWay(data["way"]), answer=data["answer"])

    def inventory(self) -> GpuInventory | Missing:
        """Return the records; the same answer always gives the same ones."""
        return _PARSERS[self.way](self.answer)


def _refuse_what_is_not_plain(value: object, depth: int) -> None:
    """Recordings come from strangers; what is too deep or no JSON value is refused before anything reads it."""
    if depth == 0 or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError("recorded GPU answer", f"JSON values at most {_MOST_DEPTH} deep")
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inside:
        _refuse_what_is_not_plain(one, depth - 1)


def read_nvidia(reader: NvmlReader) -> GpuSource | Missing:
    """Ask NVML; where it is not installed, `nvidia-smi`. Missing (absent) on a node without either.

    A driver that hangs, or that is to be let go, is not asked again through the tool.
    """
    answer = reader.refresh()
    found = parse_answer(answer)
    if not isinstance(found, Missing):
        return GpuSource(way=GpuWay.NVML, answer=answer)
    by_tool = read_nvidia_smi() if found.reason is Reason.ABSENT else found
    return found if isinstance(by_tool, Missing) and by_tool.reason is Reason.ABSENT else by_tool


def read_nvidia_smi(program: str = "nvidia-smi") -> GpuSource | Missing:
    """Run `nvidia-smi -q` and `nvidia-smi nvlink --status`; Missing where the first gives no report."""
    query = tool_text([program, "-q"], _TOOL_SECONDS, _GRACE_SECONDS)
    if isinstance(query, Missing):
        return query
    try:
        parse_query(query)
    except InputError:
        return Missing(reason=Reason.UNSUPPORTED, where="nvidia-smi -q", detail=visible(query.strip(), 200))
    links = tool_text([program, "nvlink", "--status"], _TOOL_SECONDS, _GRACE_SECONDS)
    answer = {"query": query} | ({} if isinstance(links, Missing) else {"nvlink": links})
    return GpuSource(way=GpuWay.NVIDIA_SMI, answer=answer)
