"""One Kubernetes API server: JSON by GET, lists in pages, single objects written; every call with a deadline.

The Kubernetes client opens connections and knows credentials; its own calls are not used, because they have no
deadline, retry behind one's back, and turn pages into models that cost ten times the memory. Requests and answers are
those of https://kubernetes.io/docs/reference/using-api/api-concepts/.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import quote, urlencode

from netkit.catalogue.kube_resources import KubeResource
from netkit.errors import NetkitError, SourceError
from netkit.model.kube_object import KubeObject, text_of
from netkit.model.text import visible
from netkit.sources.kube.config import Access, Open, without_userinfo
from netkit.sources.kube.objects import object_of, objects_of

MOST_BODY_BYTES = 256 << 20
MOST_PAGES = 100_000
_CHUNK = 1 << 18
_TRANSIENT = frozenset({429, 500, 502, 503, 504})
_SUCCESS = frozenset({200, 201, 202})
_FORMS = {"accept": "application/json", "content-type": "application/json"}
_GONE = 410
_UNAUTHORIZED = 401
_MOVED = frozenset({404, 409})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how often to ask; seconds."""

    connect_s: float = 5.0
    read_s: float = 30.0
    total_s: float = 120.0
    tries: int = 5
    restarts: int = 3
    page: int = 500


class RefusedError(SourceError):
    """The API server answered with a status that is no success."""

    def __init__(self, what: str, where: str, status: int) -> None:
        super().__init__(what, where)
        self.status = status


class _TransientError(Exception):
    """Worth another try; `wait_s` is what the server asked for."""

    def __init__(self, fault: SourceError, wait_s: float | None = None) -> None:
        super().__init__(str(fault))
        self.fault = fault
        self.wait_s = wait_s


