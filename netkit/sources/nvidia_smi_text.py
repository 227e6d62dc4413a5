"""The text of `nvidia-smi -q` as a tree: a line is deeper than the one it belongs to, `name : value` or a name alone.

Format: nvidia-smi(1); drivers 535 to 560 differ in which lines there are, not in form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible

LONGEST_TEXT = 16 << 20
_LONGEST_LINE = 1000
_MOST_DEPTH = 16
_LINE = re.compile(r"( *)(\S.*?)(?: *: (.*)| *:)?")
_NUMBER = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)(?: ?([A-Za-z%/]{1,8}))?")
_NOT_GIVEN = frozenset(
    {"N/A", "[N/A]", "[Not Supported]", "Not Supported", "Requested functionality has been deprecated"}
)
_FACTORS = {"": 1, "%": 1, "C": 1, "W": 1, "x": 1, "MHz": 10**6, "MiB": 1 << 20, "KB/s": 1000, "GB/s": 10**9}


@dataclass(slots=True)
class Section:
    """One line and what lies deeper below it."""

    name: str
    value: str | None
    indent: int = -1
    below: list[Section] = field(default_factory=list)

    def find(self, *names: str) -> Section | None:
        """Follow names downwards, the first of each."""
        place: Section | None = self
        for name in names:
            place = next((one for one in place.below if one.name == name), None) if place else None
        return place

    def text(self, *names: str) -> str | Missing:
        """Return the value at a place; "N/A" and an empty one are Missing."""
        place = self.find(*names)
        where = f"nvidia-smi {' > '.join(names)}"
        if place is None or place.value is None:
            return Missing(reason=Reason.ABSENT, where=where, detail="no such line")
        if place.value in _NOT_GIVEN or not place.value:
            return Missing(reason=Reason.UNSUPPORTED, where=where, detail=place.value or "empty")
        if "Unknown Error" in place.value or "ERR!" in place.value or "GPU is lost" in place.value:
            return Missing(reason=Reason.MALFORMED, where=where, detail=place.value)
        return place.value

    def number(self, *names: str) -> float | Missing:
        """Return a number in base units: bytes, hertz, watts, degrees Celsius, percent."""
        shown = self.text(*names)
        if isinstance(shown, Missing):
            return shown
        match = _NUMBER.fullmatch(shown)
        if match is None or (match[2] or "") not in _FACTORS:
            return Missing(reason=Reason.MALFORMED, where=f"nvidia-smi {' > '.join(names)}", detail=shown[:80])
        return float(match[1]) * _FACTORS[match[2] or ""]

    def whole(self, *names: str) -> int | Missing:
        """Return a number that counts something."""
        found = self.number(*names)
        if isinstance(found, float) and found < 0:
            return Missing(reason=Reason.MALFORMED, where=f"nvidia-smi {' > '.join(names)}", detail=str(found))
        return found if isinstance(found, Missing) else round(found)

    def flag(self, yes: str, no: str, *names: str) -> bool | Missing:
        """Return which of two words stands there."""
        shown = self.text(*names)
        if isinstance(shown, Missing) or shown in (yes, no):
            return shown if isinstance(shown, Missing) else shown == yes
        return Missing(reason=Reason.MALFORMED, where=f"nvidia-smi {' > '.join(names)}", detail=shown[:80])


def parse_sections(text: str) -> Section:
    """Return the root of the tree; InputError for a text that is too long or too deep."""
    if len(text) > LONGEST_TEXT:
        raise InputError("nvidia-smi text", f"at most {LONGEST_TEXT >> 20} MiB")
    root = Section("", None)
    path = [root]
    for section in _sections(text):
        while path[-1].indent >= section.indent:
            path.pop()
        if len(path) > _MOST_DEPTH:
            raise InputError("nvidia-smi text", f"at most {_MOST_DEPTH} levels")
        path[-1].below.append(section)
        path.append(section)
    return root


def _sections(text: str) -> Iterator[Section]:
    for line in text.split("\n"):
        match = _LINE.fullmatch(line[:_LONGEST_LINE].rstrip())
        # Between the heading of a GPU and its lines there is nothing else at the left margin.
        if match is not None and not line.startswith("="):
            value = None if match[3] is None else visible(match[3].strip(), 400)
            yield Section(visible(match[2], 200), value, len(match[1]))
