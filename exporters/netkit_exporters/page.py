"""What a scrape is answered with: the families of one moment, joined once for each form somebody asks for.

gzip at level 1: on exposition text it costs a twentieth of the default level and saves nearly as much (RFC 1952).
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache

from netkit.catalogue.metrics import Metric
from netkit_exporters.exposition import ENDING, Format, Written, head


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Page:
    """The families of one moment, in the order of their names, and the bodies made of them so far."""

    families: tuple[tuple[Metric, tuple[bytes, ...]], ...]
    good_until: float
    """Monotonic second at which something in it turns stale."""
    _bodies: dict[tuple[Format, bool], bytes] = field(default_factory=dict)

    def body(self, form: Format, compressed: bool = False) -> bytes:
        """Return the page as text; the second call for a form returns the same object."""
        found = self._bodies.get((form, compressed))
        if found is None:
            found = self._compressed(form) if compressed else self._joined(form)
            self._bodies[form, compressed] = found
        return found

    def only(self, collectors: Collection[str], names: Collection[str]) -> Page:
        """Return the part that these collectors and these families make up; an empty collection asks for all."""
        chosen = tuple(
            (metric, lines)
            for metric, lines in self.families
            if (not collectors or metric.collector in collectors) and (not names or metric.name in names)
        )
        return Page(families=chosen, good_until=self.good_until)

    def _joined(self, form: Format) -> bytes:
        parts: list[bytes] = []
        for metric, lines in self.families:
            parts.append(_head(metric, form))
            parts += lines
        return b"".join((*parts, ENDING[form]))

    def _compressed(self, form: Format) -> bytes:
        return gzip.compress(self.body(form), compresslevel=1, mtime=0)


def page_of(readings: Iterable[Written], good_until: float = float("inf")) -> Page:
    """Put the lines of many readings together, family by family."""
    families: dict[Metric, list[bytes]] = defaultdict(list)
    for reading in readings:
        for metric, line in zip(reading.metrics, reading.lines, strict=True):
            families[metric].append(line)
    ordered = sorted(families.items(), key=_name)
    return Page(families=tuple((metric, tuple(lines)) for metric, lines in ordered), good_until=good_until)


def _name(family: tuple[Metric, list[bytes]]) -> str:
    return family[0].name


@cache
def _head(metric: Metric, form: Format) -> bytes:
    return head(metric, form)
