"""What a sweep may set: parameters with their values, the first of which is what runs today."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from netkit.errors import InputError
from netkit.model.text import visible

Setting = tuple[str, ...]
"""One value for each parameter, in the order of the space."""
MOST_VALUES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter and its values; the first is the baseline's."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """All settings of a sweep."""

    parameters: tuple[Parameter, ...]

    @property
    def baseline(self) -> Setting:
        """What every other setting is compared with."""
        return tuple(one.values[0] for one in self.parameters)

    @property
    def candidates(self) -> Iterator[Setting]:
        """Every setting but the baseline."""
        return (one for one in product(*(each.values for each in self.parameters)) if one != self.baseline)

    def named(self, setting: Setting) -> dict[str, str]:
        """Return the value of each parameter by its name."""
        return {one.name: value for one, value in zip(self.parameters, setting, strict=True)}


def parse_space(texts: Sequence[str]) -> Space:
    """Return the space of texts such as `connections=1,2,4`; InputError for what names none."""
    found = tuple(_parameter(text) for text in texts)
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"parameter {twice} twice", "all of its values in one --param")
    if not found:
        raise InputError("a sweep without a parameter", "--param NAME=TODAY,OTHER,…")
    return Space(parameters=found)


def _parameter(text: str) -> Parameter:
    name, _, listed = text.partition("=")
    values = tuple(listed.split(","))
    sound = name.isidentifier() and name.isascii() and all(values) and len(set(values)) == len(values)
    if not sound or not 2 <= len(values) <= MOST_VALUES:
        accepted = f"NAME=TODAY,OTHER,… with 2 to {MOST_VALUES} different values, today's first"
        raise InputError(f"parameter {visible(text, 80)!r}", accepted)
    return Parameter(name=visible(name), values=tuple(map(visible, values)))
