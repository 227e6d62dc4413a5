"""Hygon DCUs: the table that `hy-smi` prints, as text.

Layout as published in PaddleNLP's llm/dcu guide and in FlagPerf's training/dcu notes. The table has neither addresses
nor bytes of memory nor processes; VRAM% is the share in use, which is not a utilisation, and is not read.
"""

from __future__ import annotations

import re

from netkit.errors import InputError
from netkit.model.gpu import GpuInventory, GpuVendor
from netkit.model.missing import Missing, Reason
from netkit.sources.table_gpu import Shown, gpu_of_table, table_lines

_ACCEPTED = "the table of `hy-smi`: DCU, Temp, AvgPwr, Perf, PwrCap, VRAM%, DCU%, Mode"
_HEADER = ["DCU", "Temp", "AvgPwr", "Perf", "PwrCap", "VRAM%", "DCU%", "Mode"]
_VALUE = r"(?:[0-9]{1,5}(?:\.[0-9]{1,3})?|N/A)"
_ROW = re.compile(
    rf"(?P<index>[0-9]{{1,4}}) +(?P<celsius>{_VALUE})(?:°?C)? +(?P<draw>{_VALUE})W? +"
    rf"\S{{1,20}} +(?P<limit>{_VALUE})W? +"
    rf"{_VALUE}%? +(?P<util>{_VALUE})%? +\S{{1,20}}"
)


def parse_hy_smi(text: str) -> GpuInventory:
    """Read the table of `hy-smi`; InputError for a text that is none."""
    lines = table_lines(text)
    if not any(line.split() == _HEADER for line in lines):
        raise InputError("hy-smi text", _ACCEPTED)
    rows = [match for line in lines if (match := _ROW.fullmatch(line))]
    if not rows:
        raise InputError("hy-smi text without a device", _ACCEPTED)
    shown = (
        Shown(
            vendor=GpuVendor.HYGON,
            index=int(row["index"]),
            compute_percent=row["util"],
            draw_watts=row["draw"],
            limit_watts=row["limit"],
            celsius=row["celsius"],
        )
        for row in rows
    )
    driver = Missing(reason=Reason.UNSUPPORTED, where="hy-smi", detail="no driver version in the table")
    gpus = tuple(gpu_of_table(one, "hy-smi", None) for one in shown)
    return GpuInventory(driver=driver, gpus=gpus, silent=(), features_off=())
