"""A winning setting in the words of whoever has to apply it: environment lines, or a row of NCCL's tuner table.

NCCL user guide, environment variables: NCCL_SOCKET_NTHREADS (at most 16) times NCCL_NSOCKS_PERTHREAD (together at most
64) are the connections per peer of the socket transport; NCCL_IB_QPS_PER_CONNECTION (at most 128) those over RDMA.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netkit.nccl_tuner.grammar import ALGORITHMS, ANY, LARGEST, PROTOCOLS, Row
from netkit.nccl_tuner.table import written

CONNECTIONS = "connections"
"""The parameter of the socket backend: connections per peer."""
_MOST_THREADS = 4
_TABLE_PARAMETERS = frozenset({"NCCL_ALGO", "NCCL_PROTO"})


def env_form(named: Mapping[str, str]) -> str:
    """Return the lines of an environment file that set this."""
    return "".join(f"{line}\n" for name, value in named.items() for line in _lines(name, value))


def _lines(name: str, value: str) -> Iterator[str]:
    if name != CONNECTIONS:
        yield f"{name}={value}"
        return
    count = int(value)
    threads = min(count, _MOST_THREADS)
    yield f"NCCL_SOCKET_NTHREADS={threads}"
    yield f"NCCL_NSOCKS_PERTHREAD={-(-count // threads)}"
    yield f"# over RDMA: NCCL_IB_QPS_PER_CONNECTION={count}"


def csv_form(named: Mapping[str, str], collective: str = "allreduce") -> str | None:
    """Return a tuner table with this setting; None unless it names an algorithm and a protocol the plugin knows."""
    algorithm, protocol = (named.get(name, "").lower() for name in ("NCCL_ALGO", "NCCL_PROTO"))
    if algorithm not in ALGORITHMS or protocol not in PROTOCOLS or not set(named) <= _TABLE_PARAMETERS:
        return None
    row = Row(
        collective=collective, min_bytes=0, max_bytes=LARGEST, algorithm=algorithm, protocol=protocol, channels=ANY
    )
    return written([row])
