"""How well a colour stands out: relative luminance and contrast of WCAG 2.1, and three kinds of colour vision.

https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio; the simulation is Viénot, Brettel and Mollon 1999 for missing red and
green cones, and its blue counterpart, on linear RGB.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

THEMES: Mapping[str, str] = MappingProxyType({"dark": "#181B1F", "light": "#FFFFFF"})
"""Background of a panel in Grafana's themes."""
Rgb = tuple[float, float, float]
Matrix = tuple[Rgb, Rgb, Rgb]
VISIONS: Mapping[str, Matrix] = MappingProxyType(
    {
        "protanopia": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
        "deuteranopia": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
        "tritanopia": ((1.0, 0.14461, -0.14461), (0.0, 0.85924, 0.14076), (0.0, 0.85924, 0.14076)),
    }
)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21."""
    darker, lighter = sorted((_luminance(linear(one)), _luminance(linear(other))))
    return (lighter + 0.05) / (darker + 0.05)


def linear(colour: str) -> Rgb:
    """Return `#rrggbb` as linear light, 0 to 1."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def seen(colour: str, vision: str) -> Rgb:
    """Return a colour as somebody with that vision sees it, in linear light."""
    light = linear(colour)
    first, second, third = (sum(a * b for a, b in zip(row, light, strict=True)) for row in VISIONS[vision])
    return first, second, third


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def _luminance(light: Rgb) -> float:
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
