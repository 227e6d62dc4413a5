"""The probe agent: one file that measures TCP between rails, injected into any host that has Python 3.7 or newer.

Reads one JSON object per line on standard input (the first gives its nonce and deadline) and writes frames on
standard output: `NETKIT/1 <nonce> <length> <sha256>`, a newline, `<length>` bytes of JSON, a newline. It imports
nothing of netkit and writes nothing to disk. It ends at end of input, on `quit`, at its deadline, on SIGTERM, and
when its parent dies (prctl(2) PR_SET_PDEATHSIG). `load` teaches it further tasks: the source of a module such as
`agent_programs.py`, executed among its own names.

Interfaces read: netdevice(7) ioctls, /proc/net/if_inet6, /proc/stat and /proc/thread-self/schedstat (proc(5)).
"""

# ruff: noqa: B905, D102, D103, RUF007 - Python 3.7 has neither strict zip nor pairwise; most functions here are one command's own steps

from __future__ import annotations

import array
import errno
import fcntl
import hashlib
import json
import os
import queue
import socket
import struct
import sys
import threading
import time

MYPY = False
if MYPY:  # typing takes longer to import than the agent to start
    from typing import Any, Callable, Dict

    Fields = Dict[str, Any]

BLOCK = 128 * 1024
"""Bytes compared and counted at once; every stream is a whole number of blocks."""
PATTERN = 256 * 1024
"""Distinct block contents start at each 64-byte step within this many bytes."""
TOKEN_BYTES = 32
GREETING_SECONDS = 3.0
HEARTBEAT_SECONDS = 1.0
STOP_CHECK_SECONDS = 0.002
SEND_AHEAD_SECONDS = 0.1
FORGIVEN_SECONDS = 0.1
SLICE_LANES = 4096
BARRIER = b"netkit:b"
SOCKET_WAIT = struct.pack("ll", 0, 250000)
# Linux values; Python 3.7 names neither.
TCP_NOTSENT_LOWAT = 25
PR_SET_PDEATHSIG = 1

clock = time.monotonic


class Failure(Exception):  # noqa: N818 - a task that failed, not an error of this program
    """A task that did not measure: `reason` is absent, timeout, malformed or corrupt."""

    def __init__(self, reason: str, detail: str) -> None:
        Exception.__init__(self, detail)
        self.reason = reason
        self.detail = detail


class Replies:
    """The frames on standard output; one frame is written whole."""

    def __init__(self, nonce: str) -> None:
        self.nonce = nonce
        self.lock = threading.Lock()
        self.sequence = 0

    def send(self, kind: str, **fields: object) -> None:
        with self.lock:
            self.sequence += 1
            message = dict(fields, type=kind, seq=self.sequence)
            body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii")
            head = "NETKIT/1 %s %d %s\n" % (self.nonce, len(body), hashlib.sha256(body).hexdigest())
            try:
                sys.stdout.buffer.write(head.encode("ascii") + body + b"\n")
                sys.stdout.buffer.flush()
            except (OSError, ValueError):
                os._exit(1)  # nobody reads any more


class Task:
    """What one thread is doing, until when, and which stage it is in."""

    def __init__(self, command: Fields) -> None:
        self.id = str(command["task"])
        self.deadline = clock() + float(command["deadline_s"])
        self.token = bytes.fromhex(command["token"])
        self.no_path = command.get("tx_rate") == 0
        self.stage = "starting"

    def check(self) -> None:
        if clock() > self.deadline:
            raise Failure("timeout", "deadline passed while " + self.stage)


class Pace:
    """A token bucket for links that exist only on paper: at most `rate` bytes per second; 0 is no path."""

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self.begun = self.due = clock()
        self.lost = 0.0

    def wait(self, count: int) -> None:
        if self.rate:
            now = clock()
            # A sleep may last longer than asked: what was missed is made up for, unless it was long.
            late = max(0.0, now - FORGIVEN_SECONDS - self.due)
            self.lost += late
            self.due += late + count / self.rate
            if self.due > now:
                time.sleep(self.due - now)

    def since(self) -> Fields:
        """What `Flow.since` says of a real link: the share of the time in which this one was busy."""
        return {"busy_share": 1 - self.lost / max(clock() - self.begun, 1e-9), "receiver_share": 0.0}


