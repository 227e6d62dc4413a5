"""Whether the GPUs of a pod are in use, from what was seen inside it: in use, not known, or free. Pure.

A tool inside a container does not see processes of other containers, so three things are looked at: who holds the
device nodes open, what the driver lists, and how busy and how full it says the GPUs are. What is not known counts as in
use: a probe must never share a GPU with a job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from netkit.model.kube_object import rows_of
from netkit.model.missing import Missing
from netkit.model.text import visible

# A driver alone keeps some hundred MiB of a GPU for itself.
_IDLE_MIB = 1024.0


def objections(seen: Mapping[str, Any] | Missing, gpus: int) -> tuple[str, ...]:
    """Return why a probe must not start in a pod that holds this many GPUs; nothing when it may."""
    if isinstance(seen, Missing):
        return (seen.detail,)
    if not gpus:
        return ()
    return tuple(dict.fromkeys(_in_use(seen))) or tuple(_not_known(seen, gpus))


def _in_use(seen: Mapping[str, Any]) -> Iterator[str]:
    for row in rows_of(seen.get("holders")):
        name, device = visible(str(row.get("name")), 64), visible(str(row.get("device")), 64)
        yield f"pid {row.get('pid')} ({name}) holds {device}"
    for cells in _table(seen.get("apps"), 2):
        yield f"the driver lists pid {cells[0]} on {cells[1]}"
    for index, _, busy, used in _table(seen.get("gpus"), 4):
        if (_number(busy) or 0.0) > 0:
            yield f"GPU {index} is {busy} % busy"
        if (_number(used) or 0.0) > _IDLE_MIB:
            yield f"{used} MiB of GPU {index} are in use"


def _not_known(seen: Mapping[str, Any], gpus: int) -> Iterator[str]:
    """Yield why nobody can say that the GPUs are free."""
    for part in ("gpus", "apps"):
        if isinstance(seen.get(part), str):
            yield f"not known whether its GPUs are in use: {visible(seen[part], 300)}"
            return
    rows = _table(seen.get("gpus"), 4)
    if rows:
        unknown = [cells[0] for cells in rows if _number(cells[2]) is None or _number(cells[3]) is None]
        if unknown:
            yield f"not known whether GPU {', '.join(unknown)} is in use: nvidia-smi does not say"
    elif not seen.get("device_nodes"):
        yield f"not known whether its {gpus} GPUs are in use: no device node and no nvidia-smi in its container"
    elif seen.get("unreadable"):
        yield f"not known whether its GPUs are in use: {seen['unreadable']} processes cannot be looked into"


def _table(value: Any, width: int) -> list[list[str]]:
    rows = value if isinstance(value, list) else []
    return [[visible(str(cell), 80) for cell in row] for row in rows if isinstance(row, list) and len(row) == width]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
