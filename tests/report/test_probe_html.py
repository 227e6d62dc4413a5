"""The HTML page as text: order, escaping, no way out, size. A browser looks at it in tests/e2e."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.model.probe import FaultClass, ProbeReport
from netkit.report import probe_html
from netkit.report.heatmap import map_rows, tint
from netkit.report.html_page import Markup, element
from tests.report import sample_reports


class Outline(HTMLParser):
    """Every element with its attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def cells(self, look: str) -> int:
        return sum(tag == "td" and look in (attributes.get("class") or "").split() for tag, attributes in self.elements)


@pytest.mark.parametrize("make", sample_reports.SMALL.values(), ids=sample_reports.SMALL)
def test_page_asks_for_nothing_and_runs_nothing(make: Callable[[], ProbeReport]) -> None:
    """No script, no handler, no address but an empty icon; the policy forbids the rest."""
    outline = Outline(probe_html.render(make()))

    assert not {tag for tag, _ in outline.elements} & {"script", "img", "iframe", "object", "a", "form", "base"}
    for _, attributes in outline.elements:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "action"}]
    assert [attributes["href"] for _, attributes in outline.elements if "href" in attributes] == ["data:,"]
    policy = [attributes["content"] for tag, attributes in outline.elements if attributes.get("http-equiv")]
    assert policy == [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    ]


@pytest.mark.parametrize("make", sample_reports.SMALL.values(), ids=sample_reports.SMALL)
def test_page_goes_from_the_verdict_to_the_details(make: Callable[[], ProbeReport]) -> None:
    """Verdict, next steps, symptom, map, pairs, readings, limits, how it ran: in this order."""
    page = probe_html.render(make())
    order = ("<h1>", *(f"<h2>{title}" for title in SECTIONS))
    places = [page.index(mark) for mark in order]

    assert places == sorted(places)


SECTIONS = (
    "What to do next",
    "What a job sees",
    "Nodes and rails",
    "Pairs",
    "Readings, round by round",
    "What this run could see",
    "What it did not see",
    "How it was run",
)


def test_headline_and_title_name_the_culprit() -> None:
    """A browser tab and the largest words on the page say which node and rail."""
    page = probe_html.render(sample_reports.slow_rail())

    assert "<h1>n3 rail 1 is 20% slow when sending</h1>" in page
    assert "<title>SLOW: n3 rail 1 is 20% slow when sending" in page


@pytest.mark.fault("J09")
def test_hostile_names_are_escaped_everywhere() -> None:
    """Tags, quotes and formulas in any field are text on the page."""
    page = probe_html.render(sample_reports.hostile(), command="netkit probe lab --name '<b>'")
    outline = Outline(page)

    assert "<script" not in page
    assert "<img" not in page
    assert "</style>" in page
    assert page.count("</style>") == 1
    assert page.index("</style>") < page.index("<body>")
    assert "<script>alert(1)</script>" in outline.text
    assert "netkit probe lab --name '<b>'" in outline.text
    assert not {character for character in page if not character.isprintable()} - {"\n"}


@settings(max_examples=200, deadline=None)
@given(data=st.text(st.characters(), max_size=60))
def test_element_escapes_any_text(data: str) -> None:
    """Whatever the text and the attribute, the parser sees one element."""
    outline = Outline(element("p", data, title=data))

    assert [tag for tag, _ in outline.elements] == ["p"]


def test_only_built_markup_passes() -> None:
    """An element inside an element stays markup; a string that looks like one does not."""
    inner = element("b", "x")

    assert element("p", inner, "<b>x</b>") == "<p><b>x</b>&lt;b&gt;x&lt;/b&gt;</p>"
    assert isinstance(inner, Markup)