class Rail:
    """One address that listens; a connection whose token nobody expects is dropped."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.socket(self.family, socket.SOCK_STREAM)
        self.listener.bind((address, 0))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        self.arrivals = {}  # type: dict[bytes, socket.socket | None]
        self.changed = threading.Condition()
        self.greeters = threading.BoundedSemaphore(64)
        start_thread(self.accept_forever)

    def accept_forever(self) -> None:
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError as fault:
                if fault.errno in (errno.EBADF, errno.EINVAL):
                    return
                time.sleep(0.01)  # out of descriptors or aborted by the peer: the next one may fare better
                continue
            if self.greeters.acquire(blocking=False):
                start_thread(self.greet, connection)
            else:
                connection.close()

    def greet(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(GREETING_SECONDS)
            token = read_some(connection, TOKEN_BYTES)
            with self.changed:
                # The peer may dial before our own order to expect it has arrived.
                known = self.changed.wait_for(lambda: self.arrivals.get(token, connection) is None, GREETING_SECONDS)
                if known:
                    connection.sendall(b"K")
                    self.arrivals[token] = connection
                    self.changed.notify_all()
            if not known:
                connection.close()
        except OSError:
            connection.close()
        finally:
            self.greeters.release()

    def expect(self, token: bytes) -> None:
        with self.changed:
            self.arrivals[token] = None
            self.changed.notify_all()

    def claim(self, token: bytes, task: Task, wait_s: float) -> socket.socket:
        task.stage = "waiting for the peer to connect to %s" % self.address
        with self.changed:
            self.changed.wait_for(
                lambda: self.arrivals.get(token) is not None, min(wait_s, max(0.0, task.deadline - clock()))
            )
            connection = self.arrivals.pop(token, None)
        if connection is None:
            raise Failure("timeout", "no connection from the peer to %s within %.1f s" % (self.address, wait_s))
        return ready(connection)

    def dial(self, peer: list[Any], token: bytes, task: Task, wait_s: float) -> socket.socket:
        task.stage = "connecting %s to %s" % (self.address, peer[0])
        if task.no_path:
            time.sleep(wait_s)
            raise Failure("timeout", "no path to %s" % peer[0])
        connection = socket.socket(self.family, socket.SOCK_STREAM)
        try:
            connection.settimeout(min(wait_s, max(0.001, task.deadline - clock())))
            connection.bind((self.address, 0))
            connection.connect((peer[0], peer[1]))
            connection.sendall(token)
            answer = read_some(connection, 1)
        except BaseException:
            connection.close()
            raise
        if answer != b"K":
            connection.close()
            raise Failure("absent", "%s refused the connection's token" % peer[0])
        return ready(connection)

    def close(self) -> None:
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()
        except OSError:
            pass
        self.listener.close()


def ready(connection: socket.socket) -> socket.socket:
    """Blocking, but never for long: the kernel's own timeouts let MSG_WAITALL fill a block in one call."""
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, SOCKET_WAIT)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, SOCKET_WAIT)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Without it megabytes wait in the send buffer of a slow rail and every stop costs their draining.
    send_ahead(connection, 0)
    return connection


def send_ahead(connection: socket.socket, count: int) -> None:
    """Let `count` bytes wait in the send buffer, so that a link stays busy while its sender waits for a processor."""
    try:
        connection.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, max(2 * BLOCK, count))
    except OSError:
        pass


def read_some(connection: socket.socket, count: int) -> bytes:
    """Up to `count` bytes: fewer only when the peer closed. For short messages under a socket timeout."""
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            break
        data += piece
    return data


def fill(connection: socket.socket, view: memoryview, task: Task) -> int:
    """Receive until `view` is full; fewer bytes only when the peer closed."""
    got = 0
    while got < len(view):
        try:
            count = connection.recv_into(view[got:], len(view) - got, socket.MSG_WAITALL)
        except BlockingIOError:
            task.check()
            continue
        if count == 0:
            break
        got += count
    return got


