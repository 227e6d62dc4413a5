"""Text from outside cannot move the cursor, hide, or pretend: hidden characters become visible escapes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.text import visible

_HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "hyperlink": "\x1b]8;;http://x\x1b\\here",
    "c1": "\x9b31m",
    "return": "fine\rEVIL",
    "bidi": "abc\u202egnp.exe",
    "zero-width": "node\u200b1",
    "byte-order-mark": "\ufeffnode",
    "newline": "a\nb",
    "line-separator": "a\u2028b",
    "surrogate": "\ud800",
    "nul": "a\x00b",
    "no-break-space": "a\u00a0b",
}


@pytest.mark.fault("J01")
@pytest.mark.parametrize("text", _HOSTILE.values(), ids=_HOSTILE.keys())
def test_hidden_characters_are_shown_as_escapes(text: str) -> None:
    """Nothing hidden survives, and something visible stands in its place."""
    shown = visible(text)
    assert shown.isprintable()
    assert "\\" in shown


@given(st.text())
def test_whatever_comes_in_what_goes_out_is_printable_on_one_line(text: str) -> None:
    """No control, format, surrogate or separator character is left."""
    assert visible(text).isprintable()


@pytest.mark.parametrize("text", ["n3", "ns/pod-7_x.y", "größe", "节点", "[/x] :smiley: [link=file:///]"])
def test_ordinary_names_are_left_alone(text: str) -> None:
    """Names in any script and markup of other programs are plain text."""
    assert visible(text) == text


def test_long_text_is_cut() -> None:
    """A name of a megabyte is not a line of a megabyte."""
    assert len(visible("x" * 1_000_000, limit=100)) == 101
