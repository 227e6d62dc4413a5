"""Samples as text: what prometheus_client would write, byte for byte, and nothing that it would refuse to read."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client import Metric as TheirMetric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from netkit.catalogue.metrics import Kind, Metric
from netkit_exporters.collecting import Sample
from netkit_exporters.exposition import LONGEST_LABEL, Claims, Drop, Format, Writer, Written
from netkit_exporters.page import Page, Pages

BYTES_TOTAL = Metric(
    name="netkit_rx_bytes_total",
    kind=Kind.COUNTER,
    help='Data received in bytes: a "quoted" word, a \\ and a\nnew line.',
    collector="rdma",
    labels=("port", "device"),
    unit="bytes",
)
UP = Metric(name="netkit_up", kind=Kind.GAUGE, help="1 when up.", collector="link", labels=("device",))
TEMPERATURE = Metric(name="netkit_t_celsius", kind=Kind.GAUGE, help="Heat.", collector="optics", unit="celsius")

label_text = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=20).map(
    lambda text: "".join(character for character in text if character.isprintable())
)
numbers = st.one_of(
    st.integers(min_value=0, max_value=2**64),
    st.floats(min_value=0, allow_nan=False, allow_infinity=False),
)


def written(samples: Sequence[Sample]) -> Written:
    return Writer(Claims()).write(samples)


def page(samples: Sequence[Sample]) -> Page:
    return Pages().make([written(samples)])


class Theirs:
    """A collector of prometheus_client that gives the same samples."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples

    def collect(self) -> Iterable[TheirMetric]:
        for metric in sorted({sample.metric for sample in self._samples}, key=lambda metric: metric.name):
            family = {Kind.COUNTER: CounterMetricFamily, Kind.GAUGE: GaugeMetricFamily}[metric.kind]
            theirs = family(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
            for _, labels, value in (sample for sample in self._samples if sample.metric is metric):
                theirs.add_metric(labels, value)
            yield theirs


def registry(samples: Sequence[Sample]) -> CollectorRegistry:
    found = CollectorRegistry(auto_describe=False)
    found.register(Theirs(samples))
    return found


@settings(max_examples=60)
@given(
    st.dictionaries(st.tuples(label_text, label_text), numbers, min_size=1, max_size=6),
    st.dictionaries(st.tuples(label_text), st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    st.floats(min_value=-1e3, max_value=1e3),
)
def test_text_is_that_of_prometheus_client(
    counted: dict[tuple[str, str], float], measured: dict[tuple[str], float], degrees: float
) -> None:
    """Both formats agree byte for byte with the reference for every name, label and number."""
    samples = [Sample(BYTES_TOTAL, labels, value) for labels, value in counted.items()]
    samples += [Sample(UP, labels, value) for labels, value in measured.items()]
    samples += [Sample(TEMPERATURE, (), degrees)]
    theirs = registry(samples)

    assert generate_latest(theirs) == page(samples).body(Format.TEXT)
    assert generate_openmetrics(theirs) == page(samples).body(Format.OPENMETRICS)  # type: ignore[no-untyped-call]


@settings(max_examples=50)
@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_digits_pass_through_as_they_were_read(value: int) -> None:
    """Bytes are served untouched and mean the same number to a reader."""
    body = page([Sample(BYTES_TOTAL, ("1", "mlx5_0"), b"%d" % value)]).body(Format.TEXT)

    assert b'netkit_rx_bytes_total{device="mlx5_0",port="1"} %d\n' % value in body
    (family,) = text_string_to_metric_families(body.decode())
    assert [float(sample.value) for sample in family.samples] == [float(value)]


@pytest.mark.fault("B05")
@settings(max_examples=60)
@given(st.text(max_size=40) | st.just('\ud800bad\x00\n"\\') | st.just("x" * 10_000))
def test_any_label_can_be_served_and_read_back(value: str) -> None:
    """Undecodable bytes, NUL, newlines, quotes and 10 kB of text are escaped or cut the same way every time."""
    samples = [Sample(UP, (value,), 1.0)]
    body = page(samples).body(Format.TEXT)

    assert body == page(samples).body(Format.TEXT)
    (family,) = text_string_to_metric_families(body.decode("utf-8"))
    (sample,) = family.samples
    assert len(sample.labels["device"]) <= 10 * LONGEST_LABEL
    assert not re.search("[\x00-\x1f\x7f]", sample.labels["device"])


@pytest.mark.fault("B06")
@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (UP, None),
        (UP, "N/A (no PMA)"),
        (UP, math.nan),
        (UP, math.inf),
        (UP, True),
        (UP, 10**400),
        (BYTES_TOTAL, -1),
        (BYTES_TOTAL, -0.5),
    ],
)
def test_what_is_no_number_costs_its_sample_alone(metric: Metric, value: object) -> None:
    """None, text, NaN, infinities and negative counters are dropped and counted; the sample beside is served."""
    bad = Sample(metric, ("bad",) * len(metric.labels), value)  # type: ignore[arg-type]  # the point of the test
    good = Sample(UP, ("good",), 1.0)

    found = written([bad, good])

    assert found.dropped == {(metric, Drop.VALUE): 1}
    assert (found.metrics, found.lines) == ([UP], [b'netkit_up{device="good"} 1.0\n'])


