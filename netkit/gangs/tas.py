"""Topology assignments of Kueue: which domains of the fabric a pod set was given, in both encodings.

v1beta1 lists domains with their values and counts. v1beta2 packs runs of domains into slices, where a level's values
are universal or made of a prefix, roots and a suffix, and counts are universal or one each.
Source: kubernetes-sigs/kueue pkg/util/tas/tas_assignment.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netkit.model.kube_object import KubeObject, number_of, rows_of, text_of
from netkit.model.missing import Missing, Reason

_MOST_DOMAINS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One domain and how many pods it was given; values go from the widest level to the narrowest."""

    values: tuple[str, ...]
    pods: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The domains of one pod set; levels are node labels, widest first."""

    podset: str
    levels: tuple[str, ...]
    domains: tuple[Domain, ...] | Missing


def assignments(workload: KubeObject) -> tuple[Assignment, ...]:
    """Return the topology assignments of a Workload; none when Kueue placed it without topology."""
    rows = workload.rows("status", "admission", "podSetAssignments")
    return tuple(_assignment(row, str(workload)) for row in rows if isinstance(row.get("topologyAssignment"), dict))


def _assignment(row: Mapping[str, Any], where: str) -> Assignment:
    packed = row["topologyAssignment"]
    levels = packed.get("levels")
    names = tuple(text_of(level) for level in levels) if isinstance(levels, list) else ()
    domains = _listed(packed) if "domains" in packed else _unpacked(packed, len(names))
    malformed = Missing(reason=Reason.MALFORMED, where=f"{where} topologyAssignment", detail="domains do not add up")
    return Assignment(podset=text_of(row.get("name")), levels=names, domains=malformed if domains is None else domains)


def _listed(packed: Mapping[str, Any]) -> tuple[Domain, ...] | None:
    found = []
    for row in rows_of(packed.get("domains")):
        count, values = number_of(row.get("count"), "count"), row.get("values")
        if isinstance(count, Missing) or not isinstance(values, list):
            return None
        found.append(Domain(values=tuple(text_of(value) for value in values), pods=count))
    return tuple(found)


def _unpacked(packed: Mapping[str, Any], levels: int) -> tuple[Domain, ...] | None:
    found: list[Domain] = []
    for piece in rows_of(packed.get("slices")):
        size = number_of(piece.get("domainCount"), "domainCount")
        if isinstance(size, Missing) or not 0 <= size <= _MOST_DOMAINS - len(found):
            return None
        columns = [_values(level, size) for level in rows_of(piece.get("valuesPerLevel"))]
        counts = _counts(piece.get("podCounts"), size)
        if counts is None or len(columns) != levels or any(len(column) != size for column in columns):
            return None
        rows = zip(*columns, strict=True)
        found += [Domain(values=values, pods=pods) for values, pods in zip(rows, counts, strict=True)]
    return tuple(found)


def _values(level: Mapping[str, Any], size: int) -> Sequence[str]:
    if isinstance(level.get("universal"), str):
        return [level["universal"]] * size
    parts = level.get("individual")
    return list(_joined(parts)) if isinstance(parts, dict) else ()


def _joined(parts: Mapping[str, Any]) -> Iterator[str]:
    prefix, suffix, roots = text_of(parts.get("prefix")), text_of(parts.get("suffix")), parts.get("roots")
    return (prefix + text_of(root) + suffix for root in (roots if isinstance(roots, list) else ()))


def _counts(packed: Any, size: int) -> Sequence[int] | None:
    if not isinstance(packed, dict):
        return None
    if "universal" in packed:
        count = number_of(packed["universal"], "podCounts")
        return None if isinstance(count, Missing) else [count] * size
    rows = packed.get("individual")
    counts = [number_of(row, "podCounts") for row in rows] if isinstance(rows, list) else []
    known = [count for count in counts if isinstance(count, int)]
    return known if len(known) == size else None
