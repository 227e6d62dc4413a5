"""The HTML page in headless Chromium, driven over its DevTools pipe: what it shows, asks for and complains about."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netkit.model.probe import ProbeReport
from netkit.report import probe_html
from tests.report import sample_reports

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
Pixel = tuple[int, int, int]


class Page:
    """One tab: commands go in, and every complaint and request is kept."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._left, self._number = write, read, b"", 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._loaded = 0
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, file: Path, *, width: int, height: int, scheme: str) -> None:
        self.complaints.clear()
        self.requests.clear()
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        loaded = self._loaded
        self.ask("Page.navigate", url=file.as_uri())
        while self._loaded == loaded:
            self._note(self._next())

    def evaluate(self, script: str) -> Any:
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def screenshot(self) -> bytes:
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            chunk = os.read(self._read, 1 << 20)
            assert chunk, "the browser closed its pipe"
            self._left += chunk
        line, self._left = self._left.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        method = event.get("method")
        if method == "Page.loadEventFired":
            self._loaded += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        elif method in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
            self.complaints.append(json.dumps(event["params"]))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    to_child, from_us = os.pipe()
    to_us, from_child = os.pipe()
    # Numbers well above 3 and 4, so that moving one pipe end there cannot overwrite the other.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_child, from_child)]

    def pipe_ends() -> None:
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    profile = tmp_path_factory.mktemp("profile")
    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"],
        preexec_fn=pipe_ends,  # noqa: PLW1509 - the browser reads its commands from descriptor 3 by definition
        pass_fds=(3, 4),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ | {"HOME": str(profile)},
    )
    for end in (to_child, from_child, *ends):
        os.close(end)
    try:
        yield Page(from_us, to_us)
    finally:
        _close(process, from_us)
        os.close(from_us)
        os.close(to_us)


def _close(process: subprocess.Popen[bytes], write: int) -> None:
    """Ask the browser to leave, so that it collects its own children; what then still stands is killed."""
    with contextlib.suppress(OSError):
        os.write(write, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


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
