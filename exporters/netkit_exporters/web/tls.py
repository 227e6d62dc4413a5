"""From the web configuration to OpenSSL: versions, ciphers, curves, certificates, and whose certificates are welcome.

Names of ciphers and curves are Go's (crypto/tls), because that is what the files of other exporters hold.
"""

from __future__ import annotations

import os
import ssl
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from netkit.errors import InputError
from netkit.model.text import visible
from netkit_exporters.web.config import TlsConfig

_VERSIONS = MappingProxyType(
    {
        "TLS10": ssl.TLSVersion.TLSv1,
        "TLS11": ssl.TLSVersion.TLSv1_1,
        "TLS12": ssl.TLSVersion.TLSv1_2,
        "TLS13": ssl.TLSVersion.TLSv1_3,
    }
)
_CIPHERS = MappingProxyType(
    {
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
        "TLS_AES_128_GCM_SHA256": "",
        "TLS_AES_256_GCM_SHA384": "",
        "TLS_CHACHA20_POLY1305_SHA256": "",
    }
)
"""Go's names with OpenSSL's; those of TLS 1.3 are always on, in both."""
_CURVES = MappingProxyType(
    {"X25519": "X25519", "CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1"}
)
_VERIFY = MappingProxyType(
    {"VerifyClientCertIfGiven": ssl.CERT_OPTIONAL, "RequireAndVerifyClientCert": ssl.CERT_REQUIRED}
)
_SAN_KINDS = frozenset(("DNS", "IP Address", "email", "URI"))


def context_of(tls: TlsConfig, folder: Path) -> ssl.SSLContext:
    """Return the context; file names are relative to `folder`. InputError says what cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = _VERSIONS[tls.min_version], _VERSIONS[tls.max_version]
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION
    if tls.prefer_server_cipher_suites:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    ciphers = [_named(name, _CIPHERS, "cipher_suites") for name in tls.cipher_suites]
    if any(ciphers):
        context.set_ciphers(":".join(filter(None, ciphers)))
    curves = [_named(name, _CURVES, "curve_preferences") for name in tls.curve_preferences]
    if len(curves) == 1:
        # More than one cannot be given to OpenSSL from Python 3.11; its own list holds all of them.
        context.set_ecdh_curve(curves[0])
    context.verify_mode = _VERIFY.get(tls.client_auth_type, ssl.CERT_NONE)
    _load(context, tls, folder)
    return context


def certificate_text(tls: TlsConfig, folder: Path) -> str:
    """Return the server's certificate as PEM text."""
    return tls.cert or _text(folder / tls.cert_file)


def files_of(tls: TlsConfig, folder: Path) -> tuple[Path, ...]:
    """Return the files whose change means another configuration."""
    return tuple(folder / name for name in (tls.cert_file, tls.key_file, tls.client_ca_file) if name)


def readable_by_all(tls: TlsConfig, folder: Path) -> bool:
    """Tell whether everybody on this machine may read the key."""
    return bool(tls.key_file) and bool((folder / tls.key_file).stat().st_mode & stat.S_IROTH)


def is_welcome(certificate: Any, allowed: Sequence[str]) -> bool:
    """Tell whether one of a certificate's alternative names is exactly one of those allowed; all are when none is."""
    if not allowed:
        return True
    names = (certificate or {}).get("subjectAltName", ())
    return any(kind in _SAN_KINDS and name in allowed for kind, name in names)


def _load(context: ssl.SSLContext, tls: TlsConfig, folder: Path) -> None:
    try:
        with _as_file(tls.cert, folder, tls.cert_file) as cert, _as_file(tls.key, folder, tls.key_file) as key:
            context.load_cert_chain(cert, key, password=_no_password)
        if tls.client_ca_file or tls.client_ca:
            context.load_verify_locations(cadata=tls.client_ca or _text(folder / tls.client_ca_file))
    except (OSError, ValueError) as fault:
        why = fault.strerror or str(fault) if isinstance(fault, OSError) else str(fault)
        raise InputError(
            f"certificate, key or client CA: {visible(str(why), 200)}", "PEM files that belong together"
        ) from fault


def _no_password() -> str:
    raise ValueError("the key is encrypted")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as fault:
        raise InputError(f"{visible(str(path))}: {fault.strerror}", "a file that can be read") from fault


@contextmanager
def _as_file(inline: str, folder: Path, name: str) -> Iterator[Path]:
    """Give a file for OpenSSL, which takes nothing else: the named one, or one that exists in memory only."""
    if not inline:
        with (folder / name).open("rb"):
            yield folder / name
        return
    descriptor = os.memfd_create("netkit-pem", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, inline.encode())
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _named(name: str, known: MappingProxyType[str, str], key: str) -> str:
    if name not in known:
        raise InputError(f"{key}: {visible(name, 100)!r}", ", ".join(known))
    return known[name]
