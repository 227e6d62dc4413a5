"""Fields of a pod that systems write their mark on: a label, an annotation, a variable, a place in the spec."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.model.gang import Evidence
from netkit.model.kube_object import KubeObject, rows_of, text_of


class Place(StrEnum):
    """Where a field stands."""

    LABEL = "label"
    ANNOTATION = "annotation"
    ENV = "env"
    SPEC = "spec"


@dataclass(frozen=True, slots=True)
class Field:
    """One field; for a place in the spec the key is a path with dots."""

    place: Place
    key: str

    def of(self, pod: KubeObject) -> str:
        """Return its value on a pod, empty when it is not there."""
        if self.place is Place.LABEL:
            return pod.label(self.key)
        if self.place is Place.ANNOTATION:
            return pod.annotation(self.key)
        if self.place is Place.ENV:
            return variable(pod, self.key)
        return pod.text("spec", *self.key.split("."))

    def evidence(self, pod: KubeObject, system: str, *, declared: bool = True) -> Evidence:
        """Return its value on a pod as evidence."""
        return Evidence(object=str(pod), field=str(self), value=self.of(pod), system=system, declared=declared)

    def __str__(self) -> str:
        """The field as a person finds it in YAML."""
        return f"spec.{self.key}" if self.place is Place.SPEC else f"{self.place} {self.key}"


@dataclass(frozen=True, slots=True)
class Joined:
    """Several fields that name a gang together, such as a set and a group in it."""

    fields: tuple[Field, ...]
    between: str

    @property
    def place(self) -> Place:
        """Where the first field stands."""
        return self.fields[0].place

    @property
    def key(self) -> str:
        """The first field's key: a pod without it has no such name."""
        return self.fields[0].key

    def of(self, pod: KubeObject) -> str:
        """Return the values joined, empty unless all are there."""
        values = [field.of(pod) for field in self.fields]
        return self.between.join(values) if all(values) else ""

    def evidence(self, pod: KubeObject, system: str) -> Evidence:
        """Return the joined value on a pod as evidence."""
        return Evidence(object=str(pod), field=str(self), value=self.of(pod), system=system)

    def __str__(self) -> str:
        """The fields as a person finds them in YAML."""
        return " and ".join(map(str, self.fields))


def label(key: str) -> Field:
    """Return a label as a field."""
    return Field(Place.LABEL, key)


def annotation(key: str) -> Field:
    """Return an annotation as a field."""
    return Field(Place.ANNOTATION, key)


def env(key: str) -> Field:
    """Return a variable of the first container that sets it as a field."""
    return Field(Place.ENV, key)


def spec(path: str) -> Field:
    """Return a place in the spec, a path with dots, as a field."""
    return Field(Place.SPEC, path)


def variable(pod: KubeObject, name: str) -> str:
    """Return a variable set in the pod's spec: a value, or the label or annotation it is taken from."""
    for container in pod.rows("spec", "containers"):
        for row in rows_of(container.get("env")):
            if row.get("name") == name:
                return text_of(row.get("value")) or _referred(pod, row.get("valueFrom"))
    return ""


def _referred(pod: KubeObject, source: object) -> str:
    reference = source.get("fieldRef") if isinstance(source, dict) else None
    path = text_of(reference.get("fieldPath")) if isinstance(reference, dict) else ""
    place, bracket, key = path.partition("['")
    if not bracket:
        return ""
    wanted = key.removesuffix("']")
    return pod.label(wanted) if place == "metadata.labels" else pod.annotation(wanted)
