"""The HTML page in headless Chromium: what it shows, asks for and complains about."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netkit.model.probe import ProbeReport
from netkit.report import probe_html
from tests.e2e.browser import Page, running
from tests.report import sample_reports

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

Pixel = tuple[int, int, int]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with running(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[ProbeReport], Path]:
    def write(report: ProbeReport) -> Path:
        file = tmp_path / "report.html"
        file.write_text(probe_html.render(report, command="netkit probe lab"), encoding="utf-8")
        return file

    return write


def pixels(png: bytes) -> list[list[Pixel]]:
    """Decode a screenshot: 8-bit RGB or RGBA, not interlaced (the PNG specification, section 9, for the filters)."""
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    channels = {2: 3, 6: 4}[colour]
    assert depth == 8
    data, position = b"", 8
    while position < len(png):
        length, kind = struct.unpack(">I4s", png[position : position + 8])
        if kind == b"IDAT":
            data += png[position + 8 : position + 8 + length]
        position += 12 + length
    raw = zlib.decompress(data)
    stride = width * channels
    rows, above = [], bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        above = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), above, channels)
        rows.append([(above[at], above[at + 1], above[at + 2]) for at in range(0, stride, channels)])
    return rows


def _unfiltered(kind: int, line: bytearray, above: bytearray, step: int) -> bytearray:
    for at in range(len(line) if kind else 0):
        left = line[at - step] if at >= step else 0
        corner = above[at - step] if at >= step else 0
        line[at] = (line[at] + _predicted(kind, left, above[at], corner)) & 0xFF
    return line


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda one: abs(guess - one))
    return (0, left, up, (left + up) // 2)[kind]


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_page_follows_the_scheme_of_the_reader(
    browser: Page, page_of: Callable[[ProbeReport], Path], width: int, scheme: str, dark: bool
) -> None:
    """The page is drawn on a light or a dark ground as asked, with text on it, on a desk and on a phone."""
    browser.open(page_of(sample_reports.slow_rail()), width=width, height=600, scheme=scheme)

    rows = pixels(browser.screenshot())
    tally = Counter(pixel for row in rows for pixel in row)
    ground = rows[0][0]

    assert (len(rows[0]), len(rows)) == (width, 600)
    assert (max(ground) < 64) is dark
    assert (min(ground) > 192) is not dark
    assert tally[ground] < 0.95 * width * 600
    assert len(tally) > 50
    assert browser.complaints == []


@pytest.mark.parametrize("name", sample_reports.SMALL)
@pytest.mark.parametrize("width", [1280, 420])
def test_no_page_is_wider_than_its_window(
    browser: Page, page_of: Callable[[ProbeReport], Path], name: str, width: int
) -> None:
    """Whatever the verdict and the names, only tables scroll sideways, with every fold open."""
    browser.open(page_of(sample_reports.SMALL[name]()), width=width, height=900, scheme="light")
    browser.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")

    wide = browser.evaluate("document.documentElement.scrollWidth")

    assert wide <= width
    assert browser.complaints == []


def test_hostile_names_stay_text(browser: Page, page_of: Callable[[ProbeReport], Path]) -> None:
    """Names that are markup become no element, run nothing and fetch nothing; the page asks for itself alone."""
    file = page_of(sample_reports.hostile())
    browser.open(file, width=1280, height=900, scheme="light")

    assert browser.evaluate("document.querySelectorAll('script, img, main style').length") == 0
    assert "<script>alert(1)</script>" in browser.evaluate("document.body.innerText")
    assert [url for url in browser.requests if not url.startswith("data:")] == [file.as_uri()]
    assert browser.complaints == []


def test_page_forbids_itself_to_run_scripts(browser: Page, page_of: Callable[[ProbeReport], Path]) -> None:
    """Even markup smuggled into the file does not run: the policy of the page forbids it."""
    file = page_of(sample_reports.healthy())
    file.write_text(file.read_text().replace("</main>", "<script>document.title='owned'</script></main>"))
    browser.open(file, width=800, height=600, scheme="light")

    assert browser.evaluate("document.title") != "owned"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


def test_keyboard_reaches_every_fold_and_table(browser: Page, page_of: Callable[[ProbeReport], Path]) -> None:
    """Tab visits the findings, the scrolling tables and the folds, in the order of the page."""
    browser.open(page_of(sample_reports.slow_rail()), width=1280, height=900, scheme="light")
    visited = []
    for _ in range(12):
        for kind in ("rawKeyDown", "keyUp"):
            browser.ask("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        visited.append(browser.evaluate("document.activeElement.innerText.slice(0, 40)"))

    assert visited[0].startswith("n3 rail 1")
    assert any(text.startswith("Round 5") for text in visited)
    assert len(set(visited)) >= 10


def test_large_gang_opens_quickly(browser: Page, page_of: Callable[[ProbeReport], Path]) -> None:
    """A page of 1,024 nodes x 8 rails is under 3 MB, ready within seconds, and shows its culprits in the small maps."""
    file = page_of(sample_reports.large())
    browser.open(file, width=1280, height=900, scheme="dark")

    ready = browser.evaluate("performance.getEntriesByType('navigation')[0].domComplete")

    assert file.stat().st_size < 3_000_000
    assert ready < 10_000
    assert browser.evaluate("document.querySelectorAll('.map svg').length") == 8
    assert browser.evaluate("document.querySelectorAll('.map svg .bad').length") == 18
    assert browser.evaluate("document.documentElement.scrollWidth") <= 1280
    assert browser.complaints == []
