"""A door without a lock: what `serve` uses when there is no web configuration."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator

from netkit_exporters.collecting import Sample
from netkit_exporters.web.request import Request
from netkit_exporters.web.response import Response


class OpenDoor:
    """Plain HTTP, for everybody."""

    always = b""

    def context(self) -> ssl.SSLContext | None:
        """Nothing is encrypted."""
        return None

    def may_talk(self, _transport: asyncio.Transport) -> bool:
        """Everybody may."""
        return True

    def admit(self, request: Request, answer: Callable[[Request], Response]) -> Response:
        """Answer at once."""
        return answer(request)

    def reload(self) -> None:
        """There is nothing to read again."""

    def samples(self) -> Iterator[Sample]:
        """There is nothing to tell."""
        return iter(())