@pytest.mark.fault("B06")
def test_integers_beyond_two_to_the_53_are_rounded_as_prometheus_does() -> None:
    """The text of such a number means the double that Prometheus would store."""
    body = page([Sample(BYTES_TOTAL, ("1", "a"), 2**53 + 1)]).body(Format.TEXT)
    (family,) = text_string_to_metric_families(body.decode())

    assert [sample.value for sample in family.samples] == [float(2**53 + 1)]


@pytest.mark.fault("B07")
def test_a_series_given_twice_is_served_once() -> None:
    """Within one reading and between two collectors the first giver wins, and the second is counted."""
    claims = Claims()
    first, second = Writer(claims), Writer(claims)
    sample = Sample(UP, ("mlx5_0",), 1.0)

    assert first.write([sample, sample]).dropped == {(UP, Drop.DUPLICATE): 1}
    assert second.write([sample]).dropped == {(UP, Drop.DUPLICATE): 1}
    assert first.write([sample]).lines == [b'netkit_up{device="mlx5_0"} 1.0\n']
    first.close()
    assert len(second.write([sample]).lines) == 1


@pytest.mark.fault("B08")
def test_a_family_has_a_cap_and_gone_series_make_room() -> None:
    """Label sets beyond the cap are dropped and counted; when others go, they are served."""
    claims = Claims(cap=100)
    writer = Writer(claims)

    flood = writer.write([Sample(UP, (f"pod-{number}",), 1.0) for number in range(1000)])
    assert (len(flood.lines), flood.dropped) == (100, {(UP, Drop.CAP): 900})
    later = writer.write([Sample(UP, (f"pod-{number}",), 1.0) for number in range(950, 1000)])
    assert (len(later.lines), later.dropped) == (0, {(UP, Drop.CAP): 50})
    assert len(writer.write([Sample(UP, ("pod-999",), 1.0)]).lines) == 1


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 1.5, b"7", None, -1])), max_size=4)))
def test_a_writer_that_remembers_writes_what_a_fresh_one_would(readings: list[list[tuple[str, object]]]) -> None:
    """Whatever changed since the reading before, the text is that of the samples given now."""
    writer = Writer(Claims())
    kept: dict[tuple[str, object], Sample] = {}
    for reading in readings:
        samples = [
            kept.setdefault(pair, Sample(UP, (pair[0],), pair[1]))  # type: ignore[arg-type]  # bad values are the point
            for pair in reading
        ]
        mine, fresh = writer.write(samples), written(samples)
        assert (list(mine.metrics), mine.lines, mine.dropped) == (list(fresh.metrics), fresh.lines, fresh.dropped)


def test_a_wrong_number_of_labels_is_a_bug_and_not_a_series() -> None:
    """Values in the wrong places would be a wrong series; the writer refuses."""
    with pytest.raises(ValueError, match="zip"):
        written([Sample(UP, ("a", "b"), 1.0)])


def test_bodies_are_made_once() -> None:
    """A second scrape gets the very same bytes; gzip holds the same text."""
    found = page([Sample(UP, ("a",), 1.0)])

    assert found.body(Format.TEXT) is found.body(Format.TEXT)
    assert gzip.decompress(found.body(Format.TEXT, compressed=True)) == found.body(Format.TEXT)
    assert found.body(Format.OPENMETRICS).endswith(b"# EOF\n")
