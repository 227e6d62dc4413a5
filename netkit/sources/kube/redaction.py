"""Bundles without names of machines: the objects of one cluster with everything that identifies a node replaced.

Addresses, UUIDs and serial numbers go as in recordings (`netkit.sources.redaction`); so do names of nodes, and
annotations that no gang or device system is known to write. Names of namespaces, pods and jobs stay: one asks by them.
"""

from __future__ import annotations

import re
from typing import Any

from netkit.catalogue.kube_annotations import is_known
from netkit.model.gang_snapshot import GangSnapshot
from netkit.sources.redaction import Redactor

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9]")


class BundleRedactor:
    """Replace what identifies machines in the objects of one bundle, each always by the same thing.

    With `keep_names` only annotations of nobody known go: they may hold anything.
    """

    def __init__(self, snapshot: GangSnapshot, key: bytes | None = None, *, keep_names: bool = False) -> None:
        self._keep_names = keep_names
        self._redactor = Redactor(key=key)
        self._nodes = {name: self._redactor.alias(name) for name in _node_names(snapshot)}

    def __call__(self, value: Any, inside: str = "") -> Any:
        """Return JSON with everything that identifies replaced."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self(one) for one in value]
        if isinstance(value, dict):
            kept = value if inside != "annotations" else {key: one for key, one in value.items() if is_known(key)}
            return {self._text(key): self(one, key) for key, one in kept.items()}
        return value

    def _text(self, text: str) -> str:
        if self._keep_names:
            return text
        words = _WORD.sub(lambda match: self._nodes.get(match[0], match[0]), text) if self._nodes else text
        return self._redactor.text(words)


def _node_names(snapshot: GangSnapshot) -> set[str]:
    named = {node.name for node in snapshot.objects("nodes")}
    placed = {pod.text("spec", "nodeName") for pod in snapshot.objects("pods")}
    return (named | placed) - {""}
