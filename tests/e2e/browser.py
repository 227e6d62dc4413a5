"""Headless Chromium, driven over its DevTools pipe (https://chromedevtools.github.io/devtools-protocol/)."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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


@contextlib.contextmanager
def running(profile: Path) -> Iterator[Page]:
    """A browser with a profile of its own, closed with all its children; skips where there is none."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    to_child, from_us = os.pipe()
    to_us, from_child = os.pipe()
    # Numbers well above 3 and 4, so that moving one pipe end there cannot overwrite the other.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_child, from_child)]

    def pipe_ends() -> None:
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

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
