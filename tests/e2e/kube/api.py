"""The least client the tests need to put objects on a real API server: JSON over HTTPS, server-side apply.

Kubernetes API concepts, "Server-Side Apply": https://kubernetes.io/docs/reference/using-api/server-side-apply/.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Object = dict[str, Any]
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
REQUEST_SECONDS = 30


class RefusedError(Exception):
    """The server said no: its HTTP status and its own message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """What discovery says of one kind of object."""

    plural: str
    namespaced: bool
    has_status: bool
    """Whether its status is written on its own path alone."""


@dataclass(kw_only=True, slots=True)
class Api:
    """One user's view of an API server."""

    server: str
    certificate: Path
    token: str
    _kinds: dict[tuple[str, str], Kind] = field(default_factory=dict)

    def get(self, path: str) -> Object:
        return self._call("GET", path)

    def items(self, path: str) -> list[Object]:
        found: list[Object] = self.get(path)["items"]
        return found

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        return self._call("POST", path, body, "application/json")

    def merge(self, path: str, body: Mapping[str, Any]) -> Object:
        return self._call("PATCH", path, body, MERGE)

    def delete(self, path: str) -> None:
        self._call("DELETE", path)

    def apply(self, wanted: Object) -> Object:
        """Create or change an object, and its status where it has one: the server drops status from a plain apply."""
        path = self.path_of(wanted)
        made = self._call("PATCH", f"{path}?fieldManager=tests&force=true", wanted, APPLY)
        if "status" not in wanted or not self._kind(wanted).has_status:
            return made
        return self.merge(f"{path}/status", {"status": wanted["status"]})

    def create_text(self, path: str, manifest: bytes) -> Object:
        """Create one object as its project publishes it, in YAML."""
        return self._send("POST", path, manifest, "application/yaml")

    def path_of(self, wanted: Object) -> str:
        """Where an object lives, by the server's own word on its kind."""
        kind, metadata = self._kind(wanted), wanted["metadata"]
        within = f"namespaces/{metadata.get('namespace', 'default')}/" if kind.namespaced else ""
        return f"{_root(wanted['apiVersion'])}/{within}{kind.plural}/{metadata['name']}"

    def _kind(self, wanted: Object) -> Kind:
        version, name = wanted["apiVersion"], wanted["kind"]
        if (version, name) not in self._kinds:
            rows = self.get(_root(version))["resources"]
            names = {row["name"] for row in rows}
            for row in (row for row in rows if "/" not in row["name"]):
                self._kinds[version, row["kind"]] = Kind(
                    plural=row["name"], namespaced=row["namespaced"], has_status=f"{row['name']}/status" in names
                )
        if (version, name) not in self._kinds:
            raise LookupError(f"the server knows no {name} in {version}")
        return self._kinds[version, name]

    def _call(self, verb: str, path: str, body: Mapping[str, Any] | None = None, media: str = "") -> Object:
        return self._send(verb, path, json.dumps(body).encode() if body is not None else None, media)

    def _send(self, verb: str, path: str, data: bytes | None, media: str) -> Object:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if media:
            headers["Content-Type"] = media
        asked = urllib.request.Request(f"{self.server}{path}", data, headers, method=verb)
        trust = ssl.create_default_context(cafile=str(self.certificate))
        try:
            with urllib.request.urlopen(asked, timeout=REQUEST_SECONDS, context=trust) as answer:
                text = answer.read()
        except urllib.error.HTTPError as refusal:
            raise RefusedError(refusal.code, _message(refusal.read())) from refusal
        return json.loads(text) if text.startswith(b"{") else {"text": text.decode()}


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _message(said: bytes) -> str:
    try:
        return str(json.loads(said)["message"])
    except (ValueError, KeyError):
        return said.decode(errors="replace")[:500]
