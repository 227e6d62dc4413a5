"""A `Gpu` of the few values that a vendor's table shows; whatever it does not show is Missing with that reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

from netkit.model.gpu import (
    Gpu,
    GpuClocks,
    GpuEcc,
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

_LONGEST_LINE = 400
_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The cells of one device as text, without units; None where the layout has no such column."""

    vendor: GpuVendor
    index: int
    name: str | None = None
    address: PciAddress | None = None
    total_bytes: int | None = None
    used_bytes: int | None = None
    compute_percent: str
    draw_watts: str
    limit_watts: str
    celsius: str


def gpu_of_table(shown: Shown, tool: str, processes: tuple[GpuProcess, ...] | None) -> Gpu:
    """Return the device; `tool` names who showed it, `processes` is None where the table's rows are not read."""

    def absent(what: str, cell: str = "") -> Missing:
        detail = f"{tool} shows {cell}" if cell else f"{tool} does not show it"
        return Missing(reason=Reason.UNSUPPORTED, where=f"{tool} {what}", detail=detail)

    def number(cell: str, what: str) -> float | Missing:
        return float(cell) if _NUMBER.fullmatch(cell) else absent(what, cell)

    def known(value: int | None, what: str) -> int | Missing:
        return absent(what) if value is None else value

    compute = number(shown.compute_percent, "utilisation")
    pcie = absent("pcie")
    return Gpu(
        vendor=shown.vendor,
        index=shown.index,
        uuid=absent("uuid"),
        address=shown.address or absent("address"),
        name=shown.name or absent("name"),
        memory=GpuMemory(
            total_bytes=known(shown.total_bytes, "memory"), used_bytes=known(shown.used_bytes, "memory used")
        ),
        utilisation=GpuUtilisation(
            compute=compute if isinstance(compute, Missing) else min(compute, 100.0) / 100,
            memory=absent("memory utilisation"),
        ),
        clocks=GpuClocks(**dict.fromkeys(GpuClocks.__slots__, absent("clocks"))),
        power=GpuPower(
            draw_watts=number(shown.draw_watts, "power"), limit_watts=number(shown.limit_watts, "power limit")
        ),
        temperature=GpuTemperature(
            core_celsius=number(shown.celsius, "temperature"), memory_celsius=absent("memory temperature")
        ),
        throttle=absent("throttle"),
        pcie=GpuPcie(generation=pcie, width=pcie, max_generation=pcie, max_width=pcie, replays=pcie),
        links=absent("links"),
        fabric=absent("fabric"),
        mig_enabled=absent("partitions"),
        ecc=GpuEcc(**dict.fromkeys(GpuEcc.__slots__, absent("ecc"))),
        processes=absent("processes") if processes is None else processes,
    )


def table_lines(text: str) -> list[str]:
    """Return the lines of a tool's output, cut to a bounded length."""
    return [line[:_LONGEST_LINE].strip() for line in text.split("\n")]
