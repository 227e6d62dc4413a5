"""What one attribute file holds: text or a number, by a strict grammar.

Linux: Documentation/filesystems/sysfs.rst, "one value per file". A number is decimal digits with at most one
newline after them; `0x` where the ABI says hexadecimal; anything else is Missing (malformed), never a guess.
"""

from __future__ import annotations

import re

from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.tree import READ_LIMIT, Tree

_DECIMAL = re.compile(rb"-?[0-9]{1,20}\n?")
_HEXADECIMAL = re.compile(rb"0x[0-9a-fA-F]{1,16}\n?")
_LARGEST = 2**64 - 1
_SHOWN = 80


def text(tree: Tree, path: str, limit: int = READ_LIMIT) -> str | Missing:
    """Return the file's text on one line, safe to show; an empty file is Missing."""
    data = tree.read(path, limit)
    return data if isinstance(data, Missing) else parse_text(data, path)


def parse_text(data: bytes, where: str) -> str | Missing:
    """Strip the ends; bytes that are no UTF-8 become visible escapes."""
    found = visible(data.decode(errors="surrogateescape").strip())
    return found or Missing(reason=Reason.ABSENT, where=visible(where), detail="empty")


def integer(tree: Tree, path: str) -> int | Missing:
    """Return the decimal number a file holds; `N/A (no PMA)` is Missing (unsupported)."""
    data = tree.read(path)
    return data if isinstance(data, Missing) else parse_integer(data, path)


def hexadecimal(tree: Tree, path: str) -> int | Missing:
    """Return the `0x…` number a file holds."""
    data = tree.read(path)
    if isinstance(data, Missing):
        return data
    return int(data, 16) if _HEXADECIMAL.fullmatch(data) else malformed(data, path)


def parse_integer(data: bytes, where: str) -> int | Missing:
    """Read one decimal number of at most 64 bits."""
    if not _DECIMAL.fullmatch(data):
        return _not_supported(data, where) if data.startswith(b"N/A") else malformed(data, where)
    number = int(data)
    return number if -(2**63) <= number <= _LARGEST else malformed(data, where)


def natural(tree: Tree, path: str) -> int | Missing:
    """Return a number that cannot be negative; the kernel's -1 for "unknown" is Missing (unsupported)."""
    number = integer(tree, path)
    if isinstance(number, int) and number < 0:
        return Missing(reason=Reason.UNSUPPORTED, where=visible(path), detail=str(number))
    return number


def base_name(tree: Tree, path: str) -> str | Missing:
    """Return the last part of where a link leads, such as the driver behind `device/driver`."""
    place = tree.link(path)
    return place if isinstance(place, Missing) else visible(place.rpartition("/")[2])


def names(tree: Tree, path: str) -> tuple[str, ...]:
    """Return the names in a folder, none where there is no folder: for optional groups only."""
    found = tree.list(path)
    return () if isinstance(found, Missing) else found


def malformed(data: bytes, where: str) -> Missing:
    """Say what stood where a value was expected."""
    shown = visible(data[:_SHOWN].decode(errors="surrogateescape"))
    return Missing(reason=Reason.MALFORMED, where=visible(where), detail=repr(shown))


def _not_supported(data: bytes, where: str) -> Missing:
    shown = visible(data[:_SHOWN].decode(errors="surrogateescape").strip())
    return Missing(reason=Reason.UNSUPPORTED, where=visible(where), detail=shown)
