"""The text of `nvidia-smi topo -m` to a matrix of distances.

NVIDIA, nvidia-smi manual, "topo": a header row, one row for each GPU and NIC, CPU and NUMA affinity columns whose
number has grown over the years, a legend, and since driver 470 a NIC legend that gives NIC0 its device name. The
header is underlined with terminal escapes; older drivers print device names in the header itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from netkit.errors import InputError
from netkit.model.pci import PciPath
from netkit.model.text import visible
from netkit.model.topology import DeviceMatrix, GpuEnd, NicEnd, Reach

MAX_BYTES = 1024 * 1024
_MOST_DEVICES = 512
_ACCEPTED = "the output of nvidia-smi topo -m"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_GPU = re.compile(r"GPU(\d{1,3})")
_NIC = re.compile(r"(?:NIC\d{1,3}|[a-z][a-z0-9_]*\d[a-z0-9_.]*)")
_NVLINK = re.compile(r"NV\d{1,3}")
_LEGEND = re.compile(r"\s*(NIC\d{1,3})\s*:\s*(\S{1,63})\s*")
_PATHS = {
    "X": PciPath.LOC,
    "PIX": PciPath.PIX,
    "PXB": PciPath.PXB,
    "PHB": PciPath.PHB,
    "NODE": PciPath.PHB,
    "SOC": PciPath.SYS,
    "SYS": PciPath.SYS,
    "C2C": PciPath.C2C,
    "DIS": PciPath.DIS,
    "N/A": PciPath.DIS,
}
_NOWHERE_NEAR = frozenset({PciPath.PHB, PciPath.SYS, PciPath.DIS})
_FLAT = (
    "no GPU shares a PCIe switch with any NIC in this table, as hypervisors that hide switches show it; "
    "which of them belong together cannot be told from here"
)


def read_topo_m(text: str, source: str) -> DeviceMatrix:
    """Return the distances the table states.

    Raises:
        InputError: no table of GPUs, a word for a distance that netkit does not know, or a row cut short.
    """
    if len(text) > MAX_BYTES:
        raise InputError(f"{len(text):,} characters", f"{_ACCEPTED}, at most {MAX_BYTES:,} characters")
    lines = _ESCAPE.sub("", text.lstrip("\ufeff")).splitlines()
    start, columns = _header(lines)
    rows = _rows(lines[start + 1 :], columns)
    names = _names(lines, columns)
    gpus = [name for name in columns if _GPU.fullmatch(name)]
    nics = [name for name in columns if name not in gpus]
    _require_square(gpus, nics, rows)
    reach = {(_id(gpu), names[nic]): _reach(rows[gpu][nic]) for gpu in gpus for nic in nics}
    return DeviceMatrix(
        source=visible(source),
        gpus=tuple(GpuEnd(id=_id(gpu), numa=_numa(lines, start, gpu)) for gpu in gpus),
        nics=tuple(NicEnd(name=names[nic]) for nic in nics),
        reach=reach,
        peers={(_id(one), _id(other)): rows[one][other] for one in gpus for other in gpus},
        hidden=_hidden(reach) if len(gpus) > 1 and len(nics) > 1 else None,
        problems=tuple(_asymmetries(rows)),
    )


def _header(lines: Sequence[str]) -> tuple[int, list[str]]:
    for number, line in enumerate(lines):
        words = line.split()
        if words and _GPU.fullmatch(words[0]) and not any(word in _PATHS for word in words[1:]):
            return number, _columns(line)
    raise InputError("text without a row of GPU names", _ACCEPTED)


def _columns(header: str) -> list[str]:
    """Return device columns up to the first affinity column; an underlined header may use blanks for tabs."""
    cells = [cell.strip() for cell in header.split("\t") if cell.strip()] if "\t" in header else header.split()
    devices = []
    for cell in cells:
        if not (_GPU.fullmatch(cell) or _NIC.fullmatch(cell)):
            break
        devices.append(cell)
    if len(devices) > _MOST_DEVICES:
        raise InputError(f"a table of {len(devices)} devices", f"{_ACCEPTED}, at most {_MOST_DEVICES} devices")
    if len(set(devices)) != len(devices):
        raise InputError("a table that names one device twice", _ACCEPTED)
    return devices


def _rows(lines: Sequence[str], columns: Sequence[str]) -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        words = line.split()
        if not words or words[0] not in columns or words[0] in rows:
            continue
        cells = words[1 : len(columns) + 1]
        if len(cells) < len(columns):
            raise InputError(f"row {words[0]} with {len(cells)} of {len(columns)} distances", f"all of {_ACCEPTED}")
        rows[words[0]] = {column: _known(words[0], cell) for column, cell in zip(columns, cells, strict=True)}
    return rows


def _known(row: str, cell: str) -> str:
    word = cell.upper()
    if word not in _PATHS and not _NVLINK.fullmatch(word):
        raise InputError(
            f"distance {visible(cell, limit=40)!r} in row {row}", "X, NV#, PIX, PXB, PHB, NODE, SOC or SYS"
        )
    return word


def _require_square(gpus: Sequence[str], nics: Sequence[str], rows: Mapping[str, Mapping[str, str]]) -> None:
    missing = [name for name in (*gpus, *nics) if name not in rows]
    if missing:
        raise InputError(f"a table without a row for {', '.join(missing[:4])}", f"all of {_ACCEPTED}")


def _names(lines: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    legend = {match[1]: visible(match[2]) for line in lines if (match := _LEGEND.fullmatch(line))}
    named = {column: legend.get(column, column) for column in columns}
    if len(set(named.values())) != len(named):
        raise InputError("a NIC legend that gives one name twice", _ACCEPTED)
    return named


def _numa(lines: Sequence[str], start: int, gpu: str) -> int | None:
    """Return the NUMA node, when the columns are told apart by tabs and the cell holds one number."""
    titles = [cell.strip() for cell in lines[start].split("\t")]
    row = next((line.split("\t") for line in lines[start + 1 :] if line.split("\t")[0].strip() == gpu), [])
    if "NUMA Affinity" not in titles or titles.index("NUMA Affinity") >= len(row):
        return None
    cell = row[titles.index("NUMA Affinity")].strip()
    return int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 5 else None


def _reach(word: str) -> Reach:
    return Reach(path=PciPath.NVL if _NVLINK.fullmatch(word) else _PATHS[word], label=word)


def _id(gpu: str) -> str:
    return gpu.lower()


def _hidden(reach: Mapping[tuple[str, str], Reach]) -> str | None:
    return _FLAT if all(one.path in _NOWHERE_NEAR for one in reach.values()) else None


def _asymmetries(rows: Mapping[str, Mapping[str, str]]) -> list[str]:
    return [
        f"{one} to {other} is {cell}, but {other} to {one} is {rows[other][one]}"
        for one, row in rows.items()
        for other, cell in row.items()
        if one < other and other in rows and rows[other][one] != cell
    ]
