"""Samples as lines of the exposition formats, with everything that does not change from reading to reading kept.

Text 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/; OpenMetrics 1.0:
https://prometheus.io/docs/specs/om/open_metrics_spec/. Sample lines are the same in both, only the heads of families
differ, so a line is written once for both. What prometheus_client would write is the reference, byte for byte.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from netkit.catalogue.metrics import Kind, Metric
from netkit.model.text import visible
from netkit_exporters.collecting import Sample

SERIES_CAP = 10_000
"""Series of one family at most."""
LONGEST_LABEL = 512
"""Characters of a label value at most; the rest is cut and an ellipsis says so."""

_LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


class Format(StrEnum):
    """The two formats; the value is the content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


ENDING = {Format.TEXT: b"", Format.OPENMETRICS: b"# EOF\n"}


class Drop(StrEnum):
    """Why a sample is not served."""

    CAP = "cap"
    """Its family has `SERIES_CAP` series already."""
    DUPLICATE = "duplicate"
    """Somebody else gives the same series."""
    VALUE = "value"
    """Its value is no number, or a counter's is negative."""


def head(metric: Metric, form: Format) -> bytes:
    """Return the HELP, TYPE and UNIT lines of a family."""
    if form is Format.TEXT:
        text = metric.help.translate(_HELP_ESCAPES)
        return f"# HELP {metric.name} {text}\n# TYPE {metric.name} {metric.kind}\n".encode()
    name = metric.name.removesuffix("_total") if metric.kind is Kind.COUNTER else metric.name
    unit = f"# UNIT {name} {metric.unit}\n" if metric.unit and name.endswith(f"_{metric.unit}") else ""
    text = metric.help.translate(_LABEL_ESCAPES)
    return f"# HELP {name} {text}\n# TYPE {name} {metric.kind}\n{unit}".encode()


def series(metric: Metric, labels: tuple[str, ...]) -> bytes:
    """Return what stands before the value: name, labels in alphabetical order, a space."""
    pairs = sorted(zip(metric.labels, labels, strict=True))
    if not pairs:
        return f"{metric.name} ".encode()
    text = ",".join(f'{name}="{_label(value)}"' for name, value in pairs)
    return f"{metric.name}{{{text}}} ".encode()


def _label(value: str) -> str:
    return visible(value, LONGEST_LABEL).translate(_LABEL_ESCAPES)


def number(value: float) -> bytes:
    """Write a finite number as prometheus_client does: with an exponent from a million on, as Go would."""
    text = repr(float(value))
    point = text.find(".")
    if value > 0 and point > 6:
        mantissa = f"{text[0]}.{text[1:point]}{text[point + 1 :]}".rstrip("0.")
        return f"{mantissa}e+{point - 1:02d}".encode()
    return text.encode()


def written(metric: Metric, value: object) -> bytes | None:
    """Return the value as text, None for what is no number; integers beyond 2**53 are rounded, as in Prometheus."""
    if type(value) is bytes:
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        known = float(value)
    except OverflowError:
        return None
    if not math.isfinite(known) or (known < 0 and metric.kind is Kind.COUNTER):
        return None
    return number(known)


@dataclass(slots=True)
class Claims:
    """Who gives which series: a family has a cap, and a series one giver. Shared by all writers of an exporter."""

    cap: int = SERIES_CAP
    _taken: dict[Metric, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, metric: Metric, line: bytes) -> Drop | None:
        """Claim a series; a reason when that is refused."""
        with self._lock:
            taken = self._taken[metric]
            if line in taken:
                return Drop.DUPLICATE
            if len(taken) >= self.cap:
                return Drop.CAP
            taken.add(line)
            return None

    def is_full(self, metric: Metric) -> bool:
        """Tell whether a family takes no more series."""
        taken = self._taken.get(metric)
        return taken is not None and len(taken) >= self.cap

    def release(self, gone: Iterable[tuple[Metric, bytes]]) -> None:
        """Give series back that are not given any more."""
        with self._lock:
            for metric, line in gone:
                self._taken[metric].discard(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One reading as text: the lines of each family, how many series they are, and what was dropped from which."""

    lines: Mapping[Metric, bytes]
    series: int
    dropped: Mapping[tuple[Metric, Drop], int]


class Writer:
    """Writes the readings of one target; used by one thread at a time."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._known: dict[tuple[Metric, tuple[str, ...]], bytes] = {}

    def write(self, samples: Iterable[Sample]) -> Written:
        """Return the samples as text. The loop is the exporter's hottest: a known series costs one look-up."""
        known = self._known
        current: dict[tuple[Metric, tuple[str, ...]], bytes] = {}
        parts: dict[Metric, list[bytes]] = defaultdict(list)
        dropped: Counter[tuple[Metric, Drop]] = Counter()
        for metric, labels, value in samples:
            key = (metric, labels)
            line = known.get(key)
            if line is None or key in current:
                line = self._claimed(key, current, dropped)
                if line is None:
                    continue
            current[key] = line
            text = value if type(value) is bytes else written(metric, value)
            if text is None:
                dropped[metric, Drop.VALUE] += 1
                continue
            parts[metric] += (line, text, b"\n")
        self._forget_all_but(current)
        count = sum(map(len, parts.values())) // 3
        return Written(lines={metric: b"".join(some) for metric, some in parts.items()}, series=count, dropped=dropped)

    def close(self) -> None:
        """Give every series back."""
        self._forget_all_but({})

    def _claimed(
        self,
        key: tuple[Metric, tuple[str, ...]],
        current: Mapping[tuple[Metric, tuple[str, ...]], bytes],
        dropped: Counter[tuple[Metric, Drop]],
    ) -> bytes | None:
        metric, labels = key
        if self._claims.is_full(metric) and key not in current:
            dropped[metric, Drop.CAP] += 1
            return None
        line = series(metric, labels)
        refusal = self._claims.take(metric, line)
        if refusal is not None:
            dropped[metric, refusal] += 1
            return None
        return line

    def _forget_all_but(self, current: dict[tuple[Metric, tuple[str, ...]], bytes]) -> None:
        gone = self._known.keys() - current.keys() if self._known else ()
        if gone:
            self._claims.release((key[0], self._known[key]) for key in gone)
        self._known = current
