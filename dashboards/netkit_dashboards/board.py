"""What a dashboard is, before it is anybody's JSON: a question, rows, panels, queries.

The vocabulary is Grafana's (https://grafana.com/docs/grafana/latest/panels-visualizations/); sizes are columns of its
24-column grid and rows of 30 pixels. Every panel says in words what it shows, in which unit, and where to go next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

COLUMNS = 24


class Kind(StrEnum):
    """Panel types of Grafana that are used, under its own names."""

    TIME_SERIES = "timeseries"
    STAT = "stat"
    TABLE = "table"
    TEXT = "text"
    BAR_GAUGE = "bargauge"
    GAUGE = "gauge"
    HEATMAP = "heatmap"
    STATE_TIMELINE = "state-timeline"
    STATUS_HISTORY = "status-history"
    ALERT_LIST = "alertlist"


class Unit(StrEnum):
    """Units of values, under Grafana's ids."""

    BYTES_PER_SECOND = "Bps"
    BYTES = "bytes"
    SECONDS = "s"
    RATIO = "percentunit"
    PER_SECOND = "ops"
    PACKETS_PER_SECOND = "pps"
    COUNT = "short"
    NONE = "none"
    SCIENTIFIC = "sci"
    CELSIUS = "celsius"
    WATTS = "watt"


class Tone(StrEnum):
    """What a colour says; blue and orange with grey between, told apart under every common colour vision."""

    GOOD = "#3274D9"
    NEUTRAL = "#7B8087"
    WATCH = "#C9770B"
    BAD = "#B8470F"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From this value on, this tone; None is minus infinity."""

    at: float | None
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What a value means, in a word beside the colour."""

    value: float
    text: str
    tone: Tone
    below: float | None = None
    """For a range: every value from `value` to this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One PromQL expression; `legend` may name labels as `{{node}}`."""

    expr: str
    legend: str = ""
    instant: bool = False
    mirrored: bool = False
    """Drawn below zero, beside its counterpart above."""
    dashed: bool = False
    """A limit or baseline rather than a reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table: the label or `Value #<letter>` it holds, and its heading."""

    field: str
    heading: str
    unit: Unit = Unit.NONE
    words: tuple[Word, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel."""

    kind: Kind
    title: str
    """At most 40 characters, without the unit; unique within the dashboard."""
    description: str
    queries: tuple[Query, ...] = ()
    unit: Unit = Unit.NONE
    width: int = 8
    height: int = 8
    steps: tuple[Step, ...] = ()
    words: tuple[Word, ...] = ()
    columns: tuple[Column, ...] = ()
    least: float | None = None
    most: float | None = None
    decimals: int | None = None
    logarithmic: bool = False
    text: str = ""
    """Markdown of a text panel."""
    drill: str = ""
    """Uid of the dashboard a click leads to."""
    interval: str = ""
    """The least step between points, such as `1h`; the width of `$__rate_interval` follows from it."""
    healthy_empty: bool = False
    """Whether nothing to show is the good case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Panels under one heading, from left to right, wrapped at the edge."""

    title: str
    panels: tuple[Panel, ...]
    collapsed: bool = False


class Choice(StrEnum):
    """Variables a dashboard may offer, in this order."""

    CLUSTER = "cluster"
    JOB = "job"
    INSTANCE = "instance"
    NODE_POOL = "node_pool"
    NODE = "node"
    RAIL = "rail"
    DEVICE = "device"


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard; `id` is the name of its file and the end of its uid."""

    id: str
    title: str
    question: str
    """What a person on call wants to know here."""
    rows: tuple[Row, ...]
    choices: tuple[Choice, ...]
    span: str = "now-6h"

    @property
    def uid(self) -> str:
        """The uid in Grafana and in links."""
        return f"netkit-{self.id}"

    @property
    def panels(self) -> Iterator[Panel]:
        """Every panel, row by row."""
        return (panel for row in self.rows for panel in row.panels)
