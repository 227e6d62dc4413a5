"""Panels with a time axis, as SVG: lines, states over time, heat maps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from netkit_dashboards.preview.answers import Line, Span
from netkit_dashboards.preview.axes import log_ticks, time_ticks, value_ticks
from netkit_dashboards.preview.looks import Stroke, look, strokes
from netkit_dashboards.preview.units import shown

_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 20, 8, 20
_PER_TIME = 90
_NAME_WIDTH = 150
_NAME_LETTERS = 24
_HEAT = "#C9770B"


class Frame:
    """Where a chart's values stand on its paper, in pixels."""

    def __init__(self, width: int, height: int, span: Span, left: int = _LEFT) -> None:
        self.left, self.right = left, width - _RIGHT
        self.top, self.bottom = _TOP, height - _BOTTOM
        self._span = span
        self._size = (width, height)

    def x(self, at: float) -> float:
        """Return the place of a time."""
        share = (at - self._span.start) / (self._span.end - self._span.start)
        return self.left + share * (self.right - self.left)

    def drawn(self, inside: str) -> str:
        """Return the picture, with the time axis."""
        ticks = time_ticks(self._span.start, self._span.end, max(2, (self.right - self.left) // _PER_TIME))
        times = "".join(
            f'<line class="grid" x1="{self.x(at):.1f}" x2="{self.x(at):.1f}" y1="{self.top}" y2="{self.bottom}"/>'
            f'<text class="tick" x="{self.x(at):.1f}" y="{self.bottom + 14}" text-anchor="middle">{text}</text>'
            for at, text in ticks
        )
        width, height = self._size
        return f'<svg viewBox="0 0 {width} {height}" role="img">{times}{inside}</svg>'


def time_series(panel: Mapping[str, Any], lines: Sequence[Line], span: Span, width: int, height: int) -> str:
    """Return lines over time with their legend."""
    config = panel["fieldConfig"]["defaults"]
    if panel["options"]["legend"].get("sortDesc"):
        lines = sorted(lines, key=_last, reverse=True)
    drawn = strokes([(line.name, line.letter) for line in lines], panel["fieldConfig"]["overrides"])
    frame = Frame(width, height, span)
    scale = _Scale(frame, config, [_signed(line, stroke) for line, stroke in zip(lines, drawn, strict=True)])
    paths = "".join(_path(line, stroke, frame, scale) for line, stroke in zip(lines, drawn, strict=True))
    return frame.drawn(scale.axis(config["unit"]) + paths) + _legend(panel, lines, drawn)


def _signed(line: Line, stroke: Stroke) -> list[float]:
    return [-value if stroke.negative else value for _, value in line.answer.points if math.isfinite(value)]


class _Scale:
    """The value axis, linear or logarithmic."""

    def __init__(self, frame: Frame, config: Mapping[str, Any], columns: list[list[float]]) -> None:
        values = [value for column in columns for value in column]
        self._log = config["custom"]["scaleDistribution"]["type"] == "log"
        self._frame = frame
        if self._log:
            above = [value for value in values if value > 0] or [1e-12, 1.0]
            self.ticks = log_ticks(min(above), max(above))
        else:
            low = min([*values, config.get("min", min(values, default=0.0))], default=0.0)
            high = max([*values, config.get("max", -math.inf), low])
            self.ticks = value_ticks(low, high if high > low else low + 1)

    def y(self, value: float) -> float:
        """Return the place of a value."""
        low, high, value = (self._flat(one) for one in (self.ticks[0], self.ticks[-1], value))
        return self._frame.bottom - (value - low) / (high - low) * (self._frame.bottom - self._frame.top)

    def _flat(self, value: float) -> float:
        return math.log10(max(value, self.ticks[0])) if self._log else value

    def axis(self, unit: str) -> str:
        """Return the axis: a line and a value at every tick; what is below zero is written as what it mirrors."""
        mirrored = not self._log and self.ticks[0] < 0
        return "".join(
            f'<line class="grid" x1="{self._frame.left}" x2="{self._frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{self._frame.left - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
            for y, text in ((self.y(one), shown(abs(one) if mirrored else one, unit)) for one in self.ticks)
        )


def _path(line: Line, stroke: Stroke, frame: Frame, scale: _Scale) -> str:
    dash = ' stroke-dasharray="7 5"' if stroke.dashed else ""
    sign = -1 if stroke.negative else 1
    points = "".join(_moves(line.answer.points, frame, scale, sign))
    return f'<path class="line" d="{points}" stroke="{stroke.colour}"{dash}><title>{escape(line.name)}</title></path>'


def _moves(points: Sequence[tuple[float, float]], frame: Frame, scale: _Scale, sign: int) -> Iterator[str]:
    """Yield the strokes of a path; a gap in time or a value that is no number lifts the pen."""
    usual = min((after[0] - before[0] for before, after in pairwise(points)), default=0.0)
    before = -math.inf
    for at, value in points:
        if not math.isfinite(value):
            before = -math.inf
            continue
        pen = "L" if at - before <= usual * 1.5 else "M"
        yield f"{pen}{frame.x(at):.1f} {scale.y(sign * value):.1f}"
        if pen == "M":
            yield "h0.1"
        before = at


def _legend(panel: Mapping[str, Any], lines: Sequence[Line], drawn: Sequence[Stroke]) -> str:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    names = [
        f'<i style="background:{stroke.colour}"></i>{escape(line.name)}'
        for line, stroke in zip(lines, drawn, strict=True)
    ]
    if panel["options"]["legend"]["displayMode"] != "table":
        return f'<ul class="legend">{"".join(f"<li>{name}</li>" for name in names)}</ul>'
    rows = "".join(
        f"<tr><td>{name}</td><td>{escape(shown(_last(line), unit))}</td>"
        f"<td>{escape(shown(_largest(line), unit))}</td></tr>"
        for line, name in zip(lines, names, strict=True)
    )
    return f'<div class="key"><table class="legend"><tr><th></th><th>Last</th><th>Max</th></tr>{rows}</table></div>'


def _last(line: Line) -> float:
    return next((value for _, value in reversed(line.answer.points) if math.isfinite(value)), math.nan)


def _largest(line: Line) -> float:
    return max((value for _, value in line.answer.points if math.isfinite(value)), default=math.nan)


def bands(panel: Mapping[str, Any], lines: Sequence[Line], span: Span, width: int, height: int) -> str:
    """Return states over time: a band for each series, a word in every stretch wide enough for it."""
    frame = Frame(width, height, span, left=_NAME_WIDTH)
    config = panel["fieldConfig"]["defaults"]
    each = (frame.bottom - frame.top) / max(1, len(lines))
    rows = "".join(
        _band(line, config, frame, frame.top + at * each, min(each - 2, 30)) for at, line in enumerate(lines)
    )
    return frame.drawn(rows)


def _band(line: Line, config: Mapping[str, Any], frame: Frame, top: float, height: float) -> str:
    middle = top + height / 2 + 4
    parts = [_name(line.name, frame, middle)]
    for start, end, value in _stretches(line.answer.points):
        seen = look(value, config)
        left, wide = frame.x(start), max(1.0, frame.x(end) - frame.x(start) - 0.5)
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{height:.1f}" fill="{seen.colour}">'
            f"<title>{escape(line.name)}: {escape(seen.text)}</title></rect>"
        )
        if wide > 8 * len(seen.text):
            parts.append(f'<text class="word" x="{left + 5:.1f}" y="{middle:.1f}">{escape(seen.text)}</text>')
    return "".join(parts)


def _name(name: str, frame: Frame, y: float) -> str:
    cut = name if len(name) <= _NAME_LETTERS else name[: _NAME_LETTERS - 1] + "…"
    place = f'x="{frame.left - 6}" y="{y:.1f}" text-anchor="end"'
    return f'<text class="tick" {place}>{escape(cut)}<title>{escape(name)}</title></text>'


def _stretches(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float, float]]:
    """Yield start, end and value of each stretch of time with one value."""
    if not points:
        return
    usual = min((after[0] - before[0] for before, after in pairwise(points)), default=60.0)
    start, before, value = points[0][0], points[0][0], points[0][1]
    for at, now in points[1:]:
        if now != value or at - before > usual * 1.5:
            yield start, before + usual if at - before > usual * 1.5 else at, value
            start, value = at, now
        before = at
    yield start, before + usual, value


