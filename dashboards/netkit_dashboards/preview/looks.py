"""How a value looks by its panel's field configuration: unit, word, colour; and how single lines are told apart."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netkit_dashboards.board import Tone
from netkit_dashboards.fields import RAIL_COLOURS
from netkit_dashboards.preview.units import shown

PALETTE = (*RAIL_COLOURS, "#4E7A9E", "#9A6A4F", "#6E8B3D", "#A0689E")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A value as it is shown."""

    text: str
    colour: str


def look(value: float, config: Mapping[str, Any], unit: str | None = None) -> Look:
    """Return the look of a value: what a mapping says of it, else number, unit and threshold."""
    for mapping in config.get("mappings", ()):
        found = _mapped(value, mapping)
        if found is not None:
            return Look(text=found["text"], colour=found["color"])
    colour = str(Tone.NEUTRAL)
    for step in config.get("thresholds", {}).get("steps", ()):
        if step["value"] is None or value >= step["value"]:
            colour = step["color"]
    decimals = config.get("decimals")
    rounded = round(value, decimals) if decimals is not None and math.isfinite(value) else value
    return Look(text=shown(rounded, unit or config.get("unit", "none")), colour=colour)


def _mapped(value: float, mapping: Mapping[str, Any]) -> Mapping[str, Any] | None:
    options: Mapping[str, Any] = mapping["options"]
    if mapping["type"] == "range":
        return options["result"] if options["from"] <= value <= options["to"] else None
    found: Mapping[str, Any] | None = options.get(f"{value:g}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """How one line is drawn."""

    colour: str
    dashed: bool = False
    negative: bool = False


def strokes(named: Sequence[tuple[str, str]], overrides: Sequence[Mapping[str, Any]]) -> list[Stroke]:
    """Return the stroke of each line, given as name and letter of its query."""
    return [_stroke(name, letter, PALETTE[at % len(PALETTE)], overrides) for at, (name, letter) in enumerate(named)]


def _stroke(name: str, letter: str, colour: str, overrides: Sequence[Mapping[str, Any]]) -> Stroke:
    dashed = negative = False
    for one in overrides:
        if not _matches(one["matcher"], name, letter):
            continue
        values = {each["id"]: each["value"] for each in one["properties"]}
        colour = values.get("color", {}).get("fixedColor", colour)
        dashed = dashed or "custom.lineStyle" in values
        negative = negative or values.get("custom.transform") == "negative-Y"
    return Stroke(colour=colour, dashed=dashed, negative=negative)


def _matches(matcher: Mapping[str, str], name: str, letter: str) -> bool:
    if matcher["id"] == "byRegexp":
        return re.search(matcher["options"].strip("/"), name) is not None
    return matcher["id"] == "byFrameRefID" and matcher["options"] == letter
