"""An API server in memory, behind the client's own connection pool: what it answers, the real `Api` reads.

Synthetic. It keeps the rules that locks rest on (https://kubernetes.io/docs/reference/using-api/api-concepts/): one
object a name, a uid for each object made, a resource version that grows with every write, 409 to whoever writes or
deletes something else than he read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from netkit.sources.kube.config import Access

Body = dict[str, Any]
EPOCH = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Request:
    """What a client asks."""

    method: str
    path: str
    query: dict[str, str]
    body: Body | None

    @property
    def verb(self) -> str:
        single = self.path.rsplit("/", 1)[-1] not in COLLECTIONS
        return {"POST": "create", "PUT": "update", "DELETE": "delete", "GET": "get" if single else "list"}[self.method]


@dataclass(frozen=True)
class Reply:
    """What it is told."""

    status: int
    body: Body


COLLECTIONS = ("leases", "configmaps", "jobs", "pods", "events")


@dataclass
class MemoryServer:
    """Objects by path. `now` is the server's clock, seconds after an arbitrary date."""

    objects: dict[str, Body] = field(default_factory=dict)
    now: Callable[[], float] = lambda: 0.0
    on_change: Callable[[str, str, Body], None] = lambda _verb, _path, _body: None
    asked: list[Request] = field(default_factory=list)
    _count: int = 0

    def answer(self, request: Request) -> Reply:
        """Carry out one request."""
        self.asked.append(request)
        return {"GET": self._get, "POST": self._create, "PUT": self._replace, "DELETE": self._delete}[request.method](
            request
        )

    def put(self, path: str, body: Body) -> Body:
        """Have an object that nobody asked for."""
        self._count += 1
        stamp = (EPOCH + timedelta(seconds=self.now())).isoformat().replace("+00:00", "Z")
        body = deepcopy(body)
        made = {"uid": f"uid-{self._count}", "resourceVersion": str(self._count), "creationTimestamp": stamp}
        body.setdefault("metadata", {}).update(made)
        self.objects[path] = body
        return body

    def _get(self, request: Request) -> Reply:
        if request.path in self.objects:
            return Reply(200, deepcopy(self.objects[request.path]))
        if request.path.rsplit("/", 1)[-1] not in COLLECTIONS:
            return _status(404)
        wanted = dict(part.split("=", 1) for part in request.query.get("labelSelector", "").split(",") if part)
        items = [
            deepcopy(body)
            for path, body in sorted(self.objects.items())
            if path.rsplit("/", 1)[0] == request.path and wanted.items() <= body["metadata"].get("labels", {}).items()
        ]
        return Reply(200, {"kind": "List", "metadata": {}, "items": items})

    def _create(self, request: Request) -> Reply:
        assert request.body is not None
        path = f"{request.path}/{request.body['metadata']['name']}"
        if path in self.objects:
            return _status(409)
        made = self.put(path, request.body)
        self.on_change("create", path, made)
        return Reply(201, deepcopy(made))

    def _replace(self, request: Request) -> Reply:
        known = self.objects.get(request.path)
        if known is None:
            return _status(404)
        assert request.body is not None
        said = request.body["metadata"]
        if any(said.get(key) != known["metadata"][key] for key in ("uid", "resourceVersion")):
            return _status(409)
        self._count += 1
        fresh = deepcopy(request.body)
        fresh["metadata"]["resourceVersion"] = str(self._count)
        self.objects[request.path] = fresh
        return Reply(200, deepcopy(fresh))

    def _delete(self, request: Request) -> Reply:
        known = self.objects.get(request.path)
        if known is None:
            return _status(404)
        wanted = (request.body or {}).get("preconditions", {})
        if any(known["metadata"][key] != value for key, value in wanted.items()):
            return _status(409)
        del self.objects[request.path]
        self.on_change("delete", request.path, known)
        return Reply(200, {"kind": "Status", "status": "Success"})


def _status(code: int) -> Reply:
    return Reply(code, {"kind": "Status", "status": "Failure", "code": code, "message": "no"})


def access(carry: Callable[[Request], Reply]) -> Access:
    """Return a way in whose requests `carry` takes; what it raises, the client sees as its pool's own error."""

    def request(method: str, url: str, body: bytes | None = None, **_: Any) -> Any:
        parts = urlsplit(url)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        reply = carry(Request(method, parts.path, query, json.loads(body) if body else None))
        return _Response(reply)

    pool = SimpleNamespace(request=request)
    configuration = SimpleNamespace(host="https://memory", proxy=None, auth_settings=dict)
    client = SimpleNamespace(
        configuration=configuration, rest_client=SimpleNamespace(pool_manager=pool), close=lambda: None
    )
    return Access(client=client, server="https://memory", namespace="default", warnings=())


class _Response:
    def __init__(self, reply: Reply) -> None:
        self.status = reply.status
        self.headers: dict[str, str] = {"content-type": "application/json"}
        self._rest = json.dumps(reply.body).encode()

    def read1(self, _size: int) -> bytes:
        body, self._rest = self._rest, b""
        return body

    def release_conn(self) -> None: ...

    def close(self) -> None: ...
