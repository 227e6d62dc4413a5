"""An HTTP server that answers what it is told to, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is answered."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@dataclass(slots=True)
class Server:
    """A running server: its address, and everything it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def serving(answer: Callable[[Asked], Reply]) -> Iterator[Server]:
    """Serve until the block ends."""
    server = Server(url="")

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            asked = Asked(method=self.command, path=self.path, headers=dict(self.headers), body=self.rfile.read(length))
            server.asked.append(asked)
            reply = answer(asked)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            try:
                self.wfile.write(reply.body)
            except OSError:
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_DELETE = _reply  # noqa: N815 - the names the library looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server.url = f"http://127.0.0.1:{listening.server_address[1]}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