def heat_map(panel: Mapping[str, Any], lines: Sequence[Line], span: Span, width: int, height: int) -> str:
    """Return a row of cells for each series, the fuller the higher the value, with the scale in words below."""
    frame = Frame(width, height, span, left=_NAME_WIDTH)
    unit = panel["options"]["cellValues"]["unit"]
    highest = max((value for line in lines for _, value in line.answer.points if math.isfinite(value)), default=0.0)
    each = (frame.bottom - frame.top) / max(1, len(lines))
    cells = []
    for at, line in enumerate(lines):
        top = frame.top + at * each
        cells.append(_name(line.name, frame, top + each / 2 + 4))
        for start, end, value in _stretches(line.answer.points):
            strength = 0.0 if not highest or not math.isfinite(value) else math.sqrt(max(0.0, value / highest))
            cells.append(
                f'<rect x="{frame.x(start):.1f}" y="{top:.1f}" width="{max(1.0, frame.x(end) - frame.x(start)):.1f}"'
                f' height="{max(1.0, each - 1):.1f}" fill="{_HEAT}" fill-opacity="{0.06 + 0.94 * strength:.2f}">'
                f"<title>{escape(line.name)}: {escape(shown(value, unit))}</title></rect>"
            )
    words = f'<p class="scale">faint: 0 · full: {escape(shown(highest, unit))}</p>'
    return frame.drawn("".join(cells)) + words
