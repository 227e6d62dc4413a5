"""Ranks of the members of a gang, and where each comes from.

A declared label is believed first, then a variable in the pod's spec, then the number at the end of the pod's name,
then the order of names. Process ranks come only from the launcher: what the API shows is a number per pod.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from netkit.gangs.fields import Field
from netkit.model.gang import Evidence, Rank, RankOf
from netkit.model.kube_object import KubeObject

_SUFFIX = re.compile(r"-(\d{1,6})$")
_MOST_DIGITS = 6

Indices = dict[str, tuple[int, Evidence]]


def ranks(
    pods: Sequence[KubeObject],
    system: str,
    whole: Sequence[Field] = (),
    within: Sequence[Field] = (),
    groups: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> dict[str, Rank]:
    """Return a rank for each pod by uid.

    `whole` are fields that number all members, `within` those that number the members of one group (task, replica
    type); groups follow one another in the given order, others after them by name.
    """
    indices = _declared(pods, whole, system) or _in_sequence(_parts(pods, groups or {}, order), within, system)
    return {uid: Rank(number=number, of=RankOf.NODE, evidence=evidence) for uid, (number, evidence) in indices.items()}


def _in_sequence(parts: Sequence[Sequence[KubeObject]], within: Sequence[Field], system: str) -> Indices:
    found: Indices = {}
    start = 0
    for part in parts:
        indices = _declared(part, within, system) or _by_name(part, system)
        for uid, (number, evidence) in indices.items():
            found[uid] = start + number, evidence if len(parts) == 1 else _after(evidence, start)
        start += max((number for number, _ in indices.values()), default=-1) + 1
    return found


def _after(evidence: Evidence, start: int) -> Evidence:
    field = f"{evidence.field}, after {start} members of earlier groups" if start else evidence.field
    return replace(evidence, field=field, declared=False)


def _parts(pods: Iterable[KubeObject], groups: Mapping[str, str], order: Sequence[str]) -> list[list[KubeObject]]:
    parts: defaultdict[str, list[KubeObject]] = defaultdict(list)
    for pod in pods:
        parts[groups.get(pod.uid, "")].append(pod)
    known = [name for name in order if name in parts]
    return [parts[name] for name in [*known, *sorted(set(parts) - set(known))]]


def _declared(pods: Sequence[KubeObject], fields: Sequence[Field], system: str) -> Indices:
    """Return the numbers of the first field that every pod has, nothing when none is on all of them."""
    for field in fields:
        values = {pod.uid: field.of(pod) for pod in pods}
        if values and all(map(_is_number, values.values())):
            return {pod.uid: (int(values[pod.uid]), field.evidence(pod, system)) for pod in pods}
    return {}


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS


def _by_name(pods: Sequence[KubeObject], system: str) -> Indices:
    ends = {pod.uid: _SUFFIX.search(pod.name) for pod in pods}
    numbers = {uid: int(match[1]) for uid, match in ends.items() if match}
    if len(numbers) == len(pods) and len(set(numbers.values())) == len(pods):
        return {pod.uid: (numbers[pod.uid], _inferred(pod, "number at the end of its name", system)) for pod in pods}
    ordered = sorted(pods, key=lambda pod: pod.name)
    return {pod.uid: (at, _inferred(pod, "order of names", system)) for at, pod in enumerate(ordered)}


def _inferred(pod: KubeObject, field: str, system: str) -> Evidence:
    return Evidence(object=str(pod), field=field, value=pod.name, system=system, declared=False)
