"""A kubelet that serves pod-resources over a unix socket: a real gRPC server with made-up answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path

import grpc

Held = tuple[str, str, str, str, Sequence[str]]
"""Namespace, pod, container, resource, device names."""


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*parts, value))


def reply(held: Sequence[Held]) -> bytes:
    """ListPodResourcesResponse, one pod for each entry, with fields newer than netkit among them."""
    return b"".join(_field(1, _pod(*one)) for one in held)


def _pod(namespace: str, pod: str, container: str, resource: str, devices: Sequence[str]) -> bytes:
    topology = _field(3, _field(1, b"\x08\x01"))
    plugin = _field(1, resource.encode()) + b"".join(_field(2, name.encode()) for name in devices) + topology
    inside = _field(1, container.encode()) + _field(2, plugin) + _varint(3 << 3) + _varint(7)
    return _field(1, pod.encode()) + _field(2, namespace.encode()) + _field(3, inside)


def claim(pod: str, driver: str, device: str) -> bytes:
    """A pod that holds a device by dynamic resource allocation."""
    resource = _field(2, driver.encode()) + _field(3, b"pool-a") + _field(4, device.encode())
    inside = _field(1, b"main") + _field(5, _field(2, b"claim-a") + _field(4, resource))
    return _field(1, _field(1, pod.encode()) + _field(2, b"default") + _field(3, inside))


@contextmanager
def kubelet(socket: Path, answer: Callable[[], bytes]) -> Iterator[None]:
    """Serve until the end of the block."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    listing = grpc.unary_unary_rpc_method_handler(lambda _request, _context: answer())
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", {"List": listing}),))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    try:
        yield
    finally:
        server.stop(grace=None).wait()
