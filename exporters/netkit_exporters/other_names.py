"""`--compat`: the same samples again under another exporter's names, by the rows of `netkit.catalogue.compat`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from netkit.catalogue.compat import CompatRow, Dialect, by_source
from netkit.catalogue.metrics import Metric
from netkit.errors import InputError
from netkit.model.missing import Missing
from netkit.model.text import visible
from netkit_exporters.collecting import Collector, Reading, Sample, Source, Target

Rows = Mapping[str, tuple[CompatRow, ...]]
"""By the name of our family: the same family may come with the labels of a pod."""
_Series = tuple[Metric, tuple[str, ...]]


def dialects(names: Iterable[str]) -> tuple[Dialect, ...]:
    """Return the dialects of these names; InputError for a name there is not."""
    known = {str(dialect): dialect for dialect in Dialect}
    given = [name.strip() for name in names if name.strip()]
    for name in given:
        if name not in known:
            raise InputError(f"--compat {visible(name, 100)!r}", ", ".join(known))
    return tuple(dict.fromkeys(known[name] for name in given))


@cache
def theirs(row: CompatRow, more: tuple[str, ...] = ()) -> Metric:
    """Return the family of a row, with more labels at its end; always the same object for the same ones."""
    return Metric(
        name=row.name,
        kind=row.kind,
        help=row.help,
        collector=row.source.collector,
        labels=(*(label.name for label in row.labels), *more),
        privilege=row.source.privilege,
    )


def under_other_names(collector: Collector, wanted: Sequence[Dialect]) -> Collector:
    """Return a collector that gives its samples under these names too; the same one where it has nothing for them."""
    rows: dict[str, tuple[CompatRow, ...]] = {}
    for dialect in wanted:
        for metric, found in by_source(dialect).items():
            if metric in collector.metrics:
                rows[metric.name] = (*rows.get(metric.name, ()), *found)
    if not rows:
        return collector
    families = dict.fromkeys(theirs(row) for found in rows.values() for row in found)
    return replace(
        collector,
        open=lambda machine: _Renaming(collector.open(machine), rows),
        metrics=(*collector.metrics, *families),
    )


class _Renamed:
    """A target whose samples are given twice."""

    def __init__(self, target: Target, rows: Rows) -> None:
        self.key = target.key
        self.target = target
        self._rows = rows
        self._known: dict[_Series, tuple[tuple[_Series, float], ...]] = {}

    def read(self) -> Reading:
        """Read the target behind."""
        reading = self.target.read()
        meant = [sample for sample in reading.samples if sample.metric.name in self._rows]
        # What is no longer given is forgotten: labels of pods come and go.
        self._known = {(one.metric, one.labels): self._others(one.metric, one.labels) for one in meant}
        again = [
            Sample(metric, labels, sample.value if factor == 1 else float(sample.value) * factor)
            for sample in meant
            for (metric, labels), factor in self._known[sample.metric, sample.labels]
        ]
        return replace(reading, samples=(*reading.samples, *again))

    def _others(self, metric: Metric, labels: tuple[str, ...]) -> tuple[tuple[_Series, float], ...]:
        known = self._known.get((metric, labels))
        return tuple(self._translated(metric, labels)) if known is None else known

    def _translated(self, metric: Metric, labels: tuple[str, ...]) -> Iterator[tuple[_Series, float]]:
        for row in self._rows[metric.name]:
            own = len(row.source.labels)
            found = row.translate(labels[:own])
            if found is not None:
                yield (theirs(row, metric.labels[own:]), (*found, *labels[own:])), row.factor


class _Renaming:
    """A started collector whose targets give their samples twice."""

    def __init__(self, source: Source, rows: Rows) -> None:
        self._source = source
        self._rows = rows
        self._made: dict[str, _Renamed] = {}

    def targets(self) -> Sequence[Target] | Missing:
        """Return the targets behind, each in the same wrapping as long as it is the same one."""
        found = self._source.targets()
        if isinstance(found, Missing):
            return found
        self._made = {target.key: self._around(target) for target in found}
        return tuple(self._made.values())

    def _around(self, target: Target) -> _Renamed:
        before = self._made.get(target.key)
        return before if before and before.target is target else _Renamed(target, self._rows)

    def close(self) -> None:
        """Close what is behind."""
        self._source.close()


def with_names(collectors: Sequence[Collector], names: Iterable[str]) -> tuple[Collector, ...]:
    """Return the collectors, with other names where the command line asked for some."""
    wanted = dialects(names)
    return tuple(under_other_names(collector, wanted) for collector in collectors) if wanted else tuple(collectors)
