"""Basic authentication: one bcrypt at a time, the same cost for everybody, and no more waiting than can be borne.

RFC 7617. A user nobody knows costs one bcrypt too, so that the time says nothing about names. Whoever was right is
remembered under a digest of user, password and hash with their lengths, so that no two triples meet
(GHSA-4v48-4q5m-8vx4); whoever was wrong is not, so that a flood of guesses fills no memory. The work is done in one
daemon thread, which bcrypt leaves free of the interpreter's lock.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import queue
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress

from netkit.errors import InputError

MOST_WAITING = 16
"""Passwords that wait to be checked at most; whoever comes then is asked to come again."""
MOST_REMEMBERED = 100
_LONGEST_PASSWORD_BYTES = 72
"""bcrypt looks at no more."""
_UNKNOWN_COST = 10

_Check = tuple[asyncio.Future[bool], str, bytes, str]


class TooManyError(Exception):
    """More passwords wait to be checked than may."""


class Passwords:
    """The users of one configuration."""

    def __init__(self, users: Mapping[str, str]) -> None:
        try:
            import bcrypt
        except ImportError as fault:
            raise InputError("basic_auth_users without bcrypt", "pip install 'netkit[exporter]'") from fault
        self._bcrypt = bcrypt
        self._users = users
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._waiting: queue.Queue[_Check] = queue.Queue(MOST_WAITING)
        self._secret = secrets.token_bytes(32)
        cost = max((int(hashed[4:6]) for hashed in users.values()), default=_UNKNOWN_COST)
        self._nobody = bcrypt.hashpw(secrets.token_bytes(16).hex().encode(), bcrypt.gensalt(cost)).decode()
        threading.Thread(target=self._work, name="netkit-passwords", daemon=True).start()

    def remembers(self, header: str) -> bool:
        """Tell at once whether these credentials were right before."""
        given = credentials(header)
        return given is not None and self._digest(*given, self._users.get(given[0], "")) in self._known

    async def are_right(self, header: str) -> bool:
        """Check credentials; TooManyError when too many wait already."""
        user, password = credentials(header) or ("", b"")
        hashed = self._users.get(user, self._nobody)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        try:
            self._waiting.put_nowait((answer, user, password, hashed))
        except queue.Full:
            raise TooManyError from None
        right = await answer and user in self._users
        if right:
            self._known[self._digest(user, password, hashed)] = None
            while len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
        return right

    def _work(self) -> None:
        while True:
            answer, _, password, hashed = self._waiting.get()
            if answer.cancelled():
                continue
            right = self._bcrypt.checkpw(password[:_LONGEST_PASSWORD_BYTES], hashed.encode())
            with suppress(RuntimeError):  # the server has ended meanwhile
                answer.get_loop().call_soon_threadsafe(_settle, answer, right)

    def _digest(self, user: str, password: bytes, hashed: str) -> bytes:
        parts = (user.encode(), password, hashed.encode())
        return hashlib.blake2b(b"".join(b"%d:%b," % (len(part), part) for part in parts), key=self._secret).digest()


def _settle(answer: asyncio.Future[bool], right: bool) -> None:
    if not answer.done():
        answer.set_result(right)


def credentials(header: str) -> tuple[str, bytes] | None:
    """Return user and password of an Authorization header; None when it holds none."""
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    user, colon, password = decoded.partition(b":")
    if not colon or b"\0" in decoded:
        return None
    return user.decode("utf-8", "replace"), password