def push(connection: socket.socket, view: memoryview, task: Task) -> None:
    """Send all of `view`."""
    sent = 0
    while sent < len(view):
        try:
            sent += connection.send(view[sent:])
        except BlockingIOError:
            task.check()


def receive_exactly(connection: socket.socket, count: int, task: Task) -> bytes:
    data = bytearray(count)
    if fill(connection, memoryview(data), task) < count:
        raise Failure("absent", "the peer closed the connection while " + task.stage)
    return bytes(data)


class Pattern:
    """The bytes of a stream: they follow from its token and the block number, so nothing can be replayed."""

    def __init__(self, token: bytes) -> None:
        self.view = memoryview(hashlib.shake_256(token).digest(PATTERN + BLOCK))

    def block(self, number: int) -> memoryview:
        start = number * 4160 % PATTERN  # 65 lines of 64 bytes: neighbours differ, 4,096 blocks before a repeat
        return self.view[start : start + BLOCK]


def send_stream(connection: socket.socket, token: bytes, task: Task, pace: Pace) -> Fields:
    """Send blocks until the receiver says stop; return how many bytes, agreed by both sides."""
    pattern, number, checked = Pattern(token), 0, clock()
    begun, ahead, load, flow = checked, 0, Load(), Flow(connection)
    while True:
        push(connection, pattern.block(number), task)
        number += 1
        pace.wait(BLOCK)
        now = clock()
        if now - checked > STOP_CHECK_SECONDS:
            checked = now
            if now - begun > SEND_AHEAD_SECONDS and number > 2 * ahead:
                ahead = number
                send_ahead(connection, int(number * BLOCK / (now - begun) * SEND_AHEAD_SECONDS))
            if stop_arrived(connection):
                break
            task.check()
    result = dict(load.since(), **(pace if pace.rate else flow).since())
    connection.shutdown(socket.SHUT_WR)
    task.stage = "waiting for the receiver's count"
    counted = struct.unpack("<Q", receive_exactly(connection, 8, task))[0]
    if counted != number * BLOCK:
        raise Failure("malformed", "sent %d bytes, the receiver counted %d" % (number * BLOCK, counted))
    return dict(result, bytes=counted)


def stop_arrived(connection: socket.socket) -> bool:
    try:
        said = connection.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    if said != b"S":
        raise Failure("absent", "the receiver closed the connection")
    return True


class Receiver:
    """The receiving end of one stream: every byte compared, every block counted."""

    def __init__(self, connection: socket.socket, token: bytes, task: Task, pace: Pace) -> None:
        self.connection = connection
        self.pattern = Pattern(token)
        self.task = task
        self.pace = pace
        self.blocks = 0
        self.buffer = bytearray(BLOCK)
        self.view = memoryview(self.buffer)

    def block(self) -> bool:
        """Receive and compare one block; False at the end of the stream."""
        got = fill(self.connection, self.view, self.task)
        if got == 0:
            return False
        # A bytearray compares with a memoryview by memcmp; two memoryviews compare item by item.
        if got < BLOCK:
            raise Failure("malformed", "the stream ended inside block %d" % self.blocks)
        if self.buffer != self.pattern.block(self.blocks):
            raise Failure("corrupt", "block %d of %d bytes differs from what was sent" % (self.blocks, BLOCK))
        self.blocks += 1
        self.pace.wait(BLOCK)
        return True

    def need(self, blocks: int) -> float:
        """Receive `blocks` blocks and return when the last one was complete."""
        for _ in range(blocks):
            if not self.block():
                raise Failure("absent", "the sender closed the connection while " + self.task.stage)
        self.task.check()
        return clock()

    def warm_up(self, seconds: float, least_bytes: int) -> tuple[float, float]:
        """Drain token buckets and finish slow start; return the time and the rate of the second half."""
        begun = half = now = clock()
        half_blocks = 0
        while now - begun < seconds or (self.blocks * BLOCK < least_bytes and now - begun < 4 * seconds):
            now = self.need(1)
            if now - begun < seconds / 2:
                half, half_blocks = now, self.blocks
        return now, (self.blocks - half_blocks) * BLOCK / max(now - half, 1e-9)

    def finish(self) -> int:
        """Say stop, take what is still under way, tell the sender the count; return it in bytes."""
        self.connection.sendall(b"S")
        while self.block():
            self.task.check()
        self.connection.sendall(struct.pack("<Q", self.blocks * BLOCK))
        return self.blocks * BLOCK


