"""Commands in pods over a scripted exec server: what came whole counts, and nothing else is ever taken for it."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from netkit.sources.kube.exec import Answer, PodCommand, run_all
from netkit.sources.kube.websocket import Opcode
from tests.kube.exec_server import CLOSE, SUCCESS, Asked, Behave, ExecServer, exit_status, on_channel, server_frame


def command(pod: str = "train-0", stdin: bytes | None = None) -> PodCommand:
    return PodCommand(namespace="team-a", pod=pod, container="main", words=("prog", "a b", "--x=1"), stdin=stdin)


def answer_of(behave: Behave, seconds: float = 5.0, stdin: bytes | None = None) -> Answer:
    with ExecServer(behave) as server:
        [answer] = run_all(server.endpoint, [command(stdin=stdin)], seconds)
    return answer


async def speaks(asked: Asked) -> None:
    await asked.accept()
    await asked.say(1, b"out")
    await asked.say(2, b"err")
    await asked.end()


def test_a_command_is_asked_for_as_an_argument_list() -> None:
    """Words with spaces stay whole, the container is named, credentials travel in headers."""
    with ExecServer(speaks) as server:
        [answer] = run_all(server.endpoint, [command()], 5.0)
        [asked] = server.asked
    assert (answer.stdout, answer.stderr, answer.outcome.exit_code) == (b"out", b"err", 0)
    assert asked.path == "/api/v1/namespaces/team-a/pods/train-0/exec"
    assert asked.words == ["prog", "a b", "--x=1"]
    assert ("container", "main") in asked.query
    assert ("stdin", "true") not in asked.query
    assert asked.headers["x-me"] == "1"
    assert asked.headers["sec-websocket-protocol"] == "v5.channel.k8s.io, v4.channel.k8s.io"


def test_an_older_server_chooses_v4() -> None:
    """The sub-protocol before v5 is spoken too."""

    async def older(asked: Asked) -> None:
        asked.protocol = "v4.channel.k8s.io"
        await speaks(asked)

    assert answer_of(older).outcome.exit_code == 0


def test_a_command_reads_what_it_is_given() -> None:
    """Standard input longer than one frame arrives whole and in order."""
    given = bytes(range(256)) * 1200

    async def counts(asked: Asked) -> None:
        await asked.accept()
        while len(asked.stdin) < len(given):
            await asked.hear()
        await asked.say(1, b"%d %d" % (len(asked.stdin), bytes(asked.stdin) == given))
        await asked.end()

    assert answer_of(counts, stdin=given).stdout == b"%d 1" % len(given)


def test_a_ping_is_answered() -> None:
    """A server that pings and waits for its pong goes on."""

    async def pings(asked: Asked) -> None:
        await asked.accept()
        await asked.raw(server_frame(Opcode.PING, b"hi"))
        head = await asked.reader.readexactly(2)
        assert head[0] & 0x0F == Opcode.PONG
        await asked.end()

    assert answer_of(pings).outcome.exit_code == 0


@pytest.mark.fault("G11")
def test_a_close_without_a_status_is_no_success() -> None:
    """The output is kept, and that nobody knows how the command ended is said."""

    async def hangs_up(asked: Asked) -> None:
        await asked.accept()
        await asked.say(1, b"# Avg bus bandwidth : 12")
        await asked.raw(CLOSE)

    answer = answer_of(hangs_up)
    assert answer.stdout == b"# Avg bus bandwidth : 12"
    assert answer.outcome.exit_code is None
    assert answer.outcome.how == "closed by the server, code 1000, before it said how the command ended"


@pytest.mark.fault("G12")
def test_a_stall_ends_at_the_deadline_and_tells_the_command() -> None:
    """No end in time is said with the time; the command sees the end of its input."""
    told = threading.Event()

    async def stalls(asked: Asked) -> None:
        await asked.accept()
        await asked.say(1, b"123.")
        while await asked.hear():
            pass
        if asked.input_ended:
            told.set()

    with ExecServer(stalls) as server:
        began = time.monotonic()
        [answer] = run_all(server.endpoint, [command(stdin=b"go")], 0.6)
        assert time.monotonic() - began < 3
        assert told.wait(5)
    assert (answer.outcome.exit_code, answer.outcome.how) == (None, "no end within 0.6 s")


@pytest.mark.fault("G12")
@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 101 Switch"], ids=["silent", "dripping"])
def test_a_handshake_that_never_ends_meets_the_deadline(head: bytes) -> None:
    """A peer that accepts and says nothing, or not enough, costs the time it was given."""

    async def silent(asked: Asked) -> None:
        await asked.raw(head)
        await asyncio.sleep(30)

    answer = answer_of(silent, seconds=0.4)
    assert answer.outcome.exit_code is None
    assert answer.outcome.how == "no answer within 0.4 s while upgrading, before it said how the command ended"


@pytest.mark.fault("G13")
def test_a_reset_in_the_middle_is_no_end() -> None:
    """What was printed before is kept, and is no result."""

    async def resets(asked: Asked) -> None:
        await asked.accept()
        await asked.say(1, b"half")
        await asyncio.sleep(0.1)
        asked.reset()

    answer = answer_of(resets)
    assert (answer.stdout, answer.outcome.exit_code) == (b"half", None)
    assert "Connection reset by peer" in answer.outcome.how


@pytest.mark.fault("G13")
@pytest.mark.parametrize(
    ("status", "message"),
    [(403, "pods/exec is forbidden"), (404, 'pods "train-0" not found'), (500, "container not found\x1b[2J")],
)
def test_a_refused_handshake_says_what_the_server_said(status: int, message: str) -> None:
    """The server's own words, made visible, and its status."""

    async def refuses(asked: Asked) -> None:
        await asked.refuse(status, message)

    outcome = answer_of(refuses).outcome
    assert (outcome.exit_code, outcome.http_status) == (None, status)
    assert outcome.how == f"refused with {status}: {message}".replace("\x1b", "\\x1b")


