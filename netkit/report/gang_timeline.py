"""The timeline of a gang as blocks and as JSON (`netkit.gang-timeline/1`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netkit.gangs.timeline import Moment
from netkit.model.gang import Gang
from netkit.report.blocks import Banner, Block, Heading, Prose, Tone
from netkit.report.gangs_json import dump

SCHEMA = "netkit.gang-timeline/1"


def render(gang: Gang, moments: Sequence[Moment]) -> str:
    """Return the timeline as one JSON object, ending in a newline."""
    return dump({"schema": SCHEMA, "namespace": gang.namespace, "name": gang.name, "moments": [*map(_row, moments)]})


def render_lines(moments: Sequence[Moment]) -> str:
    """Return one JSON object a moment and line."""
    return "".join(dump({"schema": SCHEMA} | _row(moment), one_line=True) for moment in moments)


def _row(moment: Moment) -> dict[str, Any]:
    return {
        "at": moment.at or None,
        "object": moment.object,
        "what": moment.what,
        "words": moment.words,
        "count": moment.count,
        "warning": moment.warning,
    }


def blocks(gang: Gang, moments: Sequence[Moment]) -> tuple[Block, ...]:
    """Return the timeline, a day a heading, a moment a line."""
    warnings = sum(moment.warning for moment in moments)
    text = f"{gang.key}: {len(moments)} moments, {warnings} warnings"
    parts: list[Block] = [Banner(word="TIMELINE", text=text, tone=Tone.WARN if warnings else Tone.GOOD)]
    day = None
    for moment in moments:
        date, _, clock = moment.at.partition("T")
        if date != day:
            parts.append(Heading(text=date or "time not told"))
            day = date
        parts.append(_line(moment, clock[:8]))
    return tuple(parts)


def _line(moment: Moment, clock: str) -> Prose:
    times = f" ({moment.count} times)" if moment.count > 1 else ""
    words = f": {moment.words}" if moment.words else ""
    text = f"{clock or '-'} {moment.object} {moment.what}{times}{words}"
    return Prose(text=text, tone=Tone.WARN if moment.warning else Tone.PLAIN, indent=2)
