"""What a scrape is answered with: the families of one moment, joined once for each form somebody asks for.

Which line belongs where changes seldom, so it is worked out once and kept as a permutation; a page is the lines of one
moment under it. gzip at level 1: on exposition text it costs a twentieth of the default level and saves nearly as much
(RFC 1952).
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter

from netkit.catalogue.metrics import Metric
from netkit_exporters.exposition import ENDING, Format, Written, head


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """In which order lines of these families are served, and the heads that stand between them."""

    metrics: Sequence[Metric]
    """The family of each line, in the order in which the lines are given."""
    order: Sequence[int]
    """Places of lines, and, counted on behind them, of heads."""
    families: Sequence[Metric]
    _heads: dict[Format, Sequence[bytes]] = field(default_factory=dict)

    def join(self, lines: Sequence[bytes], form: Format) -> bytes:
        """Return the lines under their heads."""
        if not self.order:
            return ENDING[form]
        if form not in self._heads:
            self._heads[form] = [head(metric, form) for metric in self.families]
        parts = itemgetter(*self.order)((*lines, *self._heads[form]))
        return b"".join(parts) + ENDING[form]


def layout_of(metrics: Sequence[Metric]) -> Layout:
    """Return the layout of lines that belong to these families: by name, and within a family as they were given."""
    order: list[int] = []
    families: list[Metric] = []
    by_name = sorted(range(len(metrics)), key=lambda place: metrics[place].name)
    for metric, places in groupby(by_name, key=lambda place: metrics[place]):
        order += (len(metrics) + len(families), *places)
        families.append(metric)
    return Layout(metrics=metrics, order=order, families=families)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Page:
    """The lines of one moment, and the bodies made of them so far."""

    layout: Layout
    lines: Sequence[bytes]
    good_until: float = float("inf")
    """Monotonic second at which something in it turns stale."""
    _bodies: dict[tuple[Format, bool], bytes] = field(default_factory=dict)

    def body(self, form: Format, compressed: bool = False) -> bytes:
        """Return the page as text; the second call for a form returns the same object."""
        found = self._bodies.get((form, compressed))
        if found is None:
            found = self._compressed(form) if compressed else self.layout.join(self.lines, form)
            self._bodies[form, compressed] = found
        return found

    def only(self, collectors: Collection[str], names: Collection[str]) -> Page:
        """Return the part that these collectors and these families make up; an empty collection asks for all."""
        chosen = [
            place
            for place, metric in enumerate(self.layout.metrics)
            if (not collectors or metric.collector in collectors) and (not names or metric.name in names)
        ]
        layout = layout_of([self.layout.metrics[place] for place in chosen])
        return Page(layout=layout, lines=[self.lines[place] for place in chosen], good_until=self.good_until)

    def _compressed(self, form: Format) -> bytes:
        return gzip.compress(self.body(form), compresslevel=1, mtime=0)


class Pages:
    """Makes pages, and keeps the layout for as long as the same series come in the same order."""

    def __init__(self) -> None:
        self._given: Sequence[Sequence[Metric]] = ()
        self._layout = layout_of(())

    def make(self, readings: Iterable[Written], good_until: float = float("inf")) -> Page:
        """Put the lines of many readings together."""
        readings = tuple(readings)
        given = [reading.metrics for reading in readings]
        if len(given) != len(self._given) or any(new is not old for new, old in zip(given, self._given, strict=True)):
            self._given, self._layout = given, layout_of(list(chain.from_iterable(given)))
        lines = list(chain.from_iterable(reading.lines for reading in readings))
        return Page(layout=self._layout, lines=lines, good_until=good_until)
