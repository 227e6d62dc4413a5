"""Who may come in under a web configuration: TLS, client certificates, passwords, a rate; read again when it changes.

A configuration that cannot be used is fatal at the start. Later the last good one stays, and a series says so.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from netkit.catalogue.metric_rows import exporter as rows
from netkit.errors import InputError
from netkit.model.text import visible
from netkit_exporters.collecting import Sample
from netkit_exporters.watching import Say
from netkit_exporters.web.certificate import expires_at
from netkit_exporters.web.config import LARGEST_BYTES, WebConfig, parse
from netkit_exporters.web.connection import Answer
from netkit_exporters.web.passwords import Passwords, TooManyError
from netkit_exporters.web.rate import Bucket
from netkit_exporters.web.request import Request
from netkit_exporters.web.response import Response, busy, line
from netkit_exporters.web.tls import certificate_text, context_of, files_of, is_welcome, readable_by_all

LOOK_SECONDS = 1.0
"""How often the files are looked at, at most."""
_UNAUTHORIZED = line(401, "Unauthorized", ("WWW-Authenticate", 'Basic realm="netkit", charset="UTF-8"'))

_Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """One configuration, ready for use."""

    config: WebConfig
    context: ssl.SSLContext | None
    passwords: Passwords | None
    bucket: Bucket | None
    always: bytes
    certificate_expires_at: float | None


class WebDoor:
    """The door of one configuration file."""

    def __init__(self, path: Path, shed: Counter[str], say: Say) -> None:
        self._path = path
        self._shed = shed
        self._say = say
        self._looked_at = time.monotonic()
        self._stamp: _Stamp = ()
        self._succeeded = True
        self._loaded = self._load(None)
        self._loaded_at = time.time()
        self._stamp = self._stamp_now()

    @property
    def always(self) -> bytes:
        """Header lines of every answer."""
        return self._loaded.always

    def context(self) -> ssl.SSLContext | None:
        """Return how the next connection is encrypted; a replaced certificate counts from here on."""
        self._look()
        return self._loaded.context

    def may_talk(self, transport: asyncio.Transport) -> bool:
        """Tell whether the client's certificate carries an allowed name."""
        tls = self._loaded.config.tls_server_config
        if tls is None or not tls.client_allowed_sans:
            return True
        return is_welcome(transport.get_extra_info("peercert"), tls.client_allowed_sans)

    def admit(self, request: Request, answer: Callable[[Request], Response]) -> Answer:
        """Answer whoever is within the rate and known; check a password that is new."""
        self._look()
        loaded = self._loaded
        if loaded.bucket is not None and not loaded.bucket.take():
            self._shed["rate"] += 1
            return busy("too many requests", 429)
        if loaded.passwords is None:
            return answer(request)
        header = request.headers.get("authorization", "")
        if not header:
            return _UNAUTHORIZED
        if loaded.passwords.remembers(header):
            return answer(request)
        return self._checked(loaded.passwords, header, request, answer)

    def reload(self) -> None:
        """Read the file again, whether it changed or not."""
        self._stamp = self._stamp_now()
        try:
            self._loaded = self._load(self._loaded)
        except InputError as fault:
            self._succeeded = False
            self._say("web configuration", f"the web configuration stays as it was: {fault}")
        else:
            self._succeeded, self._loaded_at = True, time.time()

    def samples(self) -> Iterator[Sample]:
        """Give the series about the configuration."""
        yield Sample(rows.WEB_CONFIG_SUCCESS, (), float(self._succeeded))
        yield Sample(rows.WEB_CONFIG_TIME, (), self._loaded_at)
        if self._loaded.certificate_expires_at is not None:
            yield Sample(rows.CERTIFICATE_EXPIRY, (), self._loaded.certificate_expires_at)

    async def _checked(
        self, passwords: Passwords, header: str, request: Request, answer: Callable[[Request], Response]
    ) -> Response:
        try:
            return answer(request) if await passwords.are_right(header) else _UNAUTHORIZED
        except TooManyError:
            self._shed["busy"] += 1
            return busy("too many passwords are being checked")

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        if self._stamp_now() != self._stamp:
            self.reload()

    def _stamp_now(self) -> _Stamp:
        """Return what tells one content of the files from the next."""
        tls = self._loaded.config.tls_server_config
        files = (self._path, *(files_of(tls, self._path.parent) if tls else ()))
        return tuple(map(_stamp, files))

    def _load(self, before: Loaded | None) -> Loaded:
        shown = visible(str(self._path))
        config = parse(_text(self._path), shown)
        tls, folder = config.tls_server_config, self._path.parent
        if tls and readable_by_all(tls, folder):
            self._say("key", f"{visible(tls.key_file)} can be read by every user of this machine: chmod o-r")
        same_users = before is not None and before.config.basic_auth_users == config.basic_auth_users
        kept = before.passwords if same_users and before is not None else None
        limit = config.rate_limit
        return Loaded(
            config=config,
            context=context_of(tls, folder) if tls else None,
            passwords=(kept or Passwords(config.basic_auth_users)) if config.basic_auth_users else None,
            bucket=Bucket(interval_seconds=limit.interval, burst=limit.burst) if limit.interval else None,
            always="".join(
                f"{name}: {value}\r\n" for name, value in config.http_server_config.headers.items()
            ).encode(),
            certificate_expires_at=expires_at(certificate_text(tls, folder)) if tls else None,
        )


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as fault:
        why = fault.strerror if isinstance(fault, OSError) and fault.strerror else "not UTF-8 text"
        raise InputError(f"--web.config.file {visible(str(path))}: {why}", "a web configuration") from fault


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_mtime_ns, found.st_size)
