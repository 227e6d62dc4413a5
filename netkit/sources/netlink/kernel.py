"""One question to the kernel and its answer, over sockets that are made anew whenever an answer cannot be trusted.

Linux: Documentation/userspace-api/netlink/intro.rst, netlink(7), NETLINK_EXT_ACK in include/uapi/linux/netlink.h. A
question is a value, so what a reader asks can be written down and answered again (`memory.py`). pyroute2's sockets
bring an event loop each and raise on an interrupted dump; here the answer says so and a reader decides.
"""

from __future__ import annotations

import errno
import itertools
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType, TracebackType
from typing import Protocol as Interface
from typing import Self

from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.netlink.attributes import MalformedError
from netkit.sources.netlink.ethtool_ioctl import Ioctl, UnsettledError, ethtool_ioctl, statistics_lines
from netkit.sources.netlink.generic import family_of, family_question_body, generic_body
from netkit.sources.netlink.messages import Flag, Kind, Message, encode, refusal, split
from netkit.sources.tree import code_of, unreadable

ATTEMPTS = 4
"""One try and three more: a dump that keeps being interrupted is given as it is, marked partial."""
DEADLINE_SECONDS = 5.0
_DATAGRAM = 1 << 16
_RECEIVE_BUFFER = 1 << 20
_GENERIC_CONTROL = 0x10
_SOL_NETLINK = 270
_NETLINK_EXT_ACK = 11
_NO_BREATH = (errno.ENOBUFS, errno.EINTR, errno.EAGAIN)
CAPABILITY = "CAP_NET_ADMIN"
_REASONS = MappingProxyType({"EBADMSG": Reason.MALFORMED, "ENOBUFS": Reason.TIMEOUT})


class Channel(StrEnum):
    """Whom a question goes to."""

    RDMA = "rdma"
    ROUTE = "route"
    ETHTOOL = "ethtool"
    DRIVER_STATISTICS = "driver-statistics"
    """No netlink: the one thing of a link that only an ioctl tells."""


