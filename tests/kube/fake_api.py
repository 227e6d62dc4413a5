"""An API server in a thread: discovery, lists in pages, label selectors, over real sockets, with scripted faults.

Synthetic. It answers like kube-apiserver where netkit looks: group list, List kinds without kinds in items, `limit` and
`continue`, Status objects for errors. `script` holds faults by path, each taken once, before normal answers.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from netkit.catalogue.kube_resources import RESOURCES, KubeResource

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Call:
    """One request as RBAC sees it, and the token it came with."""

    verb: str
    resource: str
    namespace: str
    token: str
    path: str


@dataclass
class FakeApi:
    """Objects by resource; `served` chooses versions, `denied` resources that answer 403."""

    objects: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    served: dict[str, tuple[str, ...]] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    tokens: set[str] | None = None
    calls: list[Call] = field(default_factory=list)
    script: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    port: int = 0
    certificate: tuple[Path, Path] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    def add(self, *bodies: dict[str, Any]) -> FakeApi:
        """Put objects where their kind and group say; their group is served from now on."""
        for body in bodies:
            resource, version = place_of(body)
            self.objects.setdefault(resource.name, []).append(body)
            if resource.group:
                known = self.served.get(resource.group, ())
                self.served[resource.group] = tuple(dict.fromkeys((*known, version)))
        return self

    async def handle(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        resource, version, namespace, one = _asked(request.path)
        name = resource.name if resource else request.path
        self.calls.append(Call("list" if resource and not one else "get", name, namespace, token, request.path_qs))
        if self.script.get(request.path):
            return await self.script[request.path].pop(0)(request)
        if self.tokens is not None and token not in self.tokens:
            return status(401, "Unauthorized")
        if request.path == "/apis":
            return web.json_response({"kind": "APIGroupList", "groups": [_group(*one) for one in self.served.items()]})
        if resource is None or (resource.group and version not in self.served.get(resource.group, ())):
            return status(404, "the server could not find the requested resource")
        return self._granted(request, resource, version, namespace, one)

    def _granted(
        self, request: web.Request, resource: KubeResource, version: str, namespace: str, one: str
    ) -> web.Response:
        if resource.name in self.denied:
            return status(403, f'{resource.plural} is forbidden: User "system:anonymous" cannot list resource')
        return self._one(resource, namespace, one) if one else self._page(request, resource, version, namespace)

    def _one(self, resource: KubeResource, namespace: str, name: str) -> web.Response:
        for body in self.objects.get(resource.name, []):
            if (body["metadata"].get("namespace"), body["metadata"]["name"]) == (namespace, name):
                return web.json_response(body)
        return status(404, f'{resource.plural} "{name}" not found')

    def _page(self, request: web.Request, resource: KubeResource, version: str, namespace: str) -> web.Response:
        chosen = [
            body
            for body in self.objects.get(resource.name, [])
            if _matches(body, resource, version, namespace, request.query.get("labelSelector", ""))
        ]
        start = int(request.query.get("continue", "0"))
        limit = int(request.query.get("limit", "0")) or len(chosen)
        metadata: dict[str, Any] = {"resourceVersion": "1"}
        if start + limit < len(chosen):
            metadata |= {"continue": str(start + limit), "remainingItemCount": len(chosen) - start - limit}
        items = [{key: value for key, value in body.items() if key not in ("kind", "apiVersion")} for body in chosen]
        answer = {"kind": f"{resource.kind}List", "apiVersion": "v1", "metadata": metadata}
        return web.json_response(answer | {"items": items[start : start + limit]})


def status(code: int, message: str, **headers: str) -> web.Response:
    """Return a Status object as the API server writes it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}
    return web.json_response(body, status=code, headers=headers)


def place_of(body: dict[str, Any]) -> tuple[KubeResource, str]:
    """Return the resource and version of an object; KeyError names a kind netkit does not list."""
    group, _, version = body["apiVersion"].rpartition("/")
    for resource in RESOURCES:
        if (resource.kind, resource.group) == (body["kind"], group):
            return resource, version
    raise KeyError(f"{body['apiVersion']} {body['kind']}")


def _asked(path: str) -> tuple[KubeResource | None, str, str, str]:
    parts = path.strip("/").split("/")
    group, version = ("", parts[1]) if parts[0] == "api" and len(parts) > 1 else ([*parts, "", ""])[1:3]
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = rest[1] if rest[:1] == ["namespaces"] and len(rest) > 2 else ""
    plural, one = ([*rest[2:], "", ""] if namespace else [*rest, "", ""])[:2]
    found = next((row for row in RESOURCES if (row.plural, row.group) == (plural, group)), None)
    return found, version, namespace, one


def _matches(body: dict[str, Any], resource: KubeResource, version: str, namespace: str, selector: str) -> bool:
    labels = body["metadata"].get("labels", {})
    wanted = [part.split("=", 1) for part in selector.split(",") if "=" in part]
    return (
        (not resource.group or body["apiVersion"] == f"{resource.group}/{version}")
        and (not namespace or body["metadata"].get("namespace") == namespace)
        and all(labels.get(key) == value for key, value in wanted)
    )


def _group(name: str, versions: tuple[str, ...]) -> dict[str, Any]:
    rows = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": rows, "preferredVersion": rows[0]}


class Running:
    """The server in its thread, for a `with`."""

    def __init__(self, api: FakeApi) -> None:
        self._api = api
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> FakeApi:
        self._thread.start()
        assert self._ready.wait(10)
        return self._api

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        runner = self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _start(self) -> web.AppRunner:
        application = web.Application()
        application.router.add_route("*", "/{anything:.*}", self._api.handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        context = None
        if self._api.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self._api.certificate)
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        self._api.port = runner.addresses[0][1]
        return runner


def write_kubeconfig(path: Path, url: str, **changes: Any) -> Path:
    """Write a kubeconfig with one context named `main`; changes replace user, cluster or current context."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": changes.get("context", "main"),
        "contexts": [
            {"name": "main", "context": {"cluster": "c", "user": "u", "namespace": changes.get("namespace", "team-a")}}
        ],
        "clusters": [{"name": "c", "cluster": {"server": url, **changes.get("cluster", {})}}],
        "users": [{"name": "u", "user": changes.get("user", {"token": "right"})}],
    }
    path.write_text(json.dumps(config))
    path.chmod(0o600)
    return path
