"""Colours are told apart by tired and by colour-blind people, on both themes."""

from __future__ import annotations

from itertools import combinations

import pytest

from netkit_dashboards.board import Tone
from netkit_dashboards.contrast import THEMES, VISIONS, contrast, seen
from netkit_dashboards.preview.looks import PALETTE

LEAST_DISTANCE = 0.1
"""Between two tones in linear light, of at most 1.7; grey against blue comes closest."""


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colour", [*map(str, Tone), *PALETTE])
def test_a_colour_stands_out(colour: str, theme: str) -> None:
    """At least 3 to 1 against a panel's background."""
    assert contrast(colour, THEMES[theme]) >= 3.0


def test_contrast_is_that_of_the_guidelines() -> None:
    """Black on white is 21, a colour on itself 1."""
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#3274D9", "#3274D9") == 1


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize(("one", "other"), [*combinations(Tone, 2)])
def test_tones_differ_under_every_vision(one: Tone, other: Tone, vision: str) -> None:
    """Good, neutral, watch and bad stay four colours without red, green or blue cones."""
    pairs = zip(seen(one, vision), seen(other, vision), strict=True)

    assert sum((mine - theirs) ** 2 for mine, theirs in pairs) ** 0.5 >= LEAST_DISTANCE


def test_red_and_green_would_not_pass() -> None:
    """The simulation bites: the usual pair is one colour to somebody without green cones."""
    red, green = "#E02F44", "#56A64B"
    pairs = zip(seen(red, "protanopia"), seen(green, "protanopia"), strict=True)
    apart = zip(seen(Tone.GOOD, "protanopia"), seen(Tone.BAD, "protanopia"), strict=True)

    usual = sum((mine - theirs) ** 2 for mine, theirs in pairs) ** 0.5
    assert usual < sum((mine - theirs) ** 2 for mine, theirs in apart) ** 0.5
