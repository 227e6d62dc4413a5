"""Prometheus's HTTP API, as far as a reader needs it: instant and range queries.

https://prometheus.io/docs/prometheus/latest/querying/api/. What answers is not trusted: at most 32 MiB and 200,000
samples within ten seconds, no redirects, labels cut and made visible.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode, urlsplit

from netkit.errors import InputError, SourceError
from netkit.model.text import visible

MOST_BYTES = 32 * 1024 * 1024
MOST_SAMPLES = 200_000
DEADLINE_SECONDS = 10.0
_MOST_LABEL = 1000
_CHUNK = 65_536
_SHOWN_ERROR = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One series of an answer."""

    labels: Mapping[str, str]
    """`__name__` included where the query kept it."""
    points: tuple[tuple[float, float], ...]
    """Seconds since 1970 and value; NaN and infinities are left in."""


class Prometheus:
    """A Prometheus at a URL; every call opens a connection of its own."""

    def __init__(self, url: str, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise InputError(f"Prometheus at {visible(url)}", "an address such as http://prometheus:9090")
        self._secure = parts.scheme == "https"
        self._host, self._base = parts.netloc, parts.path.rstrip("/")
        self._deadline_seconds = deadline_seconds
        self.where = f"{parts.scheme}://{parts.netloc}{self._base}"

    def instant(self, expression: str, at: float) -> tuple[Answer, ...]:
        """Return the value of an expression at one time; SourceError when there is no answer to use."""
        return self._ask("query", {"query": expression, "time": f"{at:.3f}"})

    def over(self, expression: str, start: float, end: float, step: float) -> tuple[Answer, ...]:
        """Return the values of an expression from one time to another, `step` seconds apart."""
        times = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
        return self._ask("query_range", {"query": expression, **times})

    def _ask(self, what: str, parameters: Mapping[str, str]) -> tuple[Answer, ...]:
        deadline = time.monotonic() + self._deadline_seconds
        try:
            status, body = self._post(what, urlencode(parameters), deadline)
        except (OSError, http.client.HTTPException) as fault:
            raise SourceError(f"Prometheus did not answer ({_reason(fault)})", self.where) from fault
        return tuple(_answers(_data(status, body, self.where), self.where))

    def _post(self, what: str, form: str, deadline: float) -> tuple[int, bytes]:
        connection = self._connection()
        connection.connect()
        # A peer that sends a byte now and then keeps every single read short: the whole call is cut at the deadline.
        cut = threading.Timer(max(0.001, deadline - time.monotonic()), _cut, (connection.sock,))
        cut.daemon = True
        cut.start()
        try:
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
            connection.request("POST", f"{self._base}/api/v1/{what}", form, headers)
            response = connection.getresponse()
            body = b"".join(self._chunks(response))
        finally:
            cut.cancel()
            connection.close()
        if time.monotonic() >= deadline:
            raise TimeoutError("the answer took too long")
        return response.status, body

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, timeout=self._deadline_seconds, context=context)
        return http.client.HTTPConnection(self._host, timeout=self._deadline_seconds)

    def _chunks(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        size = 0
        while chunk := response.read1(_CHUNK):
            size += len(chunk)
            if size > MOST_BYTES:
                raise SourceError(f"Prometheus answered with more than {MOST_BYTES >> 20} MiB", self.where)
            yield chunk


def _cut(link: socket.socket) -> None:
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)


def _reason(fault: Exception) -> str:
    return visible(str(fault) or type(fault).__name__, limit=_SHOWN_ERROR)


def _data(status: int, body: bytes, where: str) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise SourceError(f"Prometheus answered {status} and no JSON", where) from fault
    if not isinstance(document, dict) or document.get("status") != "success":
        said = document.get("error", "") if isinstance(document, dict) else ""
        raise SourceError(f"Prometheus answered {status}: {visible(str(said), limit=_SHOWN_ERROR)}", where)
    data = document.get("data")
    if not isinstance(data, dict):
        raise SourceError("Prometheus answered without data", where)
    return data


def _answers(data: Mapping[str, Any], where: str) -> Iterator[Answer]:
    kind, result = data.get("resultType"), data.get("result")
    if kind == "scalar" and isinstance(result, list):
        result = [{"metric": {}, "value": result}]
    if not isinstance(result, list):
        raise SourceError("Prometheus answered with no list of series", where)
    samples = 0
    for one in result:
        answer = _answer(one, where)
        samples += len(answer.points)
        if samples > MOST_SAMPLES:
            raise SourceError(f"Prometheus answered with more than {MOST_SAMPLES} samples", where)
        yield answer


def _answer(one: Any, where: str) -> Answer:
    try:
        labels = {visible(str(name), limit=_MOST_LABEL): _shown(value) for name, value in one["metric"].items()}
        listed: Iterable[Any] = one["values"] if "values" in one else [one["value"]]
        points = tuple((float(at), _value(value)) for at, value in listed)
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise SourceError("Prometheus answered with a series of another form", where) from fault
    return Answer(labels=MappingProxyType(labels), points=points)


def _shown(value: object) -> str:
    return visible(str(value), limit=_MOST_LABEL)


def _value(text: object) -> float:
    # Prometheus's own words for what is no number (`NaN`, `+Inf`) are Python's too.
    return float(str(text))
