"""Sizes, rates, durations and fractions: what is accepted is exact, everything else is one clear line."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model import units


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("8", 8),
        ("8B", 8),
        ("8K", 8 * 1024),
        ("8G", 8 * 1024**3),
        ("8GiB", 8 * 1024**3),
        ("8 GiB", 8 * 1024**3),
        ("8GB", 8 * 1000**3),
        ("1.5k", 1536),
    ],
)
def test_sizes_follow_nccl_tests_and_tell_gb_from_gib(text: str, size_bytes: int) -> None:
    """`8G` is what nccl-tests means by it; `8GB` is decimal."""
    assert units.parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    [("200mbit", 25e6), ("400gbit", 50e9), ("1 Gbit/s", 125e6), ("50GB/s", 50e9), ("1GiB/s", 1024**3), ("8bit", 1)],
)
def test_rates_are_bits_when_they_say_bit(text: str, bytes_per_second: float) -> None:
    """Links are sold in bits, bandwidth is measured in bytes; the unit decides."""
    assert units.parse_rate_bytes_per_second(text) == pytest.approx(bytes_per_second)


@pytest.mark.fault("I14")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "0",
        "1e400",
        "4 4GB",
        "4XB",
        "GB",
        "nan",
        "inf",
        "1,5G",
        "0x10",
        "4GB ; rm",
        "\uff19G",
        "1" * 400,
        "\x1b[31m4G",
    ],
)
@pytest.mark.parametrize(
    ("parse", "forms"),
    [
        (units.parse_size_bytes, units.SIZE_FORMS),
        (units.parse_rate_bytes_per_second, units.RATE_FORMS),
        (units.parse_duration_seconds, units.DURATION_FORMS),
        (units.parse_fraction, units.FRACTION_FORMS),
    ],
)
def test_a_quantity_that_is_none_is_refused_in_one_line_with_the_accepted_forms(
    text: str, parse: units.Parser, forms: str
) -> None:
    """What was given is shown without its control characters, and what is accepted stands beside it."""
    with pytest.raises(InputError) as caught:
        parse(text)
    line = str(caught.value)
    assert forms in line
    assert "\x1b" not in line
    assert "\n" not in line


@given(st.text(max_size=40))
def test_no_text_makes_a_parser_raise_anything_else(text: str) -> None:
    """A quantity is a positive number or an InputError."""
    for parse in (
        units.parse_size_bytes,
        units.parse_rate_bytes_per_second,
        units.parse_duration_seconds,
        units.parse_fraction,
    ):
        with suppress(InputError):
            assert parse(text) > 0


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.show_size(8 * 1024**3), "8 GiB"),
        (units.show_size(1000), "1000 B"),
        (units.show_rate(48.7e9), "48.7 GB/s"),
        (units.show_rate(0), "0 B/s"),
        (units.show_line_rate(25e6), "200 Mbit/s"),
        (units.show_line_rate(50e9), "400 Gbit/s"),
        (units.show_line_rate(24.9996e6), "200 Mbit/s"),
        (units.show_percent(0.204), "20%"),
        (units.show_percent(0.0625), "6.2%"),
        (units.show_duration(12.34), "12.3s"),
        (units.show_duration(75), "1m15s"),
    ],
)
def test_what_is_shown_has_the_fields_units(shown: str, expected: str) -> None:
    """Three digits, the unit people know."""
    assert shown == expected
