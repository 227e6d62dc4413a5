"""Bus bandwidth is the doc's factor times size over time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.collective import Collective
from netkit.probe.busbw import busbw, factor

# The machine is shared: an example may wait for its turn.
PATIENT = settings(deadline=None)


@pytest.mark.parametrize(
    ("collective", "ranks", "expected"),
    [
        (Collective.ALL_REDUCE, 2, 1.0),
        (Collective.ALL_REDUCE, 8, 1.75),
        (Collective.ALL_REDUCE, 16, 1.875),
        (Collective.ALL_GATHER, 8, 0.875),
        (Collective.REDUCE_SCATTER, 8, 0.875),
        (Collective.ALL_TO_ALL, 8, 0.875),
        (Collective.GATHER, 4, 0.75),
        (Collective.SCATTER, 4, 0.75),
        (Collective.BROADCAST, 512, 1.0),
        (Collective.REDUCE, 512, 1.0),
        (Collective.SENDRECV, 512, 1.0),
        (Collective.HYPERCUBE, 8, 1.0),
        (Collective.ALL_REDUCE, 1, 0.0),
    ],
)
def test_factor_is_the_documented_one(collective: Collective, ranks: int, expected: float) -> None:
    """Each operation has the factor of PERFORMANCE.md or of its source."""
    assert factor(collective, ranks) == pytest.approx(expected)


def test_published_example_is_reproduced() -> None:
    """An 8 GiB all-reduce over 8 ranks in 63.896 ms, published as 235.26 GB/s, comes out as that."""
    assert busbw(Collective.ALL_REDUCE, 8, 8589934592, 63896e-6) == pytest.approx(235.26e9, rel=1e-4)


@PATIENT
@given(st.sampled_from(Collective), st.integers(2, 20_000), st.integers(0, 2**40), st.floats(1e-7, 1e4))
def test_busbw_is_bounded_and_proportional_to_size(
    collective: Collective, ranks: int, size: int, seconds: float
) -> None:
    """Between nothing and twice algbw, and double the size in the same time is double the rate."""
    rate = busbw(collective, ranks, size, seconds)

    assert 0 <= rate <= 2 * size / seconds
    assert busbw(collective, ranks, 2 * size, seconds) == pytest.approx(2 * rate)


@pytest.mark.parametrize(
    ("ranks", "size", "seconds"), [(0, 8, 1.0), (-1, 8, 1.0), (2, -1, 1.0), (2, 8, 0.0), (2, 8, math.nan)]
)
def test_nonsense_is_refused(ranks: int, size: int, seconds: float) -> None:
    """No rank, negative size, no time: an error in one line, never a number."""
    with pytest.raises(InputError, match="accepted is"):
        busbw(Collective.ALL_REDUCE, ranks, size, seconds)
