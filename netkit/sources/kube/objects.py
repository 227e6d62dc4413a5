"""Pages of the Kubernetes API turned into objects: cut down to what netkit uses, and made safe to show, once, here.

A list answer (https://kubernetes.io/docs/reference/using-api/api-concepts/) holds `items` without kind and version.
What no command reads is dropped while the page is still being read: managed fields, applied configuration, images of
nodes, commands, and the values of environment variables that are not about communication (they hold passwords).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from netkit.catalogue.kube_resources import KubeResource
from netkit.model.kube_object import KubeObject
from netkit.model.text import visible

MOST_TEXT = 64 * 1024
_DEEPEST = 48

_ESCAPE = re.compile(rb'\\[^"\\/]')
_SPACES = str.maketrans({"\n": " ", "\r": " ", "\t": " "})

COMMUNICATION = re.compile(
    r"(?:NCCL|RCCL|HCCL|MCCL|CNCL|UCX|GLOO|OMPI_MCA|PRTE_MCA|I_MPI|HYDRA|MPI|PET|VC|VK|MASTER|LWS|TPU|RAY|K_MPI|DLROVER"
    r"|JOB_COMPLETION|PCIDEVICE|FI|IBV)_\w*|RANK|LOCAL_RANK|WORLD_SIZE|NODE_RANK|NODE_NUM|NODE_ID|NODE_TYPE|TF_CONFIG"
    r"|DLTS_HOSTFILE|\w+_VISIBLE_DEVICES"
)
_SECRET = re.compile(r"(?i)password|passwd|secret|token|credential|_key$")

_DROPPED_ANYWHERE = (("metadata", "managedFields"), ("metadata", "selfLink"))
_DROPPED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "pods": (
        ("spec", "tolerations"),
        ("spec", "affinity"),
        ("spec", "imagePullSecrets"),
        ("spec", "topologySpreadConstraints"),
        ("spec", "readinessGates"),
    ),
    "nodes": (("status", "images"), ("status", "volumesAttached"), ("status", "volumesInUse")),
}
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONTAINER_FIELDS = frozenset({"name", "image", "resources", "env", "ports", "securityContext", "volumeMounts"})
_VOLUME_FIELDS = frozenset({"name", "emptyDir", "configMap", "hostPath", "persistentVolumeClaim"})


def objects_of(page: bytes, answer: Mapping[str, Any], resource: KubeResource, api_version: str) -> list[KubeObject]:
    """Return the objects of one parsed list answer; entries that are no objects are left out."""
    clean = _nothing_to_clean(page)
    items = answer.get("items")
    bodies = (item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()
    return [_object(body, resource, api_version, clean=clean) for body in bodies]


def _nothing_to_clean(page: bytes) -> bool:
    """Tell whether a whole page is visible ASCII: JSON holds control characters only as escapes, but for DEL."""
    if not page.isascii() or b"\x7f" in page:
        return False
    return b"\\" not in page or _ESCAPE.search(page) is None


def object_of(body: dict[str, Any], resource: str) -> KubeObject:
    """Return one object that comes from outside, such as a line of a bundle."""
    _prune(body, resource)
    return KubeObject(resource, cleaned(body))


def _object(body: dict[str, Any], resource: KubeResource, api_version: str, *, clean: bool) -> KubeObject:
    body.setdefault("kind", resource.kind)
    body.setdefault("apiVersion", api_version)
    _prune(body, resource.name)
    return KubeObject(resource.name, body if clean else cleaned(body))


def cleaned(value: Any, depth: int = 0) -> Any:
    """Return JSON with every text in it on one line and visible; what is nested too deep becomes None."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        inner = value.items() if depth < _DEEPEST else ()
        return {clean_text(str(key)): cleaned(one, depth + 1) for key, one in inner}
    if isinstance(value, list):
        return [cleaned(one, depth + 1) for one in value] if depth < _DEEPEST else []
    return value


def clean_text(text: str) -> str:
    """Return a text on one line; line breaks of JSON inside an annotation are only spaces there."""
    if text.isascii() and text.isprintable() and len(text) <= MOST_TEXT:
        return text
    if text.lstrip()[:1] in ("{", "["):
        text = text.translate(_SPACES)
    return visible(text, MOST_TEXT)


def _prune(body: dict[str, Any], resource: str) -> None:
    for part, field in (*_DROPPED_ANYWHERE, *_DROPPED.get(resource, ())):
        inner = body.get(part)
        if isinstance(inner, dict):
            inner.pop(field, None)
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict):
        annotations.pop(_APPLIED, None)
    if resource == "configmaps":
        _split_lines(body)
    else:
        _prune_containers(body.get("spec"))


def _split_lines(body: dict[str, Any]) -> None:
    """Hold the files of a ConfigMap as lists of lines: a line break is structure there, not decoration."""
    data = body.get("data")
    if isinstance(data, dict):
        body["data"] = {name: _lines(text) for name, text in data.items()}


def _lines(text: Any) -> Any:
    return text[:MOST_TEXT].splitlines() if isinstance(text, str) else text


def _prune_containers(value: Any, depth: int = 0) -> None:
    """Cut containers and volumes down wherever a pod template may stand: jobs hold them several levels deep."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            _prune_containers(one, depth + 1)
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key in ("containers", "initContainers", "ephemeralContainers") and isinstance(inner, list):
            value[key] = [_container(one) for one in inner if isinstance(one, dict)]
        elif key == "volumes" and isinstance(inner, list):
            value[key] = [_kept(one, _VOLUME_FIELDS) for one in inner if isinstance(one, dict)]
        elif isinstance(inner, dict | list) and key != "annotations":
            _prune_containers(inner, depth + 1)


def _container(container: dict[str, Any]) -> dict[str, Any]:
    kept = _kept(container, _CONTAINER_FIELDS)
    env = kept.get("env")
    if isinstance(env, list):
        kept["env"] = _communication(one for one in env if isinstance(one, dict))
    return kept


def _kept(row: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key in fields}


def _communication(env: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in env if _is_communication(str(one.get("name")))]


def _is_communication(name: str) -> bool:
    return COMMUNICATION.fullmatch(name) is not None and _SECRET.search(name) is None
