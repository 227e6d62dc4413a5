"""Variables of the dashboards: a data source, then ever narrower choices of what to look at."""

from __future__ import annotations

from collections.abc import Mapping

from netkit.catalogue.metric_rows import rdma
from netkit.catalogue.neighbours import UP
from netkit.catalogue.promql import Series, select
from netkit_dashboards.board import Choice

SOURCE = "${datasource}"
_LABELS: Mapping[Choice, str] = {
    Choice.CLUSTER: "Cluster",
    Choice.JOB: "Job",
    Choice.INSTANCE: "Instance",
    Choice.NODE_POOL: "Node pool",
    Choice.NODE: "Node",
    Choice.RAIL: "Rail",
    Choice.DEVICE: "Device",
}
_OF_DEVICES = (Choice.RAIL, Choice.DEVICE)


def queries_of(choice: Choice, offered: tuple[Choice, ...]) -> tuple[str, str]:
    """Return the heading of a variable, and the query of its values, narrowed by the variables before it."""
    series: Series = rdma.PORT_INFO if choice in _OF_DEVICES else UP
    before = {str(one): f"${one}" for one in offered[: offered.index(choice)]}
    return _LABELS[choice], f"label_values({select(series, like=before or {'job': '.+'})}, {choice})"


def chosen(series: Series, *narrowed: Choice, **equal: str) -> str:
    """Return a selector of what the variables choose; job and instance always, so that a click narrows every panel."""
    like = {str(choice): f"${choice}" for choice in (Choice.CLUSTER, Choice.JOB, Choice.INSTANCE, *narrowed)}
    return select(series, equal, like)