_PROTOCOLS = MappingProxyType({Channel.ROUTE: socket.NETLINK_ROUTE, Channel.ETHTOOL: 16, Channel.RDMA: 20})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A command with its attributes; `dump` asks for every object there is."""

    channel: Channel
    command: int
    body: bytes = b""
    dump: bool = False
    where: str
    """What a person would call it: `rdma statistics of mlx5_0/1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The bodies of the messages; `partial` when the kernel's objects changed during every try."""

    bodies: tuple[bytes, ...]
    partial: bool = False


class Kernel(Interface):
    """Whoever answers questions: this machine, or what was written down of one."""

    def ask(self, question: Question) -> Answer | Missing:
        """Return the answer, or why there is none; nothing is raised for what a kernel says."""
        ...


class _TryAgainError(Exception):
    """The answer so far is worth nothing: messages were lost or objects changed."""

    def __init__(self, cause: str, kept: tuple[bytes, ...] = ()) -> None:
        self.cause = cause
        self.kept = kept


@dataclass(slots=True)
class LiveKernel:
    """This machine, in the network namespace of whoever asks first; for one thread, to be closed or used in a `with`.

    `troubles` counts what was survived: `overrun`, `interrupted`, `malformed`.
    """

    deadline_seconds: float = DEADLINE_SECONDS
    receive_buffer_bytes: int = _RECEIVE_BUFFER
    open_socket: Callable[[int, int], socket.socket] | None = None
    """Given a protocol and a buffer's size; tests give sockets that answer from a script."""
    ioctl: Ioctl = ethtool_ioctl
    troubles: Counter[str] = field(default_factory=Counter)
    _sockets: dict[Channel, socket.socket] = field(default_factory=dict)
    _families: dict[Channel, int] = field(default_factory=dict)
    _sequence: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def ask(self, question: Question) -> Answer | Missing:
        """Return the answer, or why there is none; see `Kernel`."""
        if question.channel is Channel.DRIVER_STATISTICS:
            return self._driver_statistics(question)
        kept: tuple[bytes, ...] = ()
        cause = ""
        for _ in range(ATTEMPTS):
            try:
                return self._once(question)
            except _TryAgainError as trouble:
                cause, kept = trouble.cause, trouble.kept
                self.troubles[cause] += 1
                self._drop(question.channel)
            except MalformedError as fault:
                self.troubles["malformed"] += 1
                self._drop(question.channel)
                return refused(question.where, "EBADMSG", str(fault))
            except OSError as fault:
                self._drop(question.channel)
                return refused(question.where, code_of(fault))
        return self._given_up(question, cause, kept)

    def close(self) -> None:
        """Close every socket."""
        for channel in tuple(self._sockets):
            self._drop(channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _driver_statistics(self, question: Question) -> Answer | Missing:
        try:
            lines = statistics_lines(question.body.decode("utf-8", "surrogateescape"), self.ioctl)
        except UnsettledError:
            detail = "the names changed while they were read"
            return Missing(reason=Reason.STALE, where=question.where, detail=detail)
        except OSError as fault:
            return refused(question.where, code_of(fault))
        nothing = Missing(reason=Reason.UNSUPPORTED, where=question.where, detail="the driver has none")
        return Answer(bodies=tuple(line.encode() for line in lines)) if lines else nothing

    def _given_up(self, question: Question, cause: str, kept: tuple[bytes, ...]) -> Answer | Missing:
        if cause == "interrupted":
            return Answer(bodies=kept, partial=True)
        return refused(question.where, "ENOBUFS")

    def _once(self, question: Question) -> Answer | Missing:
        if question.channel is Channel.ETHTOOL and question.channel not in self._families:
            family = self._family(question)
            if isinstance(family, Missing):
                return family
            self._families[question.channel] = family
        kind = self._families.get(question.channel, question.command)
        generic = question.channel is Channel.ETHTOOL
        return self._exchange(
            question, kind, generic_body(question.command, question.body) if generic else question.body
        )

    def _family(self, question: Question) -> int | Missing:
        answer = self._exchange(question, _GENERIC_CONTROL, family_question_body(question.channel))
        if isinstance(answer, Missing) and answer.reason is Reason.ABSENT:
            # ENOENT is about the family, and must not read as if the interface were gone.
            return Missing(reason=Reason.UNSUPPORTED, where=answer.where, detail="no such netlink family here")
        return answer if isinstance(answer, Missing) else family_of(answer.bodies[0] if answer.bodies else b"")

    def _exchange(self, question: Question, kind: int, body: bytes) -> Answer | Missing:
        flags = Flag.REQUEST | (Flag.DUMP if question.dump else Flag.ACK)
        sequence = next(self._sequence) & 0xFFFFFFFF
        conversation = self._socket(question.channel)
        conversation.send(encode(Message(kind=kind, flags=flags, sequence=sequence, body=body)))
        return collect(question, sequence, self._datagrams(conversation))

    def _datagrams(self, conversation: socket.socket) -> Iterator[bytes]:
        end = time.monotonic() + self.deadline_seconds
        while (left := end - time.monotonic()) > 0:
            conversation.settimeout(left)
            try:
                datagram, _, flags, sender = conversation.recvmsg(_DATAGRAM)
            except TimeoutError:
                break
            except OSError as fault:
                if fault.errno in _NO_BREATH:
                    raise _TryAgainError("overrun") from fault
                raise
            # Only the kernel has port 0; another process may send to ours.
            if sender[0] != 0:
                continue
            if flags & socket.MSG_TRUNC:
                raise MalformedError(f"a datagram longer than {_DATAGRAM} bytes")
            yield datagram
        raise TimeoutError(errno.ETIMEDOUT, "no answer")

    def _socket(self, channel: Channel) -> socket.socket:
        if channel not in self._sockets:
            self._sockets[channel] = (self.open_socket or open_socket)(_PROTOCOLS[channel], self.receive_buffer_bytes)
        return self._sockets[channel]

    def _drop(self, channel: Channel) -> None:
        """Forget the socket with whatever is still on its way; the next question gets a new one."""
        self._families.pop(channel, None)
        if channel in self._sockets:
            self._sockets.pop(channel).close()


def open_socket(protocol: int, receive_buffer_bytes: int) -> socket.socket:
    """Return a netlink socket of this machine, in this thread's network namespace."""
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        opened.setsockopt(_SOL_NETLINK, _NETLINK_EXT_ACK, 1)
        opened.bind((0, 0))
    except OSError:
        opened.close()
        raise
    return opened


def collect(question: Question, sequence: int, datagrams: Iterator[bytes]) -> Answer | Missing:
    """Join the messages that answer `sequence` until the kernel says it is done."""
    bodies: list[bytes] = []
    interrupted = False
    for message in (message for datagram in datagrams for message in split(datagram)):
        if message.kind == Kind.OVERRUN:
            raise _TryAgainError("overrun")
        if message.sequence != sequence:
            continue
        interrupted |= bool(message.flags & Flag.DUMP_INTR)
        if message.kind in (Kind.ERROR, Kind.DONE):
            return _ended(question, message, tuple(bodies), interrupted)
        if message.kind != Kind.NOOP:
            bodies.append(message.body)
    raise TimeoutError(errno.ETIMEDOUT, "no answer")


def _ended(question: Question, last: Message, bodies: tuple[bytes, ...], interrupted: bool) -> Answer | Missing:
    no = refusal(last)
    if no is not None and no.errno in _NO_BREATH:
        raise _TryAgainError("overrun")
    if no is not None:
        return refused(question.where, code_of(OSError(no.errno, "refused")), no.sentence)
    if interrupted:
        raise _TryAgainError("interrupted", bodies)
    return Answer(bodies=bodies)


def refused(where: str, code: str, sentence: str = "") -> Missing:
    """Name a "no" by its errno; what is only missing a capability names it."""
    known = unreadable(where, code)
    words = (code, f"needs {CAPABILITY}" if known.reason is Reason.DENIED else "", visible(sentence))
    detail = ": ".join(word for word in words if word)
    return Missing(reason=_REASONS.get(code, known.reason), where=known.where, detail=detail)
