"""Between two readings: growth, wraps, resets, and counters that are full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.counter import Counter, CounterForm, Overflow
from netkit.model.counter_delta import Change, Delta, delta
from netkit.model.missing import Missing, Reason
from netkit.sources.counters import hw_form, port_form

_MLX5 = hw_form("rx_write_requests", "mlx5_core")


def reading(raw: int | Missing, form: CounterForm) -> Counter:
    return Counter(name="counter", raw=raw, form=form)


@pytest.mark.fault("C08")
@pytest.mark.parametrize("form", [port_form("port_rcv_packets"), port_form("link_downed"), CounterForm()])
def test_a_counter_that_goes_back_was_reset(form: CounterForm) -> None:
    """What it shows now was counted since; a difference is never negative."""
    assert delta(reading(100, form), reading(40, form)) == Delta(amount=40, change=Change.RESET)


@pytest.mark.fault("C09")
def test_a_documented_32_bit_counter_goes_round() -> None:
    """mlx5 queue counters are 32 bits in firmware."""
    found = delta(reading(2**32 - 10, _MLX5), reading(5, _MLX5))
    assert found == Delta(amount=15, change=Change.WRAPPED)


@pytest.mark.fault("C09")
def test_the_long_way_round_is_a_reset() -> None:
    """From 1,000 to 10 is a driver reload, not four billion events."""
    assert delta(reading(1000, _MLX5), reading(10, _MLX5)) == Delta(amount=10, change=Change.RESET)


@pytest.mark.fault("C09")
def test_the_same_name_of_another_driver_does_not_wrap() -> None:
    """Widths are documented per driver."""
    form = hw_form("out_of_sequence", "bnxt_en")
    assert delta(reading(2**32 - 10, form), reading(5, form)) == Delta(amount=5, change=Change.RESET)


@pytest.mark.fault("C09")
@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("link_downed", 255),
        ("symbol_error", 65535),
        ("excessive_buffer_overrun_errors", 15),
        ("port_xmit_wait", 2**32 - 1),
    ],
)
def test_a_full_error_counter_says_so(name: str, full: int) -> None:
    """A counter that sticks is flagged when full, and two full readings say nothing about now."""
    form = port_form(name)
    assert reading(full, form).saturated
    assert not reading(full - 1, form).saturated
    stuck = delta(reading(full, form), reading(full, form))
    assert isinstance(stuck, Missing)
    assert stuck.reason is Reason.STALE
    assert delta(reading(full - 3, form), reading(full, form)) == Delta(amount=3, change=Change.FILLED)


@pytest.mark.fault("C10")
def test_the_difference_is_in_bytes_once() -> None:
    """Ten words are forty bytes."""
    form = port_form("port_rcv_data")
    assert delta(reading(5, form), reading(15, form)) == Delta(amount=40, change=Change.GREW)


def test_a_reading_that_is_missing_makes_the_difference_missing() -> None:
    """Nothing is assumed about a counter that could not be read."""
    gone = Missing(reason=Reason.TIMEOUT, where="x", detail="EIO")
    assert delta(reading(gone, CounterForm()), reading(5, CounterForm())) == gone
    assert delta(reading(5, CounterForm()), reading(gone, CounterForm())) == gone


@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
    st.sampled_from([4, 8, 16, 32, 64, None]),
    st.sampled_from(Overflow),
)
def test_a_difference_is_never_negative(old: int, new: int, bits: int | None, overflow: Overflow) -> None:
    """Whatever two readings are, time does not run backwards."""
    form = CounterForm(bits=bits, overflow=overflow)
    found = delta(reading(old, form), reading(new, form))
    assert isinstance(found, Missing) or found.amount >= 0


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**31 - 1))
def test_a_wrapping_counter_gives_back_what_was_counted(old: int, counted: int) -> None:
    """Below half a turn, the amount is exact wherever the counter stood."""
    found = delta(reading(old, _MLX5), reading((old + counted) % 2**32, _MLX5))
    assert isinstance(found, Delta)
    assert found.amount == counted