def receive_stream(receiver: Receiver, command: Fields) -> Fields:
    """Warm up, time `iterations` back-to-back iterations, finish; rates are bytes per second."""
    seconds, wanted = float(command["seconds"]), int(command["iterations"])
    receiver.task.stage = "warming up"
    now, rate = receiver.warm_up(float(command["warmup_s"]), int(command["warmup_bytes"]))
    size = int(command.get("bytes") or rate * seconds / wanted)
    blocks = max(1, (size + BLOCK // 2) // BLOCK)
    receiver.task.stage = "measuring"
    ends, load = [now], Load()
    while len(ends) <= wanted and not (len(ends) > 5 and now - ends[0] > 1.5 * seconds):
        now = receiver.need(blocks)
        ends.append(now)
    result = load.since()
    receiver.task.stage = "finishing"
    return dict(result, **rates_between(ends, blocks * BLOCK), bytes=receiver.finish())


def rates_between(ends: list[float], size: int) -> Fields:
    """Rates in bytes per second from when each iteration of `size` bytes ended; the first entry is the start.

    `rate` is the median slope over all spans of half the iterations or more (Theil-Sen): one stall does not move
    it, nor does it matter that a shaper hands over whole segments, which makes single iterations jump.
    """
    count = len(ends) - 1
    rates = [size / max(later - earlier, 1e-9) for earlier, later in zip(ends, ends[1:])]
    half = max(1, count // 2)
    slopes = [
        (later - earlier) * size / max(ends[later] - ends[earlier], 1e-9)
        for earlier in range(count)
        for later in range(earlier + half, count + 1)
    ]
    middle = median(rates)
    return {
        "iteration_bytes": size,
        "rates": rates,
        "median": middle,
        "spread": median([abs(rate - middle) for rate in rates]) / middle,
        "rate": median(slopes),
        "seconds": ends[-1] - ends[0],
    }


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return float(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


class Load:
    """How busy the processors were over a stretch of time; each share is None where the kernel does not say."""

    def __init__(self) -> None:
        self.begun = self.sample()

    @staticmethod
    def sample() -> tuple[Any, ...]:
        fields = [int(word) for word in first_line("/proc/stat").split()[1:9]]
        waited = first_line("/proc/thread-self/schedstat").split()
        idle = (fields[3] + fields[4], sum(fields)) if len(fields) == 8 else None
        return clock(), time.process_time(), int(waited[1]) * 1e-9 if len(waited) == 3 else None, idle

    def since(self) -> Fields:
        (begun, used, waited, idle), (now, used2, waited2, idle2) = self.begun, self.sample()
        wall = max(now - begun, 1e-9)
        ticks = idle2[1] - idle[1] if idle and idle2 else 0
        return {
            "cpu_share": (used2 - used) / wall,
            "queue_share": None if waited is None or waited2 is None else (waited2 - waited) / wall,
            "idle_share": (idle2[0] - idle[0]) / ticks if ticks > 0 else None,
        }


class Flow:
    """What held the sender of one connection back since it was made, by the kernel's clocks (linux/tcp.h tcp_info).

    `busy_share` is the share of the time in which data was under way, `receiver_share` that in which the receiver had
    no room for more. A link that is busy throughout and whose receiver has room sets the rate itself.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.begun = clock(), self.sample()

    def sample(self) -> tuple[int, int] | None:
        try:
            info = self.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        except OSError:
            return None
        # tcpi_busy_time and tcpi_rwnd_limited in microseconds, since Linux 4.10
        return struct.unpack_from("QQ", info, 168) if len(info) >= 184 else None

    def since(self) -> Fields:
        (begun, before), now, after = self.begun, clock(), self.sample()
        if before is None or after is None:
            return {"busy_share": None, "receiver_share": None}
        wall = max(now - begun, 1e-9) * 1e6
        return {"busy_share": (after[0] - before[0]) / wall, "receiver_share": (after[1] - before[1]) / wall}


def first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readline()
    except OSError:
        return ""


def pair(agent: Agent, task: Task, command: Fields) -> Fields:
    """One rail between two agents, one direction after the other; the sender of each direction dials."""
    rail = agent.rails[int(command["rail"])]
    tokens = [hashlib.sha256(task.token + way).digest() for way in (b"forward", b"reverse")]
    first, wait_s = bool(command["first"]), float(command["connect_s"])
    rail.expect(tokens[1 if first else 0])
    result = {}  # type: dict[str, object]
    for token, sends in zip(tokens, (first, not first)):
        if sends:
            with rail.dial(command["peer"], token, task, wait_s) as connection:
                task.stage = "sending"
                result["sent"] = send_stream(connection, token, task, Pace(command.get("tx_rate")))
        else:
            # The second direction starts when the first has ended on the other side, which may be a little later.
            with rail.claim(token, task, wait_s + (2.0 if first else 0.0)) as connection:
                receiver = Receiver(connection, token, task, Pace(command.get("rx_rate")))
                result["received"] = receive_stream(receiver, command)
    return result


def streams(agent: Agent, task: Task, command: Fields) -> Fields:
    """Several connections to one peer at once, one direction: bytes per second they move together."""
    rail = agent.rails[int(command["rail"])]
    wait_s = float(command["connect_s"])
    numbers = range(int(command["connections"]))
    tokens = [hashlib.sha256(task.token + b"%d" % number).digest() for number in numbers]
    if command["sends"]:
        return {"bytes": sum(at_once(lambda token: dial_and_send(rail, command["peer"], token, task, wait_s), tokens))}
    for token in tokens:
        rail.expect(token)
    receivers = [Receiver(rail.claim(token, task, wait_s), token, task, Pace(None)) for token in tokens]
    marks = []  # type: list[tuple[float, int]]

    def watch() -> None:
        # From outside, so that no connection waits for another at either end of the window.
        for pause in (float(command["warmup_s"]), float(command["seconds"])):
            time.sleep(pause)
            marks.append((clock(), sum(receiver.blocks for receiver in receivers) * BLOCK))

    watcher, load = start_thread(watch), Load()
    at_once(lambda receiver: drain_while(receiver, watcher), receivers)
    result = load.since()
    at_once(hang_up, receivers)
    (begun, before), (ended, after) = marks
    return dict(result, rate=(after - before) / (ended - begun), seconds=ended - begun)


def dial_and_send(rail: Rail, peer: list[Any], token: bytes, task: Task, wait_s: float) -> int:
    with rail.dial(peer, token, task, wait_s) as connection:
        return int(send_stream(connection, token, task, Pace(None))["bytes"])


def drain_while(receiver: Receiver, watcher: threading.Thread) -> None:
    while watcher.is_alive():
        receiver.need(1)


def hang_up(receiver: Receiver) -> None:
    with receiver.connection:
        receiver.finish()


def at_once(act: Callable[[Any], Any], things: list[Any]) -> list[Any]:
    """Do the same with each thing in a thread of its own; the first fault is raised when all have ended."""
    results = [None] * len(things)  # type: list[Any]

    def one(index: int) -> None:
        try:
            results[index] = act(things[index])
        except (OSError, Failure) as fault:
            results[index] = fault

    for thread in [start_thread(one, index) for index in range(len(things))]:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def calibrate(_agent: Agent, task: Task, command: Fields) -> Fields:
    """What this processor alone moves over its loopback, sending and receiving on all rails at once."""
    rail = Rail("127.0.0.1")
    results = queue.Queue()  # type: queue.Queue[Any]

    def send(token: bytes) -> None:
        try:
            with rail.dial(["127.0.0.1", rail.port], token, task, 5.0) as connection:
                send_stream(connection, token, task, Pace(None))
        except (OSError, Failure):
            pass  # the receiver of the same stream fails too, and reports it

    def receive(token: bytes) -> None:
        try:
            with rail.claim(token, task, 5.0) as connection:
                results.put(receive_stream(Receiver(connection, token, task, Pace(None)), command))
        except (OSError, Failure) as fault:
            results.put(fault)

    tokens = [hashlib.sha256(task.token + str(index).encode()).digest() for index in range(int(command["rails"]))]
    try:
        for token in tokens:
            rail.expect(token)
            start_thread(receive, token)
            start_thread(send, token)
        streams = [results.get() for _ in tokens]
    finally:
        rail.close()
    for stream in streams:
        if isinstance(stream, BaseException):
            raise stream
    return {"rates": [stream["rate"] for stream in streams]}


class Ring:
    """One rank of a ring all-reduce over 64-bit integer lanes, checked exactly.

    Lanes hold values far below 2**64 even after every rank has added its own, so whole buffers are added as one
    big integer without a carry from lane to lane.
    """

    def __init__(self, task: Task, command: Fields, following: socket.socket, previous: socket.socket) -> None:
        self.task = task
        self.rank, self.ranks = int(command["rank"]), int(command["ranks"])
        self.following, self.previous = following, previous
        self.tx, self.rx = Pace(command.get("tx_rate")), Pace(command.get("rx_rate"))
        lanes = max(1, int(command["bytes"]) // (8 * self.ranks))
        self.slice_bytes = 8 * min(lanes, SLICE_LANES)
        self.slices = max(1, 8 * lanes // self.slice_bytes)
        words = hashlib.shake_256(task.token).digest(self.slice_bytes // 2)
        base = bytearray(self.slice_bytes)
        for byte in range(4):
            base[byte::8] = words[byte::4]
        self.base = int.from_bytes(base, "little")
        self.ones = int.from_bytes(b"\1\0\0\0\0\0\0\0" * (self.slice_bytes // 8), "little")
        self.outbox = queue.Queue()  # type: queue.Queue[bytes]
        self.lost = []  # type: list[BaseException]
        self.sender = start_thread(self.send_forever)

    def send_forever(self) -> None:
        try:
            while True:
                piece = self.outbox.get()
                if not piece:
                    return
                view = memoryview(piece)
                for start in range(0, len(view), BLOCK):
                    push(self.following, view[start : start + BLOCK], self.task)
                    self.tx.wait(len(view[start : start + BLOCK]))
        except (OSError, Failure) as fault:
            self.lost.append(fault)

    def receive(self, count: int) -> bytes:
        data = bytearray(count)
        view = memoryview(data)
        for start in range(0, count, BLOCK):
            part = view[start : start + BLOCK]
            if fill(self.previous, part, self.task) < len(part):
                raise Failure("absent", "rank %d closed its connection" % ((self.rank - 1) % self.ranks))
            self.rx.wait(len(part))
        if self.lost:
            raise self.lost[0]
        return bytes(data)

    def barrier(self) -> None:
        """Two laps of a token: all have arrived, all may go."""
        for _lap in range(2):
            if self.rank == 0:
                self.outbox.put(BARRIER)
            if self.receive(len(BARRIER)) != BARRIER:
                raise Failure("malformed", "a barrier token was expected")
            if self.rank:
                self.outbox.put(BARRIER)

    def to_bytes(self, value: int) -> bytes:
        return value.to_bytes(self.slice_bytes, "little")

    def contribution(self, chunk: int, piece: int, iteration: int) -> int:
        """What every lane of one slice differs by from the base, before the rank's own share."""
        return iteration * 31 + chunk * 7919 + piece

    def all_reduce(self, iteration: int) -> float:
        """Return the seconds of one reduce-scatter and all-gather; raise Failure unless the result is exact.

        A slice is passed on as soon as it has been added, so the link never waits for the adding.
        """
        rank, ranks, last_step = self.rank, self.ranks, 2 * self.ranks - 3
        chunks = [
            [
                self.to_bytes(self.base + self.ones * (rank * 1000003 + self.contribution(chunk, piece, iteration)))
                for piece in range(self.slices)
            ]
            for chunk in range(ranks)
        ]
        self.barrier()
        begun = clock()
        for own in chunks[rank]:
            self.outbox.put(own)
        for step in range(last_step + 1):
            adding = step < ranks - 1
            self.task.stage = "iteration %d, step %d of %s" % (
                iteration,
                step % (ranks - 1),
                "reduce-scatter" if adding else "all-gather",
            )
            chunk = chunks[(rank - step - 1) % ranks]
            for index, own in enumerate(chunk):
                came = self.receive(self.slice_bytes)
                if adding:
                    came = self.to_bytes(int.from_bytes(came, "little") + int.from_bytes(own, "little"))
                chunk[index] = came
                if step < last_step:
                    self.outbox.put(came)
        seconds = clock() - begun
        self.verify(chunks, iteration)
        return seconds

    def verify(self, chunks: list[list[bytes]], iteration: int) -> None:
        ranks = self.ranks
        of_ranks = 1000003 * (ranks * (ranks - 1) // 2)
        for index, chunk in enumerate(chunks):
            for piece, found in enumerate(chunk):
                added = of_ranks + ranks * self.contribution(index, piece, iteration)
                if found != self.to_bytes(self.base * ranks + self.ones * added):
                    raise Failure("corrupt", "iteration %d: chunk %d is not the exact sum" % (iteration, index))


def ring(agent: Agent, task: Task, command: Fields) -> Fields:
    """All-reduce over all ranks of one rail: seconds per iteration, warm-up left out."""
    rail, rank, ranks = agent.rails[int(command["rail"])], int(command["rank"]), int(command["ranks"])
    wait_s = float(command["connect_s"])
    edges = [hashlib.sha256(task.token + str(edge).encode()).digest() for edge in (rank, (rank - 1) % ranks)]
    rail.expect(edges[1])
    following = rail.dial(command["peer"], edges[0], task, wait_s)
    with following, rail.claim(edges[1], task, wait_s) as previous:
        member = Ring(task, command, following, previous)
        try:
            warmup = int(command["warmup"])
            load = Load()
            times = [member.all_reduce(index) for index in range(warmup + int(command["iterations"]))]
            busy = load.since()
            member.barrier()  # nobody hangs up on a neighbour that is still reading
        finally:
            member.outbox.put(b"")
            member.sender.join()
    return dict(busy, seconds=times[warmup:], bytes=member.slice_bytes * member.slices * ranks)


def interfaces() -> list[Fields]:
    """Name, addresses, MTU in bytes and speed in Mbit/s (None where the driver does not say) of each interface."""
    ipv6 = {}  # type: dict[str, list[str]]
    try:
        with open("/proc/net/if_inet6", encoding="ascii") as file:
            for fields in map(str.split, file):
                if fields[3] != "20":  # a link-local address names no host
                    ipv6.setdefault(fields[5], []).append(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(fields[0])))
    except OSError:
        pass
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _index, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            address = ioctl(probe, 0x8915, request)  # SIOCGIFADDR
            mtu = ioctl(probe, 0x8921, request)  # SIOCGIFMTU
            found.append(
                {
                    "name": name,
                    "addresses": ([socket.inet_ntoa(address[20:24])] if address else []) + ipv6.get(name, []),
                    "mtu": struct.unpack("i", mtu[16:20])[0] if mtu else None,
                    "speed_mbit": speed_mbit(probe, name),
                }
            )
    return found


def ioctl(probe: socket.socket, number: int, request: bytes) -> bytes:
    try:
        return fcntl.ioctl(probe.fileno(), number, request)
    except OSError:
        return b""


def speed_mbit(probe: socket.socket, name: str) -> int | None:
    """ETHTOOL_GSET of linux/ethtool.h: asked over a socket it answers for this network namespace, /sys may not."""
    answer = array.array("B", struct.pack("I", 1) + b"\0" * 40)
    request = struct.pack("16sP", name.encode()[:15], answer.buffer_info()[0])
    if not ioctl(probe, 0x8946, request + b"\0" * 16):  # SIOCETHTOOL
        return None
    low, high = struct.unpack_from("H", answer, 12)[0], struct.unpack_from("H", answer, 28)[0]
    speed = int(low) | int(high) << 16
    return speed if 0 < speed < 0xFFFFFFFF and speed != 0xFFFF else None


class Agent:
    """The commands, and the tasks under way."""

    def __init__(self, replies: Replies) -> None:
        self.replies = replies
        self.rails = []  # type: list[Rail]
        self.tasks = {}  # type: dict[str, Task]

    def hello(self, _command: Fields) -> Fields:
        return {
            "python": "%d.%d.%d" % sys.version_info[:3],
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
            "boot_id": first_line("/proc/sys/kernel/random/boot_id").strip(),
            "cpus": len(os.sched_getaffinity(0)),
            # "client port server port" (sshd, ssh(1) ENVIRONMENT): the address this host is known by
            "reached_at": os.environ.get("SSH_CONNECTION", "").split()[2:3],
            "interfaces": interfaces(),
        }

    def open(self, command: Fields) -> Fields:
        self.rails = [Rail(address) for address in command["addresses"]]
        return {"ports": [rail.port for rail in self.rails]}

    def load(self, command: Fields) -> Fields:
        exec(compile(command["source"], command["name"], "exec"), globals())  # noqa: S102 - comes the way this file came
        return {}

    def obey(self, command: Fields) -> None:
        name = command["command"]
        if name in ("hello", "open", "load"):
            self.answer(command["task"], lambda: getattr(self, name)(command))
        elif name in TASKS:
            task = Task(command)
            self.tasks[task.id] = task
            start_thread(self.run, task, command)
        else:
            raise ValueError(name)

    def run(self, task: Task, command: Fields) -> None:
        self.answer(task.id, lambda: TASKS[command["command"]](self, task, command))
        self.tasks.pop(task.id, None)

    def answer(self, task_id: str, act: Callable[[], Fields]) -> None:
        try:
            fields = dict(act(), ok=True)
        except Failure as fault:
            fields = {"ok": False, "reason": fault.reason, "detail": fault.detail}
        except socket.timeout:
            fields = {"ok": False, "reason": "timeout", "detail": "timed out " + self.stage(task_id)}
        except OSError as fault:
            detail = "%s while %s" % (os.strerror(fault.errno or 0), self.stage(task_id))
            fields = {"ok": False, "reason": "absent", "detail": detail}
        self.replies.send("result", task=task_id, stage=self.stage(task_id), **fields)

    def stage(self, task_id: str) -> str:
        return self.tasks[task_id].stage if task_id in self.tasks else "answering"

    def beat_forever(self) -> None:
        while True:
            time.sleep(HEARTBEAT_SECONDS)
            self.replies.send("heartbeat", stages={key: task.stage for key, task in list(self.tasks.items())})


TASKS = {"pair": pair, "streams": streams, "ring": ring, "calibrate": calibrate}  # type: Dict[str, Callable[[Agent, Task, Fields], Fields]]


def start_thread(target: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


LEAVING = []  # type: list[Callable[[], None]]
"""What is to be put in order before the agent ends by itself."""


def leave(status: int) -> None:
    for act in LEAVING:
        act()
    os._exit(status)


def die_with_parent() -> None:
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # end of input still ends the agent


def main() -> None:
    """Obey standard input until it ends."""
    die_with_parent()
    # Threads of a rail hand the interpreter over more often than the default 5 ms: a rail must not wait its turn.
    sys.setswitchinterval(0.001)
    try:
        start = json.loads(sys.stdin.buffer.readline() or b"{}")
        replies = Replies(str(start["nonce"]))
        expiry = threading.Timer(float(start["deadline_s"]), leave, (3,))
        expiry.daemon = True
        expiry.start()
        agent = Agent(replies)
        start_thread(agent.beat_forever)
        for line in iter(sys.stdin.buffer.readline, b""):
            command = json.loads(line)
            if command["command"] == "quit":
                break
            agent.obey(command)
    except (ValueError, KeyError, TypeError) as fault:
        sys.stderr.write("netkit agent: cannot obey: %s: %s\n" % (type(fault).__name__, str(fault)[:200]))
        sys.stderr.flush()
        leave(2)
    leave(0)


if __name__ == "__main__":
    main()
