"""One number as the kernel prints it and the series it becomes; most go out exactly as they were read.

A count is decimal digits with at most one newline after them (Documentation/filesystems/sysfs.rst); what is anything
else is left out and said, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from netkit.catalogue.metrics import Metric
from netkit.model.counter import CodedText, Counter, CounterForm, Overflow
from netkit.model.counter_delta import Change, Delta, delta
from netkit.model.missing import Missing
from netkit.model.text import visible
from netkit.sources.attributes import malformed, parse_integer, parse_text
from netkit.sources.kept_files import KeptFiles, Sheet
from netkit.sources.rdma import parse_coded, parse_rate
from netkit_exporters.collecting import Sample

_MOST_DIGITS = 20
_LONGEST_LABEL = 128

Conversion = Callable[[bytes, str], Sequence[Sample] | Missing]
"""Turns what was read, and where, into samples."""


@dataclass(frozen=True, slots=True)
class Readout:
    """What stands at `path` becomes one sample of `metric`, or what `convert` makes of it."""

    path: str
    metric: Metric
    labels: tuple[str, ...]
    convert: Conversion | None = None

    def samples(self, data: bytes) -> Sequence[Sample] | Missing:
        """Return what a text becomes, or why it is no value."""
        if self.convert is not None:
            return self.convert(data, self.path)
        value = data[:-1] if data.endswith(b"\n") else data
        if value.isdigit() and len(value) <= _MOST_DIGITS:
            return (Sample(self.metric, self.labels, value),)
        return _no_count(data, self.path)


class Readouts:
    """Readouts that are read together; what did not change since last time keeps the samples it gave."""

    def __init__(self, files: KeptFiles, wanted: Sequence[Readout]) -> None:
        self._wanted = wanted
        self.paths = [readout.path for readout in wanted]
        self._sheet = Sheet(files, self.paths)
        self._gave: list[Sequence[Sample]] = [()] * len(wanted)
        self._faults: dict[int, Missing] = {}
        self._samples: Sequence[Sample] = ()

    def read(self, samples: list[Sample], faults: list[Missing]) -> None:
        """Read all of them in their order; each that fails costs itself alone."""
        changed = self._sheet.read()
        for place in changed:
            self._note(place)
        if changed:
            self._samples = list(chain.from_iterable(self._gave))
        samples += self._samples
        faults += self._faults.values()

    def _note(self, place: int) -> None:
        answer = self._sheet.answers[place]
        gave = self._wanted[place].samples(answer) if isinstance(answer, bytes) else answer
        if isinstance(gave, Missing):
            self._faults[place], self._gave[place] = gave, ()
        elif gave is not None:
            self._faults.pop(place, None)
            self._gave[place] = gave


def count(data: bytes, where: str) -> int | Missing:
    """Return a count; a negative number is none."""
    number = parse_integer(data, where)
    return number if isinstance(number, Missing) or number >= 0 else malformed(data, where)


def _no_count(data: bytes, where: str) -> Missing:
    number = count(data, where)
    return number if isinstance(number, Missing) else malformed(data, where)


def label(text: str) -> str:
    """Return text fit for a label: visible, and of bounded length."""
    return visible(text, _LONGEST_LABEL)


def scaled(metric: Metric, labels: tuple[str, ...], factor: float) -> Conversion:
    """Multiply a count: words to bytes, milliseconds to seconds."""

    def convert(data: bytes, where: str) -> Sequence[Sample] | Missing:
        number = count(data, where)
        return number if isinstance(number, Missing) else (Sample(metric, labels, number * factor),)

    return convert


def sticky(metric: Metric, labels: tuple[str, ...], form: CounterForm, full: Sample) -> Conversion:
    """Give `full` beside a counter that stands at its largest value and stays there."""

    def convert(data: bytes, where: str) -> Sequence[Sample] | Missing:
        number = count(data, where)
        if isinstance(number, Missing):
            return number
        counter = Counter(name=where, raw=number, form=form)
        sample = Sample(metric, labels, float(number * form.factor))
        return (sample, full) if counter.saturated else (sample,)

    return convert


def unwrapped(metric: Metric, labels: tuple[str, ...], form: CounterForm) -> Conversion:
    """Count on past 32 bits; a reset starts from what the counter shows, so that Prometheus sees one too."""
    before: Counter | None = None
    total = 0

    def convert(data: bytes, where: str) -> Sequence[Sample] | Missing:
        nonlocal before, total
        number = count(data, where)
        if isinstance(number, Missing):
            return number
        now = Counter(name=where, raw=number, form=form)
        step = delta(before, now) if before else None
        total = total + step.amount if isinstance(step, Delta) and step.change is not Change.RESET else number
        before = now
        return (Sample(metric, labels, total),)

    return convert


def conversion(
    metric: Metric, labels: tuple[str, ...], form: CounterForm, full: Sample, unwrap: bool
) -> Conversion | None:
    """Choose what a counter of this form needs; None when it goes out as it was read."""
    if form.overflow is Overflow.STICKS:
        return sticky(metric, labels, form, full)
    if unwrap and form.bits == 32:
        return unwrapped(metric, labels, form)
    return None if form.factor == 1 else scaled(metric, labels, form.factor)


def code_of_text(metric: Metric, labels: tuple[str, ...]) -> Conversion:
    """Take the number of `4: ACTIVE`."""
    return _from_text(metric, labels, lambda shown, where: _code(parse_coded(shown, where)))


def rate_of_text(metric: Metric, labels: tuple[str, ...]) -> Conversion:
    """Take bytes per second from `400 Gb/sec (4X NDR)`."""
    return _from_text(metric, labels, lambda shown, where: parse_rate(shown, where).bytes_per_second)


def _code(coded: CodedText) -> int | Missing:
    return coded.code


def _from_text(metric: Metric, labels: tuple[str, ...], value_of: Callable[[str, str], float | Missing]) -> Conversion:
    def convert(data: bytes, where: str) -> Sequence[Sample] | Missing:
        shown = parse_text(data, where)
        value = shown if isinstance(shown, Missing) else value_of(shown, where)
        return value if isinstance(value, Missing) else (Sample(metric, labels, float(value)),)

    return convert