class Api:
    """One API server behind one client object of its own. Time is monotonic: the server's clock does not matter."""

    def __init__(
        self,
        open_access: Open,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._open = open_access
        self._limits = limits or Limits()
        self._clock = clock
        self._sleep = sleep
        self._access: Access = open_access()
        self._began = clock()

    @property
    def access(self) -> Access:
        """The way in that is in use."""
        return self._access

    def begin_again(self) -> None:
        """Let the deadline of `Limits.total_s` begin now."""
        self._began = self._clock()

    def close(self) -> None:
        """Let the connections go."""
        self._access.client.close()

    def versions(self) -> dict[str, tuple[str, ...]]:
        """Return the versions the server has of each API group, its preferred one first."""
        answer, _ = self.get("/apis", {}, "discover API groups")
        groups = answer.get("groups")
        found = {}
        for row in groups if isinstance(groups, list) else ():
            if isinstance(row, dict) and isinstance(row.get("name"), str):
                rows = row.get("versions")
                names = [text_of(one.get("version")) for one in rows or () if isinstance(one, dict)]
                found[row["name"]] = tuple(filter(None, names))
        return found

    def objects(self, resource: KubeResource, version: str, namespace: str, selector: str = "") -> list[KubeObject]:
        """Return all objects of a resource, page by page; a listing that expires half way starts again."""
        for restart in count():
            try:
                return [found for page in self._pages(resource, version, namespace, selector) for found in page]
            except RefusedError as fault:
                if fault.status != _GONE or restart >= self._limits.restarts:
                    raise
        raise AssertionError

    def object(self, resource: KubeResource, namespace: str, name: str) -> KubeObject:
        """Return one object of the core API by name; one that is gone is asked for once more, then explained."""
        path = f"/api/{resource.versions[0]}/namespaces/{namespace}/{resource.plural}/{quote(name)}"
        what = f"get {resource.name} {visible(name)} in namespace {visible(namespace)}"
        for again in (True, False):
            try:
                body, _ = self.get(path, {}, what)
                return object_of(body, resource.name)
            except RefusedError as fault:
                if fault.status not in _MOVED or not again:
                    raise
        raise AssertionError

    def _pages(self, resource: KubeResource, version: str, namespace: str, selector: str) -> Iterator[list[KubeObject]]:
        api_version = f"{resource.group}/{version}" if resource.group else version
        path = f"/apis/{api_version}" if resource.group else f"/api/{version}"
        if resource.namespaced and namespace:
            path += f"/namespaces/{namespace}"
        path += f"/{resource.plural}"
        what = f"list {resource.name}" + (f" in namespace {visible(namespace)}" if namespace else "")
        query = {"limit": str(self._limits.page)} | ({"labelSelector": selector} if selector else {})
        for _ in range(MOST_PAGES):
            answer, page = self.get(path, query, what)
            if not str(answer.get("kind")).endswith("List"):
                raise SourceError(f"cannot {what}", self._wrong(path, f"kind {visible(str(answer.get('kind')), 80)}"))
            yield objects_of(page, answer, resource, api_version)
            metadata = answer.get("metadata")
            following = metadata.get("continue") if isinstance(metadata, dict) else None
            if not following:
                return
            query = query | {"continue": str(following)}
        raise SourceError(f"cannot {what}", f"{self._url(path)} never ends: {MOST_PAGES} pages")

    def get(self, path: str, query: dict[str, str], what: str) -> tuple[dict[str, Any], bytes]:
        """Return one JSON object and its bytes; tries again what may pass, within the deadline."""
        renewed = False
        for attempt in count(1):
            try:
                return self._once(path, query, what)
            except _TransientError as passing:
                wait = self._wait(passing, attempt)
                if attempt >= self._limits.tries or self._clock() + wait > self._deadline:
                    raise _given_up(passing.fault, attempt) from passing
                self._sleep(wait)
            except RefusedError as refused:
                # A token may have been rotated since it was read: ask once more with what is on disk now.
                if refused.status != _UNAUTHORIZED or renewed:
                    raise
                renewed = True
                self._renew()
        raise AssertionError

    def send(self, method: str, path: str, body: Mapping[str, Any], what: str) -> dict[str, Any]:
        """Create, replace or delete one object and return the answer. Tried once: nobody knows what a lost try did.

        Credentials that are refused have done nothing: they are read anew, once.
        """
        sent = json.dumps(body).encode()
        try:
            return self._once(path, {}, what, method, sent)[0]
        except _TransientError as passing:
            raise passing.fault from passing
        except RefusedError as refused:
            if refused.status != _UNAUTHORIZED:
                raise
        self._renew()
        try:
            return self._once(path, {}, what, method, sent)[0]
        except _TransientError as passing:
            raise passing.fault from passing

    @property
    def _deadline(self) -> float:
        return self._began + self._limits.total_s

    def _renew(self) -> None:
        self._access.client.close()
        self._access = self._open()

    def _wait(self, passing: _TransientError, attempt: int) -> float:
        backoff: float = min(8.0, 0.25 * 2.0**attempt) * (0.5 + random.random() / 2)  # noqa: S311 - jitter, not a secret
        return backoff if passing.wait_s is None else passing.wait_s + backoff / 4

    def _once(
        self, path: str, query: dict[str, str], what: str, method: str = "GET", sent: bytes | None = None
    ) -> tuple[dict[str, Any], bytes]:
        import urllib3

        left = self._deadline - self._clock()
        if left <= 0:
            raise SourceError(f"cannot {what}", self._late(path))
        limits = self._limits
        timeout = urllib3.Timeout(connect=min(limits.connect_s, left), read=min(limits.read_s, left))
        url = self._access.client.configuration.host.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        try:
            response = self._access.client.rest_client.pool_manager.request(
                method,
                url,
                body=sent,
                headers=_FORMS | self._access.credentials(),
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                body = self._body(response, path, what)
            finally:
                response.release_conn()
        except urllib3.exceptions.HTTPError as fault:
            raise self._unreachable(fault, path, what) from fault
        if response.status not in _SUCCESS:
            raise self._refused(response, body, path, what)
        return self._parsed(body, response, path, what), body

    def _body(self, response: Any, path: str, what: str) -> bytes:
        """Read a body as it comes: a server that drips one byte a second never meets a read timeout."""
        parts: list[bytes] = []
        size = 0
        while chunk := response.read1(_CHUNK):
            parts.append(chunk)
            size += len(chunk)
            if size > MOST_BODY_BYTES:
                response.close()
                raise SourceError(f"cannot {what}", f"{self._url(path)} answers more than {MOST_BODY_BYTES >> 20} MiB")
            if self._clock() > self._deadline:
                response.close()
                raise SourceError(f"cannot {what}", self._late(path))
        return b"".join(parts)

    def _parsed(self, body: bytes, response: Any, path: str, what: str) -> dict[str, Any]:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as fault:
            form = visible(str(response.headers.get("content-type")), 80)
            raise SourceError(f"cannot {what}", self._wrong(path, f"{len(body)} bytes of {form}, no JSON")) from fault
        if not isinstance(answer, dict):
            raise SourceError(f"cannot {what}", self._wrong(path, "JSON that is no object"))
        return answer

    def _wrong(self, path: str, answered: str) -> str:
        return f"{self._url(path)} answers {answered}: is this a Kubernetes API server, and whole?"

    def _late(self, path: str) -> str:
        return f"no answer from {self._url(path)} within {self._limits.total_s:g} s (--deadline)"

    def _url(self, path: str) -> str:
        return self._access.server.rstrip("/") + visible(path)

    def _refused(self, response: Any, body: bytes, path: str, what: str) -> Exception:
        status, said = int(response.status), _message(body)
        fault = RefusedError(f"cannot {what}", f"{self._url(path)} answers {_meaning(status, what)}{said}", status)
        if status in _TRANSIENT:
            return _TransientError(fault, _retry_after(response.headers.get("retry-after")))
        return fault

    def _unreachable(self, fault: Exception, path: str, what: str) -> Exception:
        import urllib3.exceptions as faults

        said = SourceError(f"cannot {what}", f"{self._url(path)}: {_cause(fault, self._access)}")
        elapsed = f" ({self._clock() - self._began:.1f} s after the start)"
        if isinstance(fault, faults.ReadTimeoutError):
            return SourceError(f"cannot {what}", f"no answer from {self._url(path)}{elapsed}")
        if isinstance(fault, faults.ConnectTimeoutError) and not isinstance(fault, faults.NewConnectionError):
            return SourceError(f"cannot {what}", f"no connection to {self._url(path)}{elapsed}")
        if isinstance(fault, faults.SSLError | faults.ProxyError | faults.LocationValueError):
            return said
        return _TransientError(said)


def _given_up(fault: SourceError, tries: int) -> NetkitError:
    said = f"{fault.where}; tried {tries} times"
    if isinstance(fault, RefusedError):
        return RefusedError(fault.what, said, fault.status)
    return SourceError(fault.what, said)


def _meaning(status: int, what: str) -> str:
    verb, _, rest = what.partition(" ")
    words = {
        401: "401: the credentials are not valid or have expired",
        403: f"403: you lack verb {verb!r} on {rest} (see: netkit deploy rbac)",
        404: "404: it is not there (any more)",
        409: "409: it is being changed by somebody else",
        410: "410: the listing expired while it was read",
        429: "429: API throttled",
    }
    return words.get(status, str(status))


def _message(body: bytes) -> str:
    try:
        said = json.loads(body).get("message")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return f" ({visible(said, 300)})" if isinstance(said, str) and said else ""


def _retry_after(header: str | None) -> float | None:
    # A date is not honoured: the server's clock may be wrong.
    return float(header) if header and header.isascii() and header.isdigit() and len(header) < 6 else None


def _cause(fault: Exception, access: Access) -> str:
    """Say in one phrase why a connection failed, naming a proxy where one stood between."""
    text = visible(" ".join(str(fault).split()), 300)
    proxy = access.client.configuration.proxy
    if proxy and str(proxy) in text:
        text = text.replace(str(proxy), without_userinfo(str(proxy)))
    if type(fault).__name__ == "ProxyError":
        return f"through the proxy {without_userinfo(str(proxy))}: {text}"
    if type(fault).__name__ == "SSLError":
        return f"the certificate is not accepted: {text}; netkit never turns verification off"
    return text
