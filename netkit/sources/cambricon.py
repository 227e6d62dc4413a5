"""Cambricon: the table that `cnmon` prints, as text.

Layouts as published for CNMON 4.20 (driver in each row, no address) and 5.10 (address in each row): PaddlePaddle's and
PaddleCustomDevice's installation guides. No published example has a running process, so rows of processes are not read:
they are Missing, and only "No running processes found" is none.
"""

from __future__ import annotations

import re

from netkit.errors import InputError
from netkit.model.gpu import Gpu, GpuInventory, GpuVendor
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.model.text import visible
from netkit.sources.table_gpu import Shown, gpu_of_table, table_lines

_ACCEPTED = "the table of `cnmon`, as versions 4.20 to 5.10 print it"
_TITLE = re.compile(r"\| CNMON (?P<version>v[0-9][0-9.]{0,20})(?: +Driver (?P<driver>v[0-9][0-9.]{0,20}))? *\|")
_CARD = re.compile(
    r"\| (?P<card>[0-9]{1,4}) +(?:/|[0-9]{1,3}) +(?P<name>\S{1,40}) +(?P<firmware>v\S{1,20}) *"
    r"\| *(?:(?P<bus>[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])|\S{1,10} +(?P<driver>v[0-9][0-9.]{0,20})) *"
    r"\| *(?P<util>[0-9]{1,3}|N/A)%? +\S{1,20} *\|"
)
_STATE = re.compile(
    r"\| *\S{1,10} +(?P<celsius>[0-9]{1,4}|N/A)C? +"
    r"(?P<draw>[0-9]{1,6}|N/A)(?: W)? */ *(?P<limit>[0-9]{1,6}|N/A)(?: W)? *"
    r"\| *(?P<used>[0-9]{1,9}) MiB/ *(?P<total>[0-9]{1,9}) MiB *\|.{0,40}\|"
)


def parse_cnmon(text: str) -> GpuInventory:
    """Read the table of `cnmon`; InputError for a text that is none, or of a layout nobody published."""
    lines = table_lines(text)
    title = next((match for line in lines if (match := _TITLE.fullmatch(line))), None)
    if title is None:
        raise InputError("cnmon text", _ACCEPTED)
    idle = any("No running processes found" in line for line in lines)
    gpus: list[Gpu] = []
    driver = title["driver"]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        card, state = _CARD.fullmatch(line), _STATE.fullmatch(following)
        if card and state:
            driver = driver or card["driver"]
            gpus.append(_card(card, state, idle))
    if not gpus:
        raise InputError("cnmon text without a card", _ACCEPTED)
    unsaid = Missing(reason=Reason.UNSUPPORTED, where="cnmon", detail="no driver version in the table")
    return GpuInventory(driver=driver or unsaid, gpus=tuple(gpus), silent=(), features_off=())


def _card(card: re.Match[str], state: re.Match[str], idle: bool) -> Gpu:
    shown = Shown(
        vendor=GpuVendor.CAMBRICON,
        index=int(card["card"]),
        name=visible(card["name"]),
        address=PciAddress.parse(card["bus"]) if card["bus"] else None,
        total_bytes=int(state["total"]) << 20,
        used_bytes=int(state["used"]) << 20,
        compute_percent=card["util"],
        draw_watts=state["draw"],
        limit_watts=state["limit"],
        celsius=state["celsius"],
    )
    return gpu_of_table(shown, "cnmon", () if idle else None)
