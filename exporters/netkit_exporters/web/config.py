"""The web configuration every Prometheus exporter takes, parsed one to one: what is unknown is refused, never ignored.

https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md. YAML is read with the safe loader,
without anchors (a few lines of them expand to gigabytes) and without keys given twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, TypeVar

from netkit.errors import InputError
from netkit.model.text import visible

LARGEST_BYTES = 1 << 20
DEEPEST = 16
HEADERS = (
    "Content-Security-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-XSS-Protection",
)
_HEADER_VALUES = MappingProxyType(
    {"X-Frame-Options": ("", "deny", "sameorigin"), "X-Content-Type-Options": ("", "nosniff")}
)
VERSIONS = ("TLS10", "TLS11", "TLS12", "TLS13")
CLIENT_AUTH = (
    "NoClientCert",
    "RequestClientCert",
    "RequireAnyClientCert",
    "VerifyClientCertIfGiven",
    "RequireAndVerifyClientCert",
)
_VERIFIED = "RequireAndVerifyClientCert"
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SECONDS = MappingProxyType({"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0})
_BCRYPT = re.compile(r"\$2[abxy]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """`tls_server_config`; names are those of the file."""

    cert: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    client_ca: str = field(default="", repr=False)
    cert_file: str = ""
    key_file: str = ""
    client_auth_type: str = ""
    client_ca_file: str = ""
    client_allowed_sans: tuple[str, ...] = ()
    min_version: str = "TLS12"
    max_version: str = "TLS13"
    cipher_suites: tuple[str, ...] = ()
    prefer_server_cipher_suites: bool = True
    curve_preferences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConfig:
    """`http_server_config`. HTTP/2 may be allowed: no client insists on it, and HTTP/1.1 is what is spoken."""

    http2: bool = True
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """`rate_limit`: a token bucket for all clients together; an interval of 0 means none."""

    interval: float = 0.0
    burst: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebConfig:
    """The whole file."""

    tls_server_config: TlsConfig | None = None
    http_server_config: HttpConfig = field(default_factory=HttpConfig)
    basic_auth_users: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    rate_limit: RateLimit = field(default_factory=RateLimit)


def parse(text: str, name: str) -> WebConfig:
    """Return the configuration; InputError names the file, the key and what is accepted there."""
    tree = _section(_yaml(text, name), WebConfig, name)
    tls = tree.get("tls_server_config")
    return WebConfig(
        tls_server_config=_tls(tls, f"{name}: tls_server_config") if tls else None,
        http_server_config=_http(tree.get("http_server_config"), f"{name}: http_server_config"),
        basic_auth_users=_users(tree.get("basic_auth_users"), f"{name}: basic_auth_users"),
        rate_limit=_rate_limit(tree.get("rate_limit"), f"{name}: rate_limit"),
    )


def _yaml(text: str, name: str) -> Any:
    try:
        import yaml
    except ImportError as fault:
        raise InputError("--web.config.file without PyYAML", "pip install 'netkit[exporter]'") from fault
    if len(text) > LARGEST_BYTES:
        raise InputError(f"{name}: more than {LARGEST_BYTES} characters", "a web configuration")
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.events.AliasEvent):
                raise InputError(f"{name}: a YAML alias", "plain YAML without anchors and aliases")
            depth += isinstance(event, yaml.events.CollectionStartEvent)
            depth -= isinstance(event, yaml.events.CollectionEndEvent)
            if depth > DEEPEST:
                raise InputError(f"{name}: more than {DEEPEST} levels", "a web configuration")
        _refuse_repeated(yaml.compose(text, Loader=yaml.SafeLoader), name)
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        mark = getattr(fault, "problem_mark", None)
        place = f" line {mark.line + 1}" if mark is not None else ""
        raise InputError(f"{name}{place}: {_problem(fault)}", "YAML as exporter-toolkit documents it") from fault


def _problem(fault: Exception) -> str:
    return visible(str(getattr(fault, "problem", None) or "not valid YAML"), 200)


def _refuse_repeated(node: Any, name: str) -> None:
    pending = [node]
    while pending:
        value = getattr(pending.pop(), "value", None)
        for item in value if isinstance(value, list) else ():
            pending += item if isinstance(item, tuple) else (item,)
        keys = [item[0].value for item in value if isinstance(item, tuple)] if isinstance(value, list) else []
        for key in keys:
            if keys.count(key) > 1:
                raise InputError(f"{name}: {visible(str(key), 100)} is given twice", "each key once")


def _section(given: Any, shape: type, where: str) -> Mapping[str, Any]:
    """Return a mapping whose keys are all fields of `shape`; an empty section is one without keys."""
    known = [one.name for one in fields(shape)]
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InputError(f"{where}: {_kind(given)}", f"keys among {', '.join(known)}")
    for key in given:
        if key not in known:
            nearest = get_close_matches(str(key), known, n=1)
            raise InputError(
                f"{where}: unknown key {visible(str(key), 100)!r}", ", ".join(known), nearest[0] if nearest else None
            )
    return given


def _tls(given: Any, where: str) -> TlsConfig:
    tree = _section(given, TlsConfig, where)
    texts = {
        name: _is(tree, name, str, "a text", where, "")
        for name in ("cert", "key", "client_ca", "cert_file", "key_file", "client_ca_file")
    }
    tls = TlsConfig(
        **texts,
        client_auth_type=_one_of(tree, "client_auth_type", ("", *CLIENT_AUTH), where, ""),
        client_allowed_sans=_texts(tree, "client_allowed_sans", where),
        min_version=_one_of(tree, "min_version", VERSIONS, where, "TLS12"),
        max_version=_one_of(tree, "max_version", VERSIONS, where, "TLS13"),
        cipher_suites=_texts(tree, "cipher_suites", where),
        prefer_server_cipher_suites=_is(tree, "prefer_server_cipher_suites", bool, "true or false", where, True),
        curve_preferences=_texts(tree, "curve_preferences", where),
    )
    _check_tls(tls, where)
    return tls


def _check_tls(tls: TlsConfig, where: str) -> None:
    """Refuse what contradicts itself, as the toolkit does."""
    for one in ("cert", "key", "client_ca"):
        if getattr(tls, one) and getattr(tls, f"{one}_file"):
            raise InputError(f"{where}: both {one} and {one}_file", "one of them")
        if one != "client_ca" and not getattr(tls, one) and not getattr(tls, f"{one}_file"):
            raise InputError(f"{where}: neither {one} nor {one}_file", "one of them")
    has_ca = bool(tls.client_ca or tls.client_ca_file)
    verifies = tls.client_auth_type in (_VERIFIED, "VerifyClientCertIfGiven")
    if has_ca and tls.client_auth_type in ("", "NoClientCert"):
        raise InputError(f"{where}: a client CA without client_auth_type", f"client_auth_type: {_VERIFIED}")
    if verifies and not has_ca:
        raise InputError(f"{where}: client_auth_type {tls.client_auth_type} without client_ca", "client_ca_file: FILE")
    if tls.client_auth_type == "RequireAnyClientCert":
        raise InputError(
            f"{where}: client_auth_type RequireAnyClientCert", f"{_VERIFIED}: OpenSSL verifies what it asks for"
        )
    if tls.client_allowed_sans and tls.client_auth_type != _VERIFIED:
        raise InputError(f"{where}: client_allowed_sans without verified clients", f"client_auth_type: {_VERIFIED}")
    if VERSIONS.index(tls.min_version) > VERSIONS.index(tls.max_version):
        raise InputError(f"{where}: min_version above max_version", "a range of versions")


def _http(given: Any, where: str) -> HttpConfig:
    tree = _section(given, HttpConfig, where)
    headers = tree.get("headers") or {}
    if not isinstance(headers, dict):
        raise InputError(f"{where}: headers: {_kind(headers)}", ", ".join(HEADERS))
    for key, value in headers.items():
        if key not in HEADERS:
            raise InputError(f"{where}: unknown header {visible(str(key), 100)!r}", ", ".join(HEADERS))
        if not isinstance(value, str) or not value.isascii() or not (value.isprintable() or not value):
            raise InputError(f"{where}: header {key}", "one line of plain text")
        if value.lower() not in _HEADER_VALUES.get(key, (value.lower(),)):
            raise InputError(f"{where}: {key} {visible(value, 100)!r}", " or ".join(_HEADER_VALUES[key][1:]))
    return HttpConfig(
        http2=_is(tree, "http2", bool, "true or false", where, True),
        headers=MappingProxyType({key: value for key, value in headers.items() if value}),
    )


def _users(given: Any, where: str) -> Mapping[str, str]:
    if given is None:
        return MappingProxyType({})
    if not isinstance(given, dict) or not all(isinstance(user, str) and user for user in given):
        raise InputError(f"{where}: {_kind(given)}", "user names with their bcrypt hashes")
    for user, hashed in given.items():
        if not isinstance(hashed, str) or not _BCRYPT.fullmatch(hashed):
            raise InputError(f"{where}: {visible(user, 100)}", "a bcrypt hash, as htpasswd -nBC 10 prints it")
    return MappingProxyType(dict(given))


def _rate_limit(given: Any, where: str) -> RateLimit:
    tree = _section(given, RateLimit, where)
    interval, burst = tree.get("interval", 0), tree.get("burst", 0)
    text = str(interval)
    if interval != 0 and not (isinstance(interval, str) and _DURATION.fullmatch(text)) and text != "0":
        raise InputError(f"{where}: interval {visible(text, 50)}", "a duration such as 1s or 200ms, or 0")
    if not isinstance(burst, int) or isinstance(burst, bool) or burst < 0:
        raise InputError(f"{where}: burst {visible(str(burst), 50)}", "a number of requests")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
    return RateLimit(interval=seconds, burst=burst)


def _is(tree: Mapping[str, Any], key: str, kind: type[_T], accepted: str, where: str, default: _T) -> _T:
    value = tree.get(key)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise InputError(f"{where}: {key}: {_kind(value)}", accepted)
    return value


def _one_of(tree: Mapping[str, Any], key: str, accepted: Sequence[str], where: str, default: str) -> str:
    value = tree.get(key, default)
    if value not in accepted:
        raise InputError(f"{where}: {key} {visible(str(value), 100)!r}", ", ".join(filter(None, accepted)))
    return str(value)


def _texts(tree: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = tree.get(key) or ()
    if isinstance(value, str) or not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise InputError(f"{where}: {key}: {_kind(value)}", "a list of texts")
    return tuple(value)


def _kind(value: Any) -> str:
    """Name what was given without showing it: it may be a secret."""
    return f"a {type(value).__name__}"
