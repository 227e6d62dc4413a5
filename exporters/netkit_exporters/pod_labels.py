"""`--pod-labels all`: the pod that holds a device, on every series of the device, instead of one info family to join.

Every pod that comes makes new series, which is why this is asked for. A device that several pods share (time slices)
has no pod of its own and empty labels, never one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from time import monotonic

from netkit.catalogue.metrics import Metric
from netkit.errors import SourceError
from netkit.model.missing import Missing, Reason
from netkit.sources.podresources import SOCKET, read_held_devices
from netkit_exporters.collecting import Machine, Reading, Sample, Source, State, Target
from netkit_exporters.held_devices import KEPT_SECONDS, identify

LABELS = ("namespace", "pod", "container")
_JOINED_BY = ("uuid", "device", "pci_bus_id")
_NOBODY = ("", "", "")

Holder = tuple[str, str, str]


@cache
def with_pod(metric: Metric) -> Metric:
    """Return the family with the labels of a pod; always the same object for the same family."""
    return replace(metric, labels=(*metric.labels, *LABELS))


class Book:
    """Who holds what, by every name a device goes by."""

    def __init__(self) -> None:
        self._holders: dict[str, Holder] = {}

    def fill(self, held: Iterable[tuple[str, Holder]]) -> None:
        """Take in who holds what now; a name with two holders is nobody's."""
        found: dict[str, Holder] = {}
        for name, holder in held:
            if name:
                found[name] = holder if found.get(name, holder) == holder else _NOBODY
        self._holders = found

    def labelled(self, sample: Sample) -> Sample:
        """Return the sample with the pod of its device."""
        own = dict(zip(sample.metric.labels, sample.labels, strict=True))
        names = (own[name] for name in _JOINED_BY if own.get(name))
        holder = next((self._holders[name] for name in names if name in self._holders), _NOBODY)
        return Sample(with_pod(sample.metric), (*sample.labels, *holder), sample.value)


class _Kubelet:
    """Keeps the book; gives no series itself."""

    key = "pod labels"

    def __init__(self, machine: Machine, book: Book) -> None:
        self._machine = machine
        self._book = book
        self._answered = float("-inf")

    def read(self) -> Reading:
        """Ask the kubelet; the last answer stands for a minute."""
        try:
            held = read_held_devices(self._machine.options.get("pod_resources", SOCKET))
        except SourceError as fault:
            if monotonic() - self._answered > KEPT_SECONDS:
                self._book.fill(())
            return Reading(
                faults=(Missing(reason=Reason.ABSENT, where=fault.where, detail=fault.what),), state=State.ERROR
            )
        self._answered = monotonic()
        known = [(identify(self._machine.tree, one), (one.namespace, one.pod, one.container)) for one in held]
        self._book.fill(
            (name, holder) for found, holder in known for name in (found.uuid, found.device, found.pci_bus_id)
        )
        return Reading()


class _Labelled:
    """A target whose samples carry pods."""

    def __init__(self, target: Target, book: Book) -> None:
        self.key = target.key
        self.target = target
        self._book = book

    def read(self) -> Reading:
        """Read the target behind."""
        reading = self.target.read()
        return replace(reading, samples=tuple(map(self._book.labelled, reading.samples)))


class _LabelledSource:
    """A collector whose devices carry pods; the kubelet is a target of its own, so that it holds up no device."""

    def __init__(self, source: Source, machine: Machine) -> None:
        self._source = source
        self._book = Book()
        self._kubelet = _Kubelet(machine, self._book)
        self._made: dict[str, _Labelled] = {}

    def targets(self) -> Sequence[Target] | Missing:
        """Return the kubelet and the targets behind."""
        found = self._source.targets()
        if isinstance(found, Missing):
            return found
        self._made = {target.key: self._around(target) for target in found}
        return (self._kubelet, *self._made.values())

    def _around(self, target: Target) -> _Labelled:
        before = self._made.get(target.key)
        return before if before and before.target is target else _Labelled(target, self._book)

    def close(self) -> None:
        """Close what is behind."""
        self._source.close()


def maybe_with_pods(open_source: Callable[[Machine], Source]) -> Callable[[Machine], Source]:
    """Return how to open a collector whose series carry pods where `pod_labels` says `all`."""

    def opened(machine: Machine) -> Source:
        source = open_source(machine)
        return _LabelledSource(source, machine) if machine.options.get("pod_labels") == "all" else source

    return opened
