r"""Untrusted text made safe to show: every control or invisible character becomes a visible escape.

Applied once, where text enters netkit (pod names, logs, hostfiles, stdout of a rank). Terminal escape
sequences in object names are a known attack (CVE-2021-25743); bidirectional and zero-width characters
make one name look like another (Unicode TR 36).
"""

from __future__ import annotations

import unicodedata

# Control, format (bidi, zero width, BOM), surrogate, private use, unassigned, and every space but the plain one.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def visible(text: str, limit: int = 4096) -> str:
    r"""Return `text` on one line with hidden characters as `\xNN` or `\uNNNN`, cut at `limit` characters."""
    if text.isascii() and text.isprintable() and len(text) <= limit:
        return text
    shown = "".join(_escaped(character) for character in text[:limit])
    return shown + ("…" if len(text) > limit else "")


def _escaped(character: str) -> str:
    if character == " " or unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
