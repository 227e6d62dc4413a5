"""What goes back over a connection: a status, headers and a body of known length (RFC 9112)."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

PLAIN = "text/plain; charset=utf-8"
RETRY_SECONDS = 1
"""When somebody who was refused may come again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One answer."""

    status: int
    body: bytes
    content_type: str = PLAIN
    headers: tuple[tuple[str, str], ...] = ()

    def head(self, keeps_open: bool, always: bytes = b"") -> bytes:
        """Return status line and headers; `always` are header lines that every answer carries."""
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            *(f"{name}: {value}" for name, value in self.headers),
            "Connection: keep-alive" if keeps_open else "Connection: close",
        ]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n" + always + b"\r\n"


def line(status: int, text: str, *headers: tuple[str, str]) -> Response:
    """Return an answer of one line of plain text."""
    return Response(status=status, body=f"{text}\n".encode(), headers=headers)


def busy(text: str, status: int = 503) -> Response:
    """Return the answer to somebody who should come again in a moment."""
    return line(status, text, ("Retry-After", str(RETRY_SECONDS)))
