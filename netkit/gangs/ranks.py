"""Ranks of the members of a gang, and where each comes from.

A declared label is believed first, then a variable in the pod's spec, then the number at the end of the pod's name,
then the order of names. Process ranks come only from the launcher: what the API shows is a number per pod.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from netkit.gangs.fields import Field
from netkit.model.gang import Evidence, Rank, RankOf
from netkit.model.kube_object import KubeObject

_SUFFIX = re.compile(r"-(\d{1,6})$")


def ranks(
    pods: Sequence[KubeObject],
    fields: Sequence[Field],
    system: str,
    groups: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> dict[str, Rank]:
    """Return a rank for each pod by uid; groups (tasks, replica types) follow one another in the given order."""
    parts = _parts(pods, groups or {}, order)
    found: dict[str, Rank] = {}
    start = 0
    for part in parts:
        indices = _indices(part, fields, system)
        for uid, (number, evidence) in indices.items():
            shown = evidence if len(parts) == 1 else _after(evidence, start)
            found[uid] = Rank(number=start + number, of=RankOf.NODE, evidence=shown)
        start += max((number for number, _ in indices.values()), default=-1) + 1
    return found


def _after(evidence: Evidence, start: int) -> Evidence:
    field = f"{evidence.field}, after {start} members of earlier groups" if start else evidence.field
    return Evidence(object=evidence.object, field=field, value=evidence.value, system=evidence.system, declared=False)


def _parts(pods: Iterable[KubeObject], groups: Mapping[str, str], order: Sequence[str]) -> list[list[KubeObject]]:
    parts: defaultdict[str, list[KubeObject]] = defaultdict(list)
    for pod in pods:
        parts[groups.get(pod.uid, "")].append(pod)
    known = [name for name in order if name in parts]
    return [parts[name] for name in [*known, *sorted(set(parts) - set(known))]]


def _indices(pods: Sequence[KubeObject], fields: Sequence[Field], system: str) -> dict[str, tuple[int, Evidence]]:
    for field in fields:
        values = {pod.uid: field.of(pod) for pod in pods}
        if all(value.isascii() and value.isdigit() and len(value) < 7 for value in values.values()):
            return {pod.uid: (int(values[pod.uid]), field.evidence(pod, system)) for pod in pods}
    return _by_name(pods, system)


def _by_name(pods: Sequence[KubeObject], system: str) -> dict[str, tuple[int, Evidence]]:
    ends = {pod.uid: _SUFFIX.search(pod.name) for pod in pods}
    numbers = {uid: int(match[1]) for uid, match in ends.items() if match}
    if len(numbers) == len(pods) and len(set(numbers.values())) == len(pods):
        return {pod.uid: (numbers[pod.uid], _inferred(pod, "number at the end of its name", system)) for pod in pods}
    ordered = sorted(pods, key=lambda pod: pod.name)
    return {pod.uid: (at, _inferred(pod, "order of names", system)) for at, pod in enumerate(ordered)}


def _inferred(pod: KubeObject, field: str, system: str) -> Evidence:
    return Evidence(object=str(pod), field=field, value=pod.name, system=system, declared=False)
