"""Which pod holds which device: the kubelet's pod-resources service, version 1.

Kubernetes: k8s.io/kubelet/pkg/apis/podresources/v1/api.proto, served on a unix socket of the node. The few messages
needed are decoded here by field number (protobuf wire format); unknown fields are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netkit.errors import SourceError
from netkit.model.text import visible
from netkit.sources.unary_call import call

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
DEADLINE_SECONDS = 2.0
_LIST = "/v1.PodResourcesLister/List"
_MOST_DEVICES = 65_536
_LONGEST_NAME = 253
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}

Field = tuple[int, bytes]
"""A field number and the bytes of a length-delimited field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDevice:
    """One device that a container holds, under the name its plugin gave it."""

    namespace: str
    pod: str
    container: str
    resource: str
    """`nvidia.com/gpu`, `rdma/hca_shared_devices_a`; of a claim its driver."""
    device: str


def read_held_devices(path: str = SOCKET, seconds: float = DEADLINE_SECONDS) -> tuple[HeldDevice, ...]:
    """Return every device pods hold now; SourceError when the kubelet cannot be asked or its answer cannot be read."""
    reply = call(path, _LIST, seconds)
    try:
        return parse_held_devices(reply)
    except ValueError as fault:
        raise SourceError(f"not an answer of the pod-resources service: {fault}", visible(path)) from fault


def parse_held_devices(reply: bytes) -> tuple[HeldDevice, ...]:
    """Read ListPodResourcesResponse; ValueError for bytes that are no such message."""
    return tuple(held for _, held in zip(range(_MOST_DEVICES), _held(reply), strict=False))


def _held(reply: bytes) -> Iterator[HeldDevice]:
    for pod in _inside(reply, 1):
        name, namespace = _text(pod, 1), _text(pod, 2)
        for container in _inside(pod, 3):
            for resource, device in (*_plugin_devices(container), *_claimed_devices(container)):
                yield HeldDevice(
                    namespace=namespace, pod=name, container=_text(container, 1), resource=resource, device=device
                )


def _plugin_devices(container: bytes) -> Iterator[tuple[str, str]]:
    for devices in _inside(container, 2):
        for identity in _inside(devices, 2):
            yield _text(devices, 1), _shown(identity)


def _claimed_devices(container: bytes) -> Iterator[tuple[str, str]]:
    """Dynamic resource allocation: a claim names driver, pool and device."""
    for claim in _inside(container, 5):
        for resource in _inside(claim, 4):
            yield _text(resource, 2), _text(resource, 4)


def _inside(message: bytes, number: int) -> Iterator[bytes]:
    return (value for found, value in fields(message) if found == number)


def _text(message: bytes, number: int) -> str:
    return _shown(next(_inside(message, number), b""))


def _shown(value: bytes) -> str:
    return visible(value.decode(errors="surrogateescape"), _LONGEST_NAME)


def fields(message: bytes) -> Iterator[Field]:
    """Yield the length-delimited fields of a message; ValueError where it is cut or malformed."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            _, at = _varint(message, at)
            continue
        size, at = (_FIXED_SIZES[kind], at) if kind in _FIXED_SIZES else _length(message, at, kind)
        if at + size > len(message):
            raise ValueError("a field reaches beyond its message")
        if kind == _BYTES:
            yield number, message[at : at + size]
        at += size


def _length(message: bytes, at: int, kind: int) -> tuple[int, int]:
    if kind != _BYTES:
        raise ValueError(f"wire type {kind}")
    return _varint(message, at)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise ValueError("a number is cut")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    raise ValueError("a number longer than ten bytes")
