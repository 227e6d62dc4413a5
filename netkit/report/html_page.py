"""One self-contained HTML page, escaped by construction: no script, no request, both colour schemes.

`element` escapes every text it is given; only what it built itself passes as markup. The Content-Security-Policy
forbids everything but inline styles, so that even markup that slipped through could neither run nor call home.
End tags that the HTML standard calls optional are left out: they are a third of a large table.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from netkit.model.text import visible
from netkit.report.html_style import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_ENDLESS = frozenset({"td", "th", "tr", "li", "dt", "dd", "col", "meta", "link", "br"})


class Markup(str):
    """Text that is HTML already: built by `element`, never by hand from data."""

    __slots__ = ()


Child = str | None


def element(tag: str, /, *children: Child, **attributes: str | int | None) -> Markup:
    """Return an element. Text is escaped, `Markup` is not; None is left out; `class_` and `aria_label` lose the bar."""
    opening = tag + "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    ending = "" if tag in _ENDLESS else f"</{tag}>"
    return Markup(f"<{opening}>{joined(children)}{ending}")


def joined(children: Iterable[Child]) -> Markup:
    """Return the children one after the other, each escaped unless it is markup."""
    return Markup("".join(child if isinstance(child, Markup) else text(child) for child in children if child))


def text(data: str) -> str:
    """Return data as HTML text, with hidden characters made visible."""
    return html.escape(visible(data), quote=True)


def _attribute(key: str, value: str | int | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value == "" else f' {name}="{text(str(value))}"'


def page(title: str, *body: Child) -> str:
    """Return the whole document."""
    head = joined(
        (
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="referrer", content="no-referrer"),
            element("link", rel="icon", href="data:,"),
            element("title", title),
            element("style", Markup(STYLE)),
        )
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{element("main", *body)}</body></html>\n'


def section(title: str, *children: Child, lead: str = "") -> Markup:
    """Return one part of the page under its heading."""
    return element("section", element("h2", title), element("p", lead, class_="lead") if lead else None, *children)


def folded(title: str, *children: Child, opened: bool = False) -> Markup:
    """Return a part that opens on demand; it needs no script and answers to the keyboard."""
    return element("details", element("summary", title), *children, open="" if opened else None)


def scrolling(label: str, *children: Child, class_: str = "") -> Markup:
    """Return a box that scrolls by itself, reachable by keyboard, so that a wide table never widens the page."""
    return element("div", *children, class_=f"scroll {class_}".strip(), role="region", tabindex=0, aria_label=label)


def header_row(*titles: str, numeric: frozenset[str] = frozenset()) -> Markup:
    """Return the head of a table; numeric columns stand right."""
    cells = (element("th", title, scope="col", class_="r" if title in numeric else None) for title in titles)
    return element("thead", element("tr", *cells))
