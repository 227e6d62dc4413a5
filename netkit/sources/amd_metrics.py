"""AMD's `gpu_metrics`, a binary table per GPU: xGMI links, what holds clocks back, PCIe replays.

Linux: drivers/gpu/drm/amd/include/kgd_pp_interface.h, struct gpu_metrics_v1_3 to v1_8 (MI100 to MI350); throttle bits:
drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h. Versions 2 and 3 are of chips with displays and are not read. All ones
mean "not measured". From version 1.6 on throttling is a sum since the driver loaded, which does not say "now".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from netkit.model.gpu import GpuLink, Throttle
from netkit.model.missing import Missing, Reason
from netkit.sources.attributes import malformed
from netkit.sources.tree import Tree

_HEADER_BYTES = 4
_LINKS = 8
_GIGABIT = 1e9 / 8
_Field = tuple[str, int, int]
"""Name, bytes of one item, items."""

_HEAT = (("temperature", 2, 3), ("power", 2, 1), ("activity", 2, 2))
_CLOCKS = (("energy", 8, 1), ("system_clock", 8, 1))
_RESIDENCIES = (("accumulation", 4, 1), ("residencies", 4, 5), ("lock", 4, 1))
_STATUS = (("throttle_status", 4, 1), ("lock", 4, 1))
_WIRES = (("pcie", 2, 2), ("xgmi_width", 2, 1), ("xgmi_speed", 2, 1), ("activity_sums", 4, 2))
_PCIE = (("pcie_bandwidth", 8, 2), ("recoveries", 8, 1), ("replays", 8, 1), ("rollovers", 8, 1))
_NAKS = (("naks", 4, 2),)
_MOVED = (("xgmi_read", 8, _LINKS), ("xgmi_written", 8, _LINKS))
_LAYOUTS = MappingProxyType(
    {
        (1, 3): (
            *(("temperature", 2, 6), ("activity", 2, 3), ("power", 2, 1), *_CLOCKS, ("clocks", 2, 14)),
            *(("throttle_status", 4, 1), ("fan", 2, 1), ("pcie", 2, 2), ("padding", 2, 1), ("activity_sums", 4, 2)),
            *(("hbm", 2, 4), ("firmware_clock", 8, 1), ("voltage", 2, 4), ("throttle", 8, 1)),
        ),
        (1, 4): (*_HEAT, ("vcn", 2, 4), *_CLOCKS, *_STATUS, *_WIRES, *_PCIE, *_MOVED),
        (1, 5): (*_HEAT, ("vcn", 2, 4), ("jpeg", 2, 32), *_CLOCKS, *_STATUS, *_WIRES, *_PCIE, *_NAKS, *_MOVED),
        (1, 6): (*_HEAT, *_CLOCKS, *_RESIDENCIES, *_WIRES, *_PCIE, *_NAKS, *_MOVED),
        **dict.fromkeys(
            ((1, 7), (1, 8)),
            (
                *(*_HEAT, ("memory_bandwidth", 8, 1), *_CLOCKS, *_RESIDENCIES, *_WIRES, *_PCIE, *_NAKS, *_MOVED),
                ("xgmi_status", 2, _LINKS),
            ),
        ),
    }
)
_THROTTLES = (
    (range(8), Throttle.SOFTWARE_POWER_CAP),
    (range(16, 24), Throttle.HARDWARE_SLOWDOWN),
    (range(32, 48), Throttle.HARDWARE_THERMAL),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdMetrics:
    """What of one table concerns links and clocks."""

    links: tuple[GpuLink, ...] | Missing
    throttle: tuple[Throttle, ...] | Missing
    pcie_replays: int | Missing


def read_amd_metrics(tree: Tree, path: str) -> AmdMetrics:
    """Return what the table at `path` holds; Missing throughout where there is none or its version is not known."""
    data = tree.read(path)
    return _nothing(data) if isinstance(data, Missing) else parse_metrics(data, path)


def parse_metrics(data: bytes, where: str) -> AmdMetrics:
    """Read the table: size, version, then the fields of that version, each aligned to its own size."""
    if len(data) < _HEADER_BYTES or int.from_bytes(data[:2], "little") > len(data):
        return _nothing(malformed(data, where))
    version = (data[2], data[3])
    if version not in _LAYOUTS:
        detail = f"version {version[0]}.{version[1]} of the table"
        return _nothing(Missing(reason=Reason.UNSUPPORTED, where=where, detail=detail))
    fields = _fields(data, _LAYOUTS[version])
    if fields is None:
        return _nothing(malformed(data, where))
    return AmdMetrics(
        links=_links(fields, where), throttle=_throttle(fields, where), pcie_replays=_only(fields, "replays", where)
    )


def _nothing(why: Missing) -> AmdMetrics:
    return AmdMetrics(links=why, throttle=why, pcie_replays=why)


_Values = dict[str, tuple[int | None, ...]]


def _fields(data: bytes, layout: Sequence[_Field]) -> _Values | None:
    """Return the items of each field, None for one that is all ones; None where the table is too short."""
    found: _Values = {}
    at = _HEADER_BYTES
    for name, size, count in layout:
        at = -(-at // size) * size
        end = at + size * count
        if end > len(data):
            return None
        items = (int.from_bytes(data[place : place + size], "little") for place in range(at, end, size))
        found[name] = tuple(None if item == (1 << 8 * size) - 1 else item for item in items)
        at = end
    return found


def _only(fields: _Values, name: str, where: str) -> int | Missing:
    value = fields.get(name, (None,))[0]
    return Missing(reason=Reason.UNSUPPORTED, where=where, detail=f"no {name}") if value is None else value


def _links(fields: _Values, where: str) -> tuple[GpuLink, ...] | Missing:
    if "xgmi_read" not in fields:
        return Missing(reason=Reason.UNSUPPORTED, where=where, detail="this version holds no xGMI links")
    width, speed = _only(fields, "xgmi_width", where), _only(fields, "xgmi_speed", where)
    unknown = width if isinstance(width, Missing) else speed
    rate = unknown if isinstance(unknown, Missing) or isinstance(width, Missing) else width * unknown * _GIGABIT
    states = fields.get("xgmi_status", (None,) * _LINKS)
    moved = zip(fields["xgmi_read"], fields["xgmi_written"], strict=True)
    return tuple(
        GpuLink(index=index, active=_active(state, read, written, where), bytes_per_second=rate)
        for index, (state, (read, written)) in enumerate(zip(states, moved, strict=True))
        if (state, read, written) != (None, None, None)
    )


def _active(state: int | None, read: int | None, written: int | None, where: str) -> bool | Missing:
    """Take the state where there is one; a link that moved data is up, one that did not may be idle."""
    if state is not None:
        return bool(state)
    unsaid = Missing(reason=Reason.UNSUPPORTED, where=where, detail="this version holds no states of links")
    return True if read or written else unsaid


def _throttle(fields: _Values, where: str) -> tuple[Throttle, ...] | Missing:
    bits = _only(fields, "throttle", where)
    if isinstance(bits, Missing):
        detail = "only sums since the driver loaded" if "residencies" in fields else "in bits that differ by chip"
        return Missing(reason=Reason.UNSUPPORTED, where=where, detail=detail)
    return tuple(throttle for places, throttle in _THROTTLES if any(bits >> place & 1 for place in places))
