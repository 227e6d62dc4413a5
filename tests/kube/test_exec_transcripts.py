"""Transcripts of an exec damaged in every way at hand: the exact value comes out, or nothing does; nothing is lost."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from typing import Any

import pytest

from netkit.model.missing import Missing
from netkit.probe.launchers.pod_answer import framed_answer
from netkit.sources.kube.channels import Channels, Outcome
from netkit.sources.kube.exec import Answer, PodCommand, run_all
from netkit.sources.kube.websocket import MessageReader, Opcode, ProtocolError
from tests.kube.exec_server import CLOSE, SUCCESS, Asked, ExecServer, exit_status, on_channel, server_frame

NONCE = "0123456789abcdef"
VALUE = {"busbw": 123.4, "seq": 1}
COMMAND = PodCommand(namespace="team-a", pod="train-0", container="main", words=("prog",))


def frame(value: dict[str, Any], nonce: str = NONCE) -> bytes:
    body = json.dumps(value).encode()
    return b"NETKIT/1 %s %d %s\n%s\n" % (nonce.encode(), len(body), hashlib.sha256(body).hexdigest().encode(), body)


def split(data: bytes, *at: int) -> list[bytes]:
    """One stream in several messages on channel 1."""
    edges = [0, *at, len(data)]
    return [on_channel(1, data[low:high]) for low, high in itertools.pairwise(edges)]


FRAME = frame(VALUE)
END = [on_channel(3, SUCCESS), CLOSE]
GOLDEN: dict[str, list[bytes]] = {
    "whole": [on_channel(1, FRAME), *END],
    "in three parts": [*split(FRAME, 30, 95), *END],
    "amid noise": [on_channel(1, b"# Avg bus bandwidth : 12\n"), on_channel(2, b"warn\n"), *split(FRAME, 7), *END],
    "with a forged frame before": [on_channel(1, frame({"busbw": 9.9, "seq": 1}, "ffffffffffffffff") + FRAME), *END],
    "status in two parts": [on_channel(1, FRAME), on_channel(3, SUCCESS[:9]), on_channel(3, SUCCESS[9:]), CLOSE],
    "with pings": [server_frame(Opcode.PING, b"1"), *split(FRAME, 60), server_frame(Opcode.PING, b"2"), *END],
    "as one fragmented message": [
        server_frame(Opcode.BINARY, b"\x01" + FRAME[:50], final=False),
        server_frame(Opcode.CONTINUATION, FRAME[50:]),
        *END,
    ],
}


def replay(data: bytes) -> dict[str, Any] | Missing:
    """What netkit makes of these bytes of a server, after which the connection ends."""
    channels, reader, closed = Channels(), MessageReader(), "the connection was cut"
    try:
        for message in reader.feed(data):
            channels.take(message)
            if message.opcode is Opcode.CLOSE:
                break
    except ProtocolError as fault:
        closed = str(fault)
    answer = Answer(
        command=COMMAND,
        stdout=bytes(channels.stdout),
        stderr=bytes(channels.stderr),
        outcome=channels.outcome(closed),
    )
    return framed_answer(answer, NONCE)


def exact_or_nothing(data: bytes) -> bool:
    """Whether the value came out; anything but the value or nothing fails the test."""
    found = replay(data)
    assert isinstance(found, Missing) or found == VALUE
    return not isinstance(found, Missing)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_whole_transcript_yields_the_value(name: str) -> None:
    """The golden ones are good: the tests below do not pass by reading nothing."""
    assert exact_or_nothing(b"".join(GOLDEN[name]))


@pytest.mark.fault("G11")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_transcript_cut_at_any_byte_is_exact_or_nothing(name: str) -> None:
    """Before the status is whole nothing comes out; from there on the value does."""
    frames = GOLDEN[name]
    data, told = b"".join(frames), len(b"".join(frames[:-1]))
    assert [exact_or_nothing(data[:cut]) for cut in range(len(data))] == [cut >= told for cut in range(len(data))]


@pytest.mark.fault("G11")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_dropped_doubled_or_swapped_message_is_exact_or_nothing(name: str) -> None:
    """Each message left out, each one twice, each pair swapped: 100 % exact or inconclusive."""
    frames = GOLDEN[name]
    at = range(len(frames))
    damaged = [frames[:one] + frames[one + 1 :] for one in at]
    damaged += [frames[: one + 1] + frames[one:] for one in at]
    for one, other in itertools.combinations(at, 2):
        swapped = list(frames)
        swapped[one], swapped[other] = frames[other], frames[one]
        damaged.append(swapped)
    results = [exact_or_nothing(b"".join(one)) for one in damaged]
    assert not all(results)


@pytest.mark.fault("G11")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_flipped_bit_is_exact_or_nothing(name: str) -> None:
    """One bit of every byte turned over."""
    data = b"".join(GOLDEN[name])
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        exact_or_nothing(bytes(damaged))


@pytest.mark.fault("G14")
def test_a_framed_value_of_a_command_that_failed_is_nothing() -> None:
    """A good frame does not excuse an exit code."""
    found = replay(on_channel(1, FRAME) + on_channel(3, exit_status(7)) + CLOSE)
    assert isinstance(found, Missing)
    assert "exited with status 7" in found.detail


@pytest.mark.parametrize(
    ("stdout", "said"),
    [
        (b"", "printed no result"),
        (frame(VALUE, "f" * 16), "printed no result; 1 damaged or forged"),
        (FRAME + frame({"busbw": 1.0, "seq": 2}), "printed 2 results"),
    ],
)
def test_anything_but_one_frame_is_nothing(stdout: bytes, said: str) -> None:
    """None, a stranger's, or two that contradict each other."""
    answer = Answer(command=COMMAND, stdout=stdout, stderr=b"", outcome=Outcome(exit_code=0, how=""))
    found = framed_answer(answer, NONCE)
    assert isinstance(found, Missing)
    assert found.detail.startswith(said)


def test_a_thousand_commands_none_lost_none_misread() -> None:
    """1,000 at 128 a time; every tenth is cut in its last byte, every tenth reset: each answer is its own or none."""

    async def behave(asked: Asked) -> None:
        number = int(re.sub(r"\D", "", asked.pod))
        await asked.accept()
        data = b"".join([*split(frame({"pod": asked.pod, "seq": 1}), 20 + number % 50), *END[:1]])
        await asked.raw(data[:-1] if number % 10 == 3 else data)
        if number % 10 == 7:
            asked.reset()
        elif number % 10 != 3:
            await asked.raw(CLOSE)

    commands = [PodCommand(namespace="n", pod=f"p-{number}", container="c", words=("x",)) for number in range(1000)]
    with ExecServer(behave) as server:
        answers = run_all(server.endpoint, commands, 60.0, at_once=128)
        assert server.most_at_once <= 129
    assert [answer.command for answer in answers] == commands
    found = [framed_answer(answer, NONCE) for answer in answers]
    for number, value in enumerate(found):
        assert isinstance(value, Missing) or value == {"pod": f"p-{number}", "seq": 1}
        assert isinstance(value, Missing) or number % 10 != 3
        assert not isinstance(value, Missing) or number % 10 in (3, 7)