def test_map_prints_numbers_and_marks() -> None:
    """Each state of a port has its own mark, so the map reads without colour."""
    page = probe_html.render(sample_reports.slow_rail())
    heat = page[page.index("<h2>Nodes and rails") : page.index("<h2>Pairs")]
    outline = Outline(heat)

    assert re.search(r'<td class="h2 bad">! 8\d', heat)
    assert re.search(r'<td class="part">c (99|100|101)', heat)
    assert '<td class="na" title="timeout at n6 rail 0: no frame within 12 s">?' in heat
    assert sum(tag == "td" for tag, _ in outline.elements) == 16


def test_key_explains_only_what_is_on_the_map() -> None:
    """A healthy map has a key of one line."""
    page = probe_html.render(sample_reports.healthy())
    key = page[page.index('<ul class="key">') :]

    assert key[: key.index("</ul>")].count("<li>") == 1


@pytest.mark.parametrize(
    ("share", "look"),
    [(1.02, "h0"), (0.95, "h0"), (0.94, "h0"), (0.93, "h1"), (0.9, "h2"), (0.75, "h3"), (0.6, "h4"), (None, "h0")],
)
def test_tint_starts_where_the_noise_ends(share: float | None, look: str) -> None:
    """What the noise explains has no tint; then it deepens at 10, 20 and 40 percent."""
    assert tint(share, 0.06) == look


def test_pair_fault_is_marked_in_the_matrix_only() -> None:
    """A slow pair is outlined both ways in its rail's matrix; the map blames no port and says why."""
    page = probe_html.render(sample_reports.slow_pair())
    heat = page[page.index("<h2>Nodes and rails") : page.index("<h2>Pairs")]

    assert Outline(heat).cells("bad") == 0
    assert "Slow, but no port&#x27;s doing: n3 with n5 rail 1." in heat


def test_blamed_pair_that_met_is_outlined_both_ways() -> None:
    """Both directions of the pair carry the mark, on its own rail and no other."""
    report = sample_reports.build(nodes=("n3", "n5"), findings=(sample_reports.finding(FaultClass.PAIR),))
    page = probe_html.render(report)
    pairs = page[page.index("<h2>Pairs") : page.index("<h2>Readings")]

    assert Outline(pairs).cells("bad") == 2


def test_emulated_page_says_so_in_the_banner() -> None:
    """The label stands beside the verdict."""
    page = probe_html.render(sample_reports.emulated())
    banner = page[page.index("<header") : page.index("</header>")]

    assert '<span class="tag">EMULATED</span>' in banner
    assert '<span class="tag">' not in probe_html.render(sample_reports.slow_rail())


def test_production_size_page_is_compact_and_whole() -> None:
    """1,024 nodes x 8 rails: under 3 MB, eight small maps, every node in the table, suspects in the pairs."""
    report = sample_reports.large()
    page = probe_html.render(report)

    assert len(page.encode()) < 3_000_000
    assert page.count('<figure class="map">') == 8
    assert all(f'<th scope="row">{node}' in page for node in report.fabric.nodes)
    assert "5 of 1,024 nodes: those that stand out on this rail" in page
    assert page.count('<th scope="row">') < 1024 + 8 * 24 + 100


def test_huge_gang_shows_what_matters_and_says_what_it_left_out() -> None:
    """Above the limits, only odd nodes and odd readings are listed, and the page says where the rest is."""
    report = sample_reports.large(nodes=2560)
    page = probe_html.render(report)

    assert len(page.encode()) < 3_000_000
    assert "The numbers of all 2,560 nodes are in the JSON form." in page
    assert "Only readings that are low, missing or set by the processors are listed" in page


@pytest.mark.parametrize(("nodes", "leaves", "rows"), [(128, 8, 8), (100, 1, 10), (130, 65, 12)])
def test_small_maps_follow_the_leaves_where_that_helps(nodes: int, leaves: int, rows: int) -> None:
    """A leaf is a row when leaves are of a handy size; else the nodes form a square; nobody is left out."""
    report = sample_reports.build(nodes=nodes, rails=1, leaves=leaves)
    laid_out = map_rows(report)

    assert len(laid_out) == rows
    assert sorted(node for row in laid_out for node in row) == sorted(report.fabric.nodes)