def test_nobody_listening_is_said() -> None:
    """A connection that is refused is one phrase, not an exception."""
    with ExecServer(speaks) as server:
        endpoint = server.endpoint
    [answer] = run_all(endpoint, [command()], 2.0)
    assert answer.outcome.exit_code is None
    assert answer.outcome.how.startswith("Connection refused")


@pytest.mark.fault("G14")
@pytest.mark.parametrize("code", [1, 7, 137])
def test_an_exit_code_is_surfaced(code: int) -> None:
    """A command that failed is never a command that succeeded."""

    async def fails(asked: Asked) -> None:
        await asked.accept()
        await asked.say(1, b"looks fine")
        await asked.end(exit_status(code))

    outcome = answer_of(fails).outcome
    assert (outcome.exit_code, outcome.how) == (code, f"exited with status {code}")


@pytest.mark.fault("G14")
@pytest.mark.parametrize(
    ("status", "how"),
    [
        (b'{"status":"Failure","reason":"InternalError","message":"no such file"}', "not run to its end: no such file"),
        (b'{"status":"Failure","reason":"NonZeroExitCode"}', "not run to its end: NonZeroExitCode"),
        (exit_status(0), "not run to its end: NonZeroExitCode"),
        (b'{"status":"Succ', "a status that is no JSON object"),
        (b"[]", "a status that is no JSON object"),
        (b"{}", "not run to its end: a failure without words"),
    ],
)
def test_a_status_without_an_exit_code_is_no_end(status: bytes, how: str) -> None:
    """Whatever else a Status says, only a code or Success tells how a command ended."""

    async def odd(asked: Asked) -> None:
        await asked.accept()
        await asked.end(status)

    outcome = answer_of(odd).outcome
    assert (outcome.exit_code, outcome.how) == (None, how)


@pytest.mark.fault("G15")
def test_endless_output_is_cut_and_said() -> None:
    """100 MB of output cost 16 MiB at most, and are no result."""

    async def floods(asked: Asked) -> None:
        await asked.accept()
        for _ in range(100):
            await asked.say(1, b"x" * 1_000_000)
        await asked.end()

    answer = answer_of(floods, seconds=20.0)
    assert len(answer.stdout) <= 16 * 1024 * 1024
    assert (answer.outcome.exit_code, answer.outcome.how) == (None, "more than 16777216 bytes of output")


@pytest.mark.fault("G15")
def test_bytes_that_are_no_text_are_kept_as_they_are() -> None:
    """Output is bytes; errors alone are output too."""

    async def binary(asked: Asked) -> None:
        await asked.accept()
        await asked.say(2, b"\xff\xfe\x00")
        await asked.end()

    answer = answer_of(binary)
    assert (answer.stdout, answer.stderr, answer.outcome.exit_code) == (b"", b"\xff\xfe\x00", 0)


@pytest.mark.parametrize(
    ("bytes_sent", "how"),
    [
        (server_frame(Opcode.TEXT, b"\x01hello"), "text where channels were agreed"),
        (on_channel(9, b"what"), "output on the unknown channel 9"),
        (b"\xc2\x01\x01", "a frame with reserved bits, or masked"),
        (b"\x82\xff" + b"\xff" * 8, "a frame with reserved bits, or masked"),
        (b"\x82\x7f" + b"\x7f" * 8, "a frame of 9187201950435737471 bytes"),
        (b"\x80\x01x", "a message that begins inside another"),
        (b"\x09\x00", "a control frame that is too long, or in parts"),
        (b"\x83\x00", "a frame of unknown kind 3"),
    ],
)
def test_a_server_that_breaks_the_protocol_is_not_believed(bytes_sent: bytes, how: str) -> None:
    """Even a Success that follows does not make its output whole."""

    async def breaks(asked: Asked) -> None:
        await asked.accept()
        await asked.raw(bytes_sent + on_channel(3, SUCCESS) + CLOSE)

    outcome = answer_of(breaks).outcome
    assert outcome.exit_code is None
    assert outcome.how.startswith(how)


def test_a_server_that_never_closes_is_left_after_its_status() -> None:
    """The Status is the end; the connection need not be waited for."""

    async def lingers(asked: Asked) -> None:
        await asked.accept()
        await asked.say(1, b"done")
        await asked.say(3, SUCCESS)
        await asyncio.sleep(60)

    answer = answer_of(lingers, seconds=30.0)
    assert (answer.stdout, answer.outcome.exit_code) == (b"done", 0)
