"""Bus bandwidth: the rate of a collective in terms of the links it runs over.

NVIDIA nccl-tests, doc/PERFORMANCE.md, defines algbw = size / time and busbw = algbw * factor; the factor of an
operation the document leaves out is the one of its `src/<operation>.cu`. Sizes follow nccl-tests: the larger of
what one rank sends and what it receives, in bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.collective import Collective


def _twice_around(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _once_around(ranks: int) -> float:
    return (ranks - 1) / ranks


def _as_is(_ranks: int) -> float:
    return 1.0


FACTORS: Mapping[Collective, Callable[[int], float]] = MappingProxyType(
    {
        Collective.ALL_REDUCE: _twice_around,
        Collective.ALL_GATHER: _once_around,
        Collective.REDUCE_SCATTER: _once_around,
        Collective.ALL_TO_ALL: _once_around,
        Collective.GATHER: _once_around,
        Collective.SCATTER: _once_around,
        Collective.BROADCAST: _as_is,
        Collective.REDUCE: _as_is,
        Collective.SENDRECV: _as_is,
        Collective.HYPERCUBE: _as_is,
    }
)


def factor(collective: Collective, ranks: int) -> float:
    """Return busbw / algbw for `ranks` participants; 0 for one rank of an operation that then moves nothing.

    Raises:
        InputError: fewer than one rank.
    """
    if ranks < 1:
        raise InputError(f"{ranks} ranks", "one rank or more")
    return FACTORS[collective](ranks)


def busbw(collective: Collective, ranks: int, size_bytes: int, seconds: float) -> float:
    """Return bus bandwidth in bytes per second of moving `size_bytes` in `seconds`.

    Raises:
        InputError: no rank, a negative size, or a time that is not a positive number.
    """
    if size_bytes < 0:
        raise InputError(f"{size_bytes} bytes", "a size of zero or more")
    if not (math.isfinite(seconds) and seconds > 0):
        raise InputError(f"{seconds} seconds", "a positive time")
    return size_bytes / seconds * factor(collective, ranks)
