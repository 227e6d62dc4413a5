"""Where an API server is and how the Kubernetes client would reach it: addresses, certificates, credentials, proxy.

Tunnels through a proxy: RFC 9110, section 9.3.6.
"""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from netkit.errors import InputError, SourceError
from netkit.model.text import visible
from netkit.sources.kube.config import Access

Addresses = tuple[tuple[socket.AddressFamily, tuple[Any, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where an API server is and how it is spoken to; may be shared, nothing in it changes."""

    server: str
    """As it may be shown."""
    host: str
    port: int
    prefix: str
    addresses: Addresses = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    tls: ssl.SSLContext | None = None
    tls_name: str = ""
    tunnel: bytes = field(default=b"", repr=False)
    """The request that makes a proxy connect; empty without one."""


def endpoint_of(access: Access) -> Endpoint:
    """Return where the Kubernetes client would connect to, and how.

    Raises:
        SourceError: the name of the server cannot be resolved.
        InputError: the way leads through a kind of proxy that netkit cannot use for this.
    """
    parts = urlsplit(str(access.client.configuration.host))
    secure = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if secure else 80)
    pools = access.client.rest_client.pool_manager
    proxy, tunnel = _proxy(pools, host, port)
    options = pools.connection_pool_kw
    return Endpoint(
        server=access.server,
        host=host,
        port=port,
        prefix=parts.path.rstrip("/"),
        addresses=_resolved(access.server, *(proxy or (host, port))),
        headers=access.credentials(),
        tls=_context(options) if secure else None,
        tls_name=options.get("server_hostname") or host,
        tunnel=tunnel,
    )


def _proxy(pools: Any, host: str, port: int) -> tuple[tuple[str, int] | None, bytes]:
    proxy = getattr(pools, "proxy", None)
    if proxy is None and not hasattr(pools, "proxy_url"):
        return None, b""
    if proxy is None or proxy.scheme != "http":
        raise InputError("a SOCKS or TLS proxy on the way to the pods", "an http:// proxy, or none (NO_PROXY)")
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.auth:
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(unquote(proxy.auth).encode()).decode()}")
    return (proxy.host.strip("[]"), proxy.port or 80), "\r\n".join([*lines, "", ""]).encode()


def _resolved(server: str, host: str, port: int) -> Addresses:
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as fault:
        raise SourceError("cannot reach the pods", f"{server}: {visible(host, 200)}: {fault}") from fault
    return tuple((family, address) for family, _, _, _, address in rows)


def _context(options: Mapping[str, Any]) -> ssl.SSLContext:
    authority = options.get("ca_cert_data")
    context = ssl.create_default_context(cafile=options.get("ca_certs"), cadata=authority)
    if options.get("cert_reqs") == ssl.CERT_NONE or options.get("assert_hostname") is False:
        context.check_hostname = False
    if options.get("cert_reqs") == ssl.CERT_NONE:
        context.verify_mode = ssl.CERT_NONE
    if options.get("cert_file"):
        context.load_cert_chain(options["cert_file"], options.get("key_file"))
    return context
