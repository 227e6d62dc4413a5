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


@dataclass(kw_only=True, slots=True)
class Api:
    """One user's view of an API server."""

    server: str
    certificate: Path
    token: str
    _plurals: dict[tuple[str, str], tuple[str, bool]] = field(default_factory=dict)

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
        if "status" not in wanted:
            return made
        return self.merge(f"{path}/status", {"status": wanted["status"]})

    def create_text(self, path: str, manifest: bytes) -> Object:
        """Create one object as its project publishes it, in YAML."""
        return self._send("POST", path, manifest, "application/yaml")

    def path_of(self, wanted: Object) -> str:
        """Where an object lives, by the server's own word on its kind."""
        version, kind, metadata = wanted["apiVersion"], wanted["kind"], wanted["metadata"]
        plural, namespaced = self._plural(version, kind)
        within = f"namespaces/{metadata.get('namespace', 'default')}/" if namespaced else ""
        return f"{_root(version)}/{within}{plural}/{metadata['name']}"

    def _plural(self, version: str, kind: str) -> tuple[str, bool]:
        if (version, kind) not in self._plurals:
            for row in self.get(_root(version))["resources"]:
                if "/" not in row["name"]:
                    self._plurals[version, row["kind"]] = (row["name"], row["namespaced"])
        if (version, kind) not in self._plurals:
            raise LookupError(f"the server knows no {kind} in {version}")
        return self._plurals[version, kind]

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
