"""An API server's exec sub-resource in a thread, over real sockets, that behaves as a test's script says.

Synthetic. It speaks WebSocket frames byte by byte, so that a test can cut, double and swap them; `behave` gets each
connection after its handshake, or before it where the script refuses.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from netkit.sources.kube.endpoint import Endpoint
from netkit.sources.kube.websocket import Opcode

SALT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
SUCCESS = b'{"metadata":{},"status":"Success"}'


def exit_status(code: int) -> bytes:
    """The Status object of a command that ended with this code, as the kubelet writes it."""
    causes = [{"reason": "ExitCode", "message": str(code)}]
    status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
    return json.dumps(status).encode()


def server_frame(opcode: Opcode, payload: bytes, *, final: bool = True) -> bytes:
    """One frame as a server sends it: not masked."""
    size = len(payload)
    if size < 126:
        length = bytes([size])
    else:
        length = b"\x7e" + struct.pack(">H", size) if size <= 0xFFFF else b"\x7f" + struct.pack(">Q", size)
    return bytes([(0x80 if final else 0) | opcode]) + length + payload


def on_channel(channel: int, data: bytes) -> bytes:
    return server_frame(Opcode.BINARY, bytes([channel]) + data)


CLOSE = server_frame(Opcode.CLOSE, b"\x03\xe8")


@dataclass
class Asked:
    """One exec as the server was asked for it, and the way to answer."""

    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    protocol: str = "v5.channel.k8s.io"
    stdin: bytearray = field(default_factory=bytearray)
    input_ended: bool = False

    @property
    def pod(self) -> str:
        return unquote(self.path.split("/")[6])

    @property
    def words(self) -> list[str]:
        return [value for name, value in self.query if name == "command"]

    async def accept(self) -> None:
        """Switch protocols."""
        key = self.headers["sec-websocket-key"].encode()
        proof = base64.b64encode(hashlib.sha1(key + SALT).digest()).decode()
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Accept: {proof}", f"Sec-WebSocket-Protocol: {self.protocol}", "", ""]
        await self.raw("\r\n".join(lines).encode())

    async def refuse(self, status: int, message: str) -> None:
        """Answer with a Status object instead of switching protocols."""
        body = json.dumps({"kind": "Status", "status": "Failure", "message": message, "code": status})
        head = f"HTTP/1.1 {status} No\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        await self.raw((head + body).encode())

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def say(self, channel: int, data: bytes) -> None:
        await self.raw(on_channel(channel, data))

    async def end(self, status: bytes = SUCCESS) -> None:
        """Tell how the command ended, and close as a server should."""
        await self.raw(on_channel(3, status) + CLOSE)

    def reset(self) -> None:
        """Send a RST instead of an end."""
        plain = self.writer.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def hear(self) -> bytes:
        """Return the next input of the command; empty when the client has gone or ended its input."""
        while True:
            try:
                head = await self.reader.readexactly(2)
                size = head[1] & 0x7F
                if size >= 126:
                    size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8), "big")
                mask = await self.reader.readexactly(4)
                payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(await self.reader.readexactly(size)))
            except (asyncio.IncompleteReadError, ConnectionError):
                return b""
            if head[0] & 0x0F == Opcode.CLOSE:
                return b""
            if payload[:1] == b"\xff":
                self.input_ended = True
                return b""
            if payload[:1] == b"\0":
                self.stdin += payload[1:]
                return payload[1:]


Behave = Callable[[Asked], Awaitable[None]]


class ExecServer:
    """The server in its thread, for a `with`."""

    def __init__(self, behave: Behave) -> None:
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._now = 0
        self._behave = behave
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> Endpoint:
        address = (socket.AF_INET, ("127.0.0.1", self.port))
        return Endpoint(
            server=self.url, host="127.0.0.1", port=self.port, prefix="", addresses=(address,), headers={"x-me": "1"}
        )

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            parts = urlsplit(head[0].split(" ")[1])
            asked = Asked(parts.path, parse_qsl(parts.query), headers, reader, writer)
            self.asked.append(asked)
            await self._behave(asked)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._now -= 1
            writer.close()
