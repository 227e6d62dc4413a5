"""Reading the attributes of a topology tag: a value, or None and a line that says what was wrong with it.

Values follow NVIDIA NCCL, src/graph/xml.h: numbers decimal or 0x-hexadecimal, PCI addresses `dddd:bb:dd.f`.
"""

from __future__ import annotations

import re

from netkit.errors import InputError
from netkit.model.pci import PciAddress
from netkit.topology.xml_tree import Tag

_MOST_PROBLEMS = 200
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,18})")
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,2})?) GT/s(?: PCIe)?")


class Problems:
    """What was wrong with a file, in the order it was met; the first two hundred are kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.partial = False
        self._more = 0

    def note(self, line: str) -> None:
        """Record something odd that loses nothing."""
        if len(self.lines) < _MOST_PROBLEMS:
            self.lines.append(line)
        else:
            self._more += 1

    def lose(self, line: str) -> None:
        """Record something that leaves a hole in the graph."""
        self.partial = True
        self.note(line)

    def all(self) -> list[str]:
        """Return every line kept, and how many more there were."""
        return [*self.lines, f"and {self._more} more"] if self._more else list(self.lines)


def describe(tag: Tag) -> str:
    """Return how a problem names a tag."""
    names = (f"{key}={tag.attributes[key]!r}" for key in ("busid", "name", "numaid", "dev") if key in tag.attributes)
    return " ".join([f"<{tag.name}>", *names])


def integer(tag: Tag, name: str, problems: Problems) -> int | None:
    """Return the attribute as a number, None when it is absent or is none."""
    text = tag.attributes.get(name)
    if text is None:
        return None
    if not _INTEGER.fullmatch(text.strip()):
        problems.note(f"{describe(tag)}: {name}={text!r} is no number")
        return None
    plain = text.strip()
    return int(plain, 16 if "x" in plain.lower() else 10)


def flag(tag: Tag, name: str, problems: Problems) -> bool | None:
    """Return a 0/1 attribute, None when it is absent."""
    value = integer(tag, name, problems)
    return None if value is None else value != 0


def address(tag: Tag, name: str, problems: Problems) -> PciAddress | None:
    """Return the attribute as a PCI address, None when it is absent or is none."""
    text = tag.attributes.get(name)
    if text is None:
        problems.note(f"{describe(tag)}: no {name}")
        return None
    try:
        return PciAddress.parse(text)
    except InputError:
        problems.note(f"{describe(tag)}: {name}={text!r} is no PCI address")
        return None


def speed(tag: Tag, problems: Problems) -> float | None:
    """Return `link_speed` in GT/s per lane, None when it is absent or in no form the kernel prints."""
    text = tag.attributes.get("link_speed", "")
    match = _SPEED.fullmatch(text.strip())
    if match is None:
        problems.note(f"{describe(tag)}: link_speed={text!r} is unknown to NCCL, which then plans with 8 GT/s")
        return None
    return float(match[1])


def width(tag: Tag, problems: Problems) -> int:
    """Return `link_width` in lanes; 16 where it is absent, zero or absurd, as NCCL does for zero."""
    lanes = integer(tag, "link_width", problems)
    if lanes is None or not 0 <= lanes <= 32:
        problems.note(f"{describe(tag)}: link_width={tag.attributes.get('link_width')!r}; 16 lanes are assumed")
        return 16
    return lanes or 16
