"""Samples as lines of the exposition formats, with everything that does not change from reading to reading kept.

Text 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/; OpenMetrics 1.0:
https://prometheus.io/docs/specs/om/open_metrics_spec/. Sample lines are the same in both, only the heads of families
differ, so a line is written once for both. What prometheus_client would write is the reference, byte for byte.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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


_Key = tuple[Metric, tuple[str, ...]]


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
    """One reading as text: the line of each series beside its family, and what was dropped from which."""

    metrics: Sequence[Metric] = ()
    lines: Sequence[bytes] = ()
    dropped: Mapping[tuple[Metric, Drop], int] = field(default_factory=dict)


NOTHING = Written()


class Writer:
    """Writes the readings of one target; used by one thread at a time.

    A target gives the same series again and again, and most of them with the same value: as long as it does, a sample
    that is the very object of last time costs a comparison, and one with a new value costs joining three pieces.
    """

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._known: dict[_Key, bytes] = {}
        self._last: Sequence[Sample] | None = None
        self._starts: list[bytes] = []
        self._written = NOTHING

    def write(self, samples: Sequence[Sample]) -> Written:
        """Return the samples as text."""
        return self._updated(samples) or self._rewritten(samples)

    def close(self) -> None:
        """Give every series back."""
        self._forget_all_but({})

    def _updated(self, samples: Sequence[Sample]) -> Written | None:
        """Write what changed; None when the series are others than last time, or one of them cannot be served."""
        if self._last is None or len(samples) != len(self._last):
            return None
        if samples == self._last:
            return self._written
        lines = list(self._written.lines)
        for index, (new, old) in enumerate(zip(samples, self._last, strict=True)):
            if new is old:
                continue
            metric, labels, value = new
            if metric is not old[0] or labels != old[1]:
                return None
            text = value if type(value) is bytes else written(metric, value)
            if text is None:
                return None
            lines[index] = b"%b%b\n" % (self._starts[index], text)
        self._last = samples
        self._written = Written(metrics=self._written.metrics, lines=lines)
        return self._written

    def _rewritten(self, samples: Sequence[Sample]) -> Written:
        """Write every sample anew, and claim the series that are new."""
        current: dict[_Key, bytes] = {}
        metrics: list[Metric] = []
        lines: list[bytes] = []
        dropped: Counter[tuple[Metric, Drop]] = Counter()
        for metric, labels, value in samples:
            start = self._claimed((metric, labels), current)
            text = written(metric, value)
            if isinstance(start, Drop) or text is None:
                dropped[metric, start if isinstance(start, Drop) else Drop.VALUE] += 1
                continue
            metrics.append(metric)
            lines.append(b"%b%b\n" % (start, text))
        self._forget_all_but(current)
        self._written = Written(metrics=metrics, lines=lines, dropped=dropped)
        self._last, self._starts = (None, []) if dropped else (samples, list(current.values()))
        return self._written

    def _claimed(self, key: _Key, current: dict[_Key, bytes]) -> bytes | Drop:
        """Return the start of a series' line, or why it may not be served."""
        if key in current:
            return Drop.DUPLICATE
        start = self._known.get(key)
        if start is None:
            if self._claims.is_full(key[0]):
                return Drop.CAP
            start = series(*key)
            refusal = self._claims.take(key[0], start)
            if refusal is not None:
                return refusal
        current[key] = start
        return start

    def _forget_all_but(self, current: dict[_Key, bytes]) -> None:
        gone = self._known.keys() - current.keys() if self._known else ()
        if gone:
            self._claims.release((key[0], self._known[key]) for key in gone)
        self._known = current
