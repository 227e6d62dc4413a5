"""One object of the Kubernetes API, asked field by field.

Custom resources change between versions and are written by many hands, so nothing here trusts a shape: a question
whose field is absent or of another type answers `Missing`, an empty text or nothing at all. The JSON inside has been
cleaned where it entered (`netkit.sources.kube.objects`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from netkit.model.missing import Missing, Reason

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who made an object: one entry of `metadata.ownerReferences`."""

    kind: str
    name: str
    uid: str
    controller: bool
    api_version: str


@dataclass(frozen=True, slots=True, eq=False)
class KubeObject:
    """One object: the resource it was listed under (`pods`, `podgroups.scheduling.volcano.sh`) and its JSON.

    What is asked of every object again and again is taken out once. The uid is the identity: a restarted pod keeps its
    name and gets another uid. The namespace is empty for objects of the whole cluster.
    """

    resource: str
    body: Mapping[str, Any]
    name: str = field(init=False)
    namespace: str = field(init=False)
    uid: str = field(init=False)
    labels: Mapping[str, Any] = field(init=False)
    annotations: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Take out what every question starts from."""
        metadata = self.fields("metadata")
        for key in ("name", "namespace", "uid"):
            object.__setattr__(self, key, text_of(metadata.get(key)))
        for key in ("labels", "annotations"):
            found = metadata.get(key)
            object.__setattr__(self, key, found if isinstance(found, dict) else _NOTHING)

    @property
    def kind(self) -> str:
        """The kind, such as Pod."""
        return self.text("kind")

    @property
    def api_version(self) -> str:
        """Group and version, such as batch/v1."""
        return self.text("apiVersion")

    @property
    def created(self) -> str:
        """Creation time of the API server's clock, RFC 3339."""
        return self.text("metadata", "creationTimestamp")

    def __str__(self) -> str:
        """The object as a person names it: Pod ns/name."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind or self.resource} {place}{self.name}"

    def find(self, *path: str) -> Any:
        """Return whatever stands at a path, None when nothing does."""
        found: Any = self.body
        for step in path:
            if not isinstance(found, dict):
                return None
            found = found.get(step)
        return found

    def text(self, *path: str) -> str:
        """Return a text, empty when there is none."""
        return text_of(self.find(*path))

    def number(self, *path: str) -> int | Missing:
        """Return a whole number, or why there is none."""
        return number_of(self.find(*path), f"{self} {'.'.join(path)}")

    def fields(self, *path: str) -> Mapping[str, Any]:
        """Return a mapping, empty when there is none."""
        found = self.find(*path)
        return found if isinstance(found, dict) else _NOTHING

    def rows(self, *path: str) -> tuple[Mapping[str, Any], ...]:
        """Return the mappings of a list; anything else in it is passed over."""
        return rows_of(self.find(*path))

    def label(self, *keys: str) -> str:
        """Return the value of the first label that is there."""
        return next((text_of(self.labels[key]) for key in keys if key in self.labels), "")

    def annotation(self, *keys: str) -> str:
        """Return the value of the first annotation that is there."""
        return next((text_of(self.annotations[key]) for key in keys if key in self.annotations), "")

    def annotated_json(self, key: str) -> Any:
        """Return the JSON inside an annotation: None when absent, Missing when it is no JSON."""
        shown = self.annotation(key)
        return embedded_json(shown, f"{self} annotation {key}") if shown else None

    def owners(self) -> Iterator[Owner]:
        """Yield who made this object; the controller comes first."""
        found = rows_of(self.find("metadata", "ownerReferences"))
        for row in sorted(found, key=lambda row: row.get("controller") is not True):
            yield Owner(
                kind=text_of(row.get("kind")),
                name=text_of(row.get("name")),
                uid=text_of(row.get("uid")),
                controller=row.get("controller") is True,
                api_version=text_of(row.get("apiVersion")),
            )

    def conditions(self, *path: str) -> tuple[Condition, ...]:
        """Return the conditions under `status.conditions`, or under another path."""
        return tuple(_condition(row) for row in self.rows(*(path or ("status", "conditions"))))

    def condition(self, kind: str) -> Condition | None:
        """Return the latest condition of a type."""
        found = [one for one in self.conditions() if one.type == kind]
        return max(found, key=lambda one: one.changed) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One entry of `status.conditions`; `changed` is the API server's or a controller's clock."""

    type: str
    status: str
    reason: str
    message: str
    changed: str

    @property
    def holds(self) -> bool:
        """Tell whether the condition is True; False and Unknown are not."""
        return self.status == "True"


def _condition(row: Mapping[str, Any]) -> Condition:
    changed = text_of(row.get("lastTransitionTime")) or text_of(row.get("lastProbeTime"))
    return Condition(
        type=text_of(row.get("type")),
        status=text_of(row.get("status")),
        reason=text_of(row.get("reason")),
        message=text_of(row.get("message")),
        changed=changed,
    )


def text_of(value: Any) -> str:
    """Return a text as it is and a number as its digits; anything else is empty."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def number_of(value: Any, where: str) -> int | Missing:
    """Return a whole number, also from digits in a text as annotations hold them, or why there is none."""
    if value is None or value == "":
        return Missing(reason=Reason.ABSENT, where=where)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31:
        return value
    return Missing(reason=Reason.MALFORMED, where=where, detail=f"{_short(value)} is no whole number")


def rows_of(value: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the mappings of a list; anything else in it is passed over."""
    return tuple(row for row in value if isinstance(row, dict)) if isinstance(value, list) else ()


def embedded_json(shown: str, where: str) -> Any:
    """Return the JSON held in a text such as an annotation, or Missing when it is none."""
    try:
        return json.loads(shown)
    except (ValueError, RecursionError):
        return Missing(reason=Reason.MALFORMED, where=where, detail=f"{_short(shown)} is no JSON")


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"
