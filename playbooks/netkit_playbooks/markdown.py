"""The part of Markdown that playbooks are written in, as HTML: headings, paragraphs, lists, tables, code, emphasis.

https://spec.commonmark.org/0.31.2/ for what it is a part of; tables are GitHub's. All text is escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import takewhile

_HEADING = re.compile(r"(#{1,3}) (.+)")
_ITEM = re.compile(r"(?:(\d+)\.|-) (.+)")
_CODE = re.compile(r"`([^`]+)`")
_EMPHASIS = re.compile(r"\*([^*]+)\*")
_FENCE = "```"
_CELLS = re.compile(r"(?<!\\)\|")


def to_html(text: str) -> str:
    """Return the HTML of a page."""
    return "\n".join(_blocks(text.splitlines()))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        taken, block = _block(lines[at:])
        at += taken
        if block:
            yield block


def _block(lines: list[str]) -> tuple[int, str]:
    """Return how many lines the first block has, and its HTML."""
    first = lines[0]
    if not first.strip():
        return 1, ""
    if match := _HEADING.fullmatch(first):
        level = len(match[1])
        return 1, f'<h{level} id="{_anchor(match[2])}">{inline(match[2])}</h{level}>'
    if first.startswith(_FENCE):
        inside = list(takewhile(lambda line: not line.startswith(_FENCE), lines[1:]))
        return len(inside) + 2, f"<pre><code>{html.escape(chr(10).join(inside))}</code></pre>"
    paragraph = list(takewhile(lambda line: bool(line.strip()), lines))
    return len(paragraph), _paragraph(paragraph)


def _paragraph(lines: list[str]) -> str:
    if lines[0].startswith("|"):
        return _table(lines)
    if match := _ITEM.fullmatch(lines[0]):
        tag = "ol" if match[1] else "ul"
        return f"<{tag}>{''.join(f'<li>{inline(item)}</li>' for item in _items(lines))}</{tag}>"
    return f"<p>{inline(' '.join(lines))}</p>"


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if match := _ITEM.fullmatch(line):
            items.append(match[2])
        else:
            items[-1] += f" {line.strip()}"
    return items


def _table(lines: list[str]) -> str:
    head, *rows = (_cells(line) for line in lines if not set(line) <= set("|-: "))
    top = "".join(f"<th>{inline(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{inline(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _CELLS.split(line.strip().strip("|"))]


def inline(text: str) -> str:
    """Return a line's HTML: code and emphasis, everything else as it stands."""
    parts = _CODE.split(text)
    return "".join(
        f"<code>{html.escape(part)}</code>" if number % 2 else _EMPHASIS.sub(r"<em>\1</em>", html.escape(part))
        for number, part in enumerate(parts)
    )


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
