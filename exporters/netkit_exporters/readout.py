"""One number as the kernel prints it and the series it becomes; most go out exactly as they were read.

A count is decimal digits with at most one newline after them (Documentation/filesystems/sysfs.rst); what is anything
else is left out and said, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from netkit.catalogue.metrics import Metric
from netkit.model.counter import CodedText, Counter, CounterForm, Overflow
from netkit.model.counter_delta import Change, Delta, delta
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.attributes import malformed, parse_integer, parse_text
from netkit.sources.rdma import parse_coded, parse_rate
from netkit_exporters.collecting import Sample

_MOST_DIGITS = 20
_LONGEST_LABEL = 128

Conversion = Callable[[bytes, str], Sequence[Sample] | Missing]
"""Turns what was read, and where, into samples."""


@dataclass(slots=True, eq=False)
class Readout:
    """What stands at `path` becomes one sample of `metric`, or what `convert` makes of it.

    Most counters stand still most of the time, so what the last text became is kept beside it.
    """

    path: str
    metric: Metric
    labels: tuple[str, ...]
    convert: Conversion | None = None
    seen: bytes | None = None
    gave: Sequence[Sample] = ()


def read_all(
    read: Callable[[str], bytes | Missing], wanted: Iterable[Readout], samples: list[Sample], faults: list[Missing]
) -> None:
    """Read every readout in its order; each that fails costs itself alone."""
    for readout in wanted:
        data = read(readout.path)
        if data == readout.seen:
            samples += readout.gave
        elif isinstance(data, Missing):
            faults.append(data)
        else:
            take(readout, data, samples, faults)


def take(readout: Readout, data: bytes, samples: list[Sample], faults: list[Missing]) -> None:
    """Add what was read to the samples, or why not to the faults."""
    gave = _samples(readout, data)
    if isinstance(gave, Missing):
        faults.append(gave)
        return
    readout.seen, readout.gave = data, gave
    samples += gave


def _samples(readout: Readout, data: bytes) -> Sequence[Sample] | Missing:
    if readout.convert is not None:
        return readout.convert(data, readout.path)
    value = data[:-1] if data.endswith(b"\n") else data
    if value.isdigit() and len(value) <= _MOST_DIGITS:
        return (Sample(readout.metric, readout.labels, value),)
    return _no_count(data, readout.path)


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


def no_data(where: str, detail: str) -> Missing:
    """Say that the machine has no such thing."""
    return Missing(reason=Reason.ABSENT, where=where, detail=detail)
