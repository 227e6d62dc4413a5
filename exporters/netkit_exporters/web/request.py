"""One request's head, read strictly: what is not well formed is refused with the status that says why.

RFC 9112 (HTTP/1.1) and RFC 9110 (semantics). A lenient parser and a lenient proxy that disagree are how requests are
smuggled, so bare line feeds, folded headers and repeated lengths are refused, and a request with a body ends the
connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

HEAD_LIMIT = 8192
"""Bytes of request line and headers together."""
LINE_LIMIT = 4096
"""Bytes of the request line."""
HEADERS_LIMIT = 100
END = b"\r\n\r\n"

_LINE = re.compile(rb"([A-Z]{1,20}) (?:https?://[\x21-\x2e\x30-\x7e]+)?(/[\x21-\x7e]*) HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_DIGITS = re.compile(r"[0-9]{1,18}")
_SINGLE = frozenset(("host", "content-length", "authorization"))


class RefusedError(Exception):
    """A request that gets no answer but its status."""

    def __init__(self, status: int, why: str) -> None:
        self.status = status
        self.why = why
        super().__init__(why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request without a body."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """By name in small letters."""
    keeps_open: bool
    """Whether the connection may carry another request."""


def too_long(start: bytes) -> RefusedError | None:
    """Return why a head that is not complete yet is too long already."""
    if b"\r\n" not in start[:LINE_LIMIT] and len(start) >= LINE_LIMIT:
        return RefusedError(414, f"the request line is longer than {LINE_LIMIT} bytes")
    if len(start) > HEAD_LIMIT:
        return RefusedError(431, f"the headers are longer than {HEAD_LIMIT} bytes")
    return None


@lru_cache(maxsize=64)
def parse(head: bytes) -> Request:
    """Return the request of a head without its final empty line; RefusedError for what is malformed.

    A scraper sends the same head each time, so the last ones are remembered.
    """
    line, *rest = head.split(b"\r\n")
    if len(line) > LINE_LIMIT:
        raise RefusedError(414, f"the request line is longer than {LINE_LIMIT} bytes")
    found = _LINE.fullmatch(line)
    if found is None:
        raise RefusedError(400, "the request line is not that of HTTP/1.0 or HTTP/1.1")
    headers = _headers(rest)
    method, target, minor = (part.decode("ascii") for part in found.groups())
    if minor == "1" and "host" not in headers:
        raise RefusedError(400, "HTTP/1.1 requires a Host header")
    path, _, query = target.partition("?")
    return Request(
        method=method,
        path=path,
        query=query,
        headers=MappingProxyType(headers),
        keeps_open=_keeps_open(headers, minor) and not _has_body(headers),
    )


def _headers(lines: list[bytes]) -> dict[str, str]:
    if len(lines) > HEADERS_LIMIT:
        raise RefusedError(431, f"more than {HEADERS_LIMIT} headers")
    headers: dict[str, str] = {}
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise RefusedError(400, "a header is malformed")
        name, value = found[1].decode("ascii").lower(), found[2].decode("latin-1").rstrip(" \t")
        if name in headers and name in _SINGLE:
            raise RefusedError(400, f"{name} is given twice")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _has_body(headers: Mapping[str, str]) -> bool:
    if "transfer-encoding" in headers:
        raise RefusedError(400, "a request body is not accepted")
    length = headers.get("content-length", "0")
    if not _DIGITS.fullmatch(length):
        raise RefusedError(400, "Content-Length is not a number of bytes")
    return int(length) > 0


def _keeps_open(headers: Mapping[str, str], minor: str) -> bool:
    wishes = {wish.strip().lower() for wish in headers.get("connection", "").split(",")}
    return "close" not in wishes and (minor == "1" or "keep-alive" in wishes)
