"""Previews: pages from a dashboard's JSON that read as Grafana's panels do, and that nothing in the data can break."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import unquote_plus

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.catalogue.promql import any_of, quoted
from netkit.errors import InputError
from netkit_dashboards.board import Choice, Kind
from netkit_dashboards.forms import Theme
from netkit_dashboards.preview.answers import Span, asked
from netkit_dashboards.preview.pages import in_string, pages, variables
from netkit_dashboards.preview.units import shown
from netkit_dashboards.shelf import boards
from tests.dashboards.scripted_server import Asked, Reply, serving

HOSTILE = '<script>alert("x")</script>\x1b[31m'


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "none", "0"),
        (1234.5, "short", "1.23 K"),
        (2.5e6, "short", "2.5 Mil"),
        (0.1234, "percentunit", "12.3%"),
        (1, "percentunit", "100%"),
        (18.2e9, "Bps", "18.2 GB/s"),
        (999.9e6, "Bps", "1 GB/s"),
        (0, "Bps", "0 B/s"),
        (1500, "pps", "1.5 kp/s"),
        (0.25, "ops", "0.25 ops/s"),
        (0.0000421, "s", "42.1 µs"),
        (90, "s", "1.5 mins"),
        (1536, "bytes", "1.5 KiB"),
        (3.06e-8, "sci", "3.06e-08"),
        (51, "celsius", "51 °C"),
        (640, "watt", "640 W"),
        (32e9, "suffix: T/s", "32 GT/s"),
        (math.nan, "Bps", "NaN"),
        (math.inf, "s", "∞"),
    ],
)
def test_values_read_as_in_grafana(value: float, unit: str, text: str) -> None:
    """Three digits that count, and the unit."""
    assert shown(value, unit) == text


def answer(asked_for: Asked, labels: dict[str, str]) -> Reply:
    many = asked_for.path.endswith("query_range")
    points = [[1_700_000_000 + at * 60, str(at % 3)] for at in range(5)]
    one = {"metric": labels, "values": points} if many else {"metric": labels, "value": points[-1]}
    data = {"resultType": "matrix" if many else "vector", "result": [one]}
    return Reply(body=json.dumps({"status": "success", "data": data}).encode())


def test_every_board_and_every_type_of_panel_is_drawn() -> None:
    """With one series for every question, no panel is empty, and all types that boards use are covered."""
    labels = {"node": "n1", "device": "mlx5_0", "rail": "0", "severity": "critical", "alertname": "RdmaPortDown"}
    with serving(lambda one: answer(one, labels)) as server:
        made = pages(server.url, "1h", {}, Theme.LIGHT)

    assert made.keys() == {f"{board.uid}.html" for board in boards()}
    for page in made.values():
        assert "no data" not in page
        assert "could not ask" not in page
        assert "<script" not in page
    assert {panel.kind for board in boards() for panel in board.panels} >= {
        Kind.TIME_SERIES,
        Kind.HEATMAP,
        Kind.BAR_GAUGE,
        Kind.ALERT_LIST,
        Kind.STATE_TIMELINE,
        Kind.STATUS_HISTORY,
    }


def test_the_list_of_alerts_is_narrowed_too() -> None:
    """The choice of a cluster holds for what fires in it."""
    asked_for: list[str] = []

    def answered(one: Asked) -> Reply:
        asked_for.append(unquote_plus(one.body.decode()))
        return answer(one, {"severity": "critical", "alertname": "RdmaPortDown"})

    with serving(answered) as server:
        pages(server.url, "1h", {"cluster": "c1"}, Theme.LIGHT)

    lists = [text for text in asked_for if text.startswith('query=ALERTS{alertstate="firing"')]
    assert lists
    assert all('cluster=~"c1"' in text for text in lists)


def test_nothing_there_is_said_and_never_zero() -> None:
    """Without series a panel says that it has no data, or that none is the good case; it shows no number."""
    empty = Reply(body=b'{"status":"success","data":{"resultType":"matrix","result":[]}}')
    with serving(lambda _: empty) as server:
        page = pages(server.url, "1h", {}, Theme.DARK)["netkit-fabric.html"]

    assert "no data" in page
    assert 'class="stat"' not in page


@pytest.mark.fault("J09")
def test_labels_with_markup_are_text() -> None:
    """What series are called cannot become part of the page."""
    labels = dict.fromkeys(("node", "device", "rail", "alertname", "probe", "collector"), HOSTILE)
    with serving(lambda one: answer(one, {**labels, "severity": "critical"})) as server:
        made = pages(server.url, "1h", {}, Theme.AUTO)

    for page in made.values():
        assert "<script" not in page
        assert "\x1b" not in page


@pytest.mark.parametrize(
    ("span", "named", "said"),
    [("1s", {}, "--span 1s"), ("soon", {}, "--span soon"), ("", {"host": "n1"}, "--variable host")],
)
def test_wrong_choices_are_one_line(span: str, named: dict[str, str], said: str) -> None:
    """With what is accepted."""
    with pytest.raises(InputError, match=re.escape(said)):
        pages("http://127.0.0.1:9", span, named, Theme.AUTO)


@pytest.mark.fault("J10")
@given(st.text(min_size=1, max_size=40))
def test_any_label_value_survives_as_a_matcher(value: str) -> None:
    """Quotes, backslashes, line breaks, regex signs: quoted, parsed again by a PromQL parser, the same value."""
    parsed: Any = promql_parser.parse(f"up{{node={quoted(value)}}}")

    assert parsed.matchers.matchers[0].value == value


@pytest.mark.fault("J10")
@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=20))
def test_a_value_as_a_regular_expression_matches_itself_alone(value: str) -> None:
    """What a variable holds is matched literally, inside a quoted string inside an expression."""
    pattern = any_of([value])

    assert re.fullmatch(pattern, value)
    assert not re.fullmatch(pattern, value + "x")
    if "," not in value and "\n" not in value and "\r" not in value:
        inside = in_string(any_of([value]))
        parsed: Any = promql_parser.parse(f'up{{node=~"{inside}"}}')
        assert parsed.matchers.matchers[0].value == pattern


def test_a_choice_narrows_every_selector() -> None:
    """A node with signs of regular expressions in its name is itself and nothing else."""
    board = next(one for one in boards() if Choice.NODE in one.choices)
    found = variables(board, {"node": "n1.rack+2"})

    assert found["node"] == "n1\\\\.rack\\\\+2"
    assert found["job"] == ".+"


def test_windows_follow_the_step() -> None:
    """`$__rate_interval` holds four scrapes at least, and one step more than a step."""
    span = Span(start=0, end=3600)

    assert asked("rate(x[$__rate_interval])", {}, 15, span) == "rate(x[1m])"
    assert asked("rate(x[$__rate_interval])", {}, 300, span) == "rate(x[5m15s])"
    assert asked('x{a=~"$node",b="${node}"}', {"node": "n1"}, 15, span) == 'x{a=~"n1",b="n1"}'
    assert asked("x[$__range]", {}, 15, span) == "x[1h]"
