"""Servers the tests start: each with its log, none left behind, also when the tests themselves are killed."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

STOP_SECONDS = 10
POLL_SECONDS = 0.1


@dataclass(kw_only=True, slots=True)
class Processes:
    """Children of this process, stopped in reverse order of their start."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, words: Sequence[str | Path]) -> None:
        """Start a server; the kernel ends it with its parent, so a killed test run leaves nothing."""
        with self._log(name).open("wb") as log:
            self.running[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )

    def wait_for(self, name: str, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until `ready`; a server that ended or is late fails with the end of its log."""
        wait_until(lambda: self._alive(name) and ready(), seconds, lambda: f"{name} is not ready\n{self.tail(name)}")

    def stop(self, name: str) -> None:
        """End one server, by force when it does not listen."""
        child = self.running.pop(name)
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def stop_all(self) -> None:
        for name in reversed(list(self.running)):
            self.stop(name)

    def tail(self, name: str, characters: int = 3000) -> str:
        return self._log(name).read_text(errors="replace")[-characters:]

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _alive(self, name: str) -> bool:
        status = self.running[name].poll()
        if status is not None:
            raise RuntimeError(f"{name} ended with {status}\n{self.tail(name)}")
        return True


def wait_until(holds: Callable[[], bool], seconds: float, otherwise: Callable[[], str]) -> None:
    """Poll until something holds, or fail saying what was seen last."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds:g} s: {otherwise()}")
        time.sleep(POLL_SECONDS)


def free_port() -> int:
    """Return a port of the loopback that nobody listens on at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def listens(port: int) -> bool:
    """Say whether somebody accepts connections on this port of the loopback."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0
