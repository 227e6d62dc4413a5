"""Every dashboard as a page."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from netkit.catalogue.promql import any_of
from netkit.errors import InputError
from netkit.sources.prometheus import Prometheus
from netkit_dashboards.board import Board, Choice
from netkit_dashboards.finalise import dashboard
from netkit_dashboards.forms import Theme
from netkit_dashboards.preview.answers import Span, seconds
from netkit_dashboards.preview.page import page
from netkit_dashboards.shelf import boards

_MOST_SECONDS = 30 * 86_400


def pages(url: str, span: str, named: Mapping[str, str], theme: Theme) -> dict[str, str]:
    """Return the page of each dashboard by file name; SourceError when Prometheus does not answer at all."""
    unknown = sorted(set(named) - set(Choice))
    if unknown:
        raise InputError(f"--variable {unknown[0]}", f"one of {', '.join(Choice)}")
    back = seconds(span)
    if span and not 60 <= back <= _MOST_SECONDS:
        raise InputError(f"--span {span}", "a duration from 1m to 30d, such as 6h")
    source = Prometheus(url)
    end = time.time()
    source.instant("vector(1)", end)
    found = {}
    for board in boards():
        reach = Span(start=end - (back or seconds(board.span)), end=end)
        document = json.loads(json.dumps(dashboard(board)))
        found[f"{board.uid}.html"] = page(document, source, variables(board, named), reach, theme)
    return found


def variables(board: Board, named: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each variable as it stands inside a PromQL string: a literal choice, or everything."""
    everything = {str(one): ".+" if one in (Choice.JOB, Choice.INSTANCE) else ".*" for one in board.choices}
    chosen = {name: in_string(any_of(value.split(","))) for name, value in named.items() if name in everything}
    return everything | chosen


def in_string(pattern: str) -> str:
    """Return a regular expression escaped once more, for inside a double-quoted PromQL string."""
    return pattern.replace("\\", "\\\\").replace('"', '\\"')
