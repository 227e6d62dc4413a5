"""Grafana's HTTP API, as far as putting dashboards there needs it.

https://grafana.com/docs/grafana/latest/developers/http_api/dashboard/ (classic JSON). The token is sent to the address
that was given and nowhere else: redirects are refused, and no message repeats it. Only what may pass by itself is tried
again: 429 and 5xx, three times.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from netkit.errors import InputError
from netkit.model.text import visible

TRIES = 3
_SECONDS = 10.0
_MOST_BYTES = 8 * 1024 * 1024
_LONGEST_WAIT = 10.0
_SHOWN = 200
_MEANING: Mapping[int, str] = {
    400: "Grafana does not take this dashboard",
    401: "Grafana does not know the token",
    403: "the token may not write here: it needs dashboards:write and folders:create",
    404: "there is no such place: is this the address of a Grafana, path included?",
    409: "something else has this name",
    412: "somebody changed it at the same moment: run it again",
    429: "Grafana is busy and stayed so",
}
_Json = dict[str, Any]


class GrafanaError(Exception):
    """Grafana refused, in one line without the token."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)

    @property
    def hopeless(self) -> bool:
        """Whether the next dashboard would fare no better."""
        return self.status in (0, 401, 403, 404) or 300 <= self.status < 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Grafana:
    """A Grafana at an address, with a token."""

    def __init__(self, url: str, token: str, sleep: Callable[[float], None] = time.sleep) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise InputError("the address of Grafana", "one such as https://grafana.example.org, without a password")
        self._secure, self._host, self._base = parts.scheme == "https", parts.netloc, parts.path.rstrip("/")
        self._token = token
        self._sleep = sleep

    def read(self, uid: str) -> _Json | None:
        """Return a dashboard as Grafana has it; None when it has none of this uid."""
        try:
            found = self._ask("GET", f"/api/dashboards/uid/{quote(uid, safe='')}")
        except GrafanaError as fault:
            if fault.status == http.client.NOT_FOUND and "not found" in str(fault).lower():
                return None
            raise
        dashboard = found.get("dashboard")
        return dashboard if isinstance(dashboard, dict) else None

    def ensure_folder(self, uid: str, title: str) -> None:
        """Make the folder where it is missing."""
        try:
            self._ask("POST", "/api/folders", {"uid": uid, "title": title})
        except GrafanaError as fault:
            if fault.status not in (http.client.CONFLICT, http.client.PRECONDITION_FAILED):
                raise

    def write(self, dashboard: _Json, folder: str) -> None:
        """Put a dashboard there, over an older one of its uid."""
        body = {"dashboard": dashboard, "folderUid": folder, "overwrite": True, "message": "netkit dashboards push"}
        self._ask("POST", "/api/dashboards/db", body)

    def _ask(self, method: str, path: str, body: _Json | None = None) -> _Json:
        for last in (False,) * (TRIES - 1) + (True,):
            answer = self._once(method, path, body)
            passing = answer.status == http.client.TOO_MANY_REQUESTS or answer.status >= 500
            if last or not passing:
                return self._understood(answer)
            self._sleep(_wait(answer.headers.get("retry-after", "")))
        raise AssertionError("the last try returns or raises")

    def _once(self, method: str, path: str, body: _Json | None) -> Answer:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, timeout=_SECONDS)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, f"{self._base}{path}", json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answer(status=response.status, headers=named, body=response.read(_MOST_BYTES))
        except (OSError, http.client.HTTPException) as fault:
            raise GrafanaError(0, f"Grafana does not answer ({visible(str(fault), limit=_SHOWN)})") from fault
        finally:
            connection.close()

    def _understood(self, answer: Answer) -> _Json:
        if 300 <= answer.status < 400:
            place = visible(answer.headers.get("location", "nowhere"), limit=_SHOWN)
            raise GrafanaError(answer.status, f"Grafana answers with a redirect to {place}, which is not followed")
        try:
            document = json.loads(answer.body)
        except (ValueError, RecursionError):
            document = None
        if answer.status >= 400:
            raise GrafanaError(answer.status, self._refused(answer.status, document))
        if not isinstance(document, dict):
            raise GrafanaError(0, f"{answer.status} with a page instead of JSON: a login page? Check address and token")
        return document

    def _refused(self, status: int, document: object) -> str:
        said = visible(str(document.get("message", "")), limit=_SHOWN) if isinstance(document, dict) else ""
        meaning = _MEANING.get(status, "Grafana failed" if status >= 500 else "Grafana refused")
        return f"{status}: {meaning}" + (f" (it said: {said.replace(self._token, '…')})" if said else "")


def _wait(asked: str) -> float:
    return min(float(asked), _LONGEST_WAIT) if asked.isdecimal() else 1.0
