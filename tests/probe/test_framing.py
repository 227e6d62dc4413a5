"""Frames of a rank: whole and genuine ones become messages, everything else is counted."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.probe.framing import MAGIC, Flaw, FrameReader

NONCE = "0123456789abcdef0123456789abcdef"


def frame(message: Any, nonce: str = NONCE) -> bytes:
    return framed(json.dumps(message).encode(), nonce)


def framed(body: bytes, nonce: str = NONCE, length: int | None = None, digest: str | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"NETKIT/1 %s %d %s\n%s\n" % (
        nonce.encode(),
        size,
        (digest or hashlib.sha256(body).hexdigest()).encode(),
        body,
    )


def read(data: bytes, **options: Any) -> tuple[list[dict[str, Any]], FrameReader]:
    reader = FrameReader(NONCE, **options)
    return list(reader.feed(data)), reader


ONE, TWO, THREE = ({"seq": number, "rate": number * 10.0} for number in (1, 2, 3))


def test_whole_frames_come_out_in_order() -> None:
    """Frames back to back are all read, and nothing is counted as wrong."""
    messages, reader = read(frame(ONE) + frame(TWO) + frame(THREE))
    assert messages == [ONE, TWO, THREE]
    assert (reader.rejected, reader.noise_bytes) == (0, 0)


@pytest.mark.fault("I05")
def test_a_frame_cut_at_any_byte_is_no_message() -> None:
    """Whatever is missing at the end, a frame that is not whole gives nothing."""
    whole = frame(ONE)
    for cut in range(len(whole)):
        assert read(whole[:cut])[0] == []


@pytest.mark.fault("I05")
def test_a_cut_frame_does_not_hide_the_next_one() -> None:
    """After a frame cut at any byte the next whole frame is read; only that one is."""
    whole, following = frame(ONE), frame(TWO)
    for cut in range(1, len(whole) - 1):
        # Enough follows for the length that the cut frame promised.
        messages, _ = read(whole[:cut] + following + b" " * len(whole))
        assert messages == [TWO], cut


def test_frames_may_arrive_in_any_pieces() -> None:
    """Cutting the stream at any one place changes nothing."""
    stream = b"hello\n" + frame(ONE) + b"some NCCL INFO line\n" + frame(TWO)
    for cut in range(len(stream)):
        reader = FrameReader(NONCE)
        assert [*reader.feed(stream[:cut]), *reader.feed(stream[cut:])] == [ONE, TWO], cut


@given(st.lists(st.binary(max_size=40), min_size=3, max_size=3), st.integers(1, 64))
def test_noise_between_frames_is_skipped(noise: list[bytes], piece: int) -> None:
    """Bytes that hold no magic are ignored wherever they stand, in pieces of any size."""
    before, between, after = (part.replace(b"NETKIT", b"") for part in noise)
    stream = before + b"\n" + frame(ONE) + between + b"\n" + frame(TWO) + after
    reader = FrameReader(NONCE)
    messages = [
        message for start in range(0, len(stream), piece) for message in reader.feed(stream[start : start + piece])
    ]
    assert messages == [ONE, TWO]
    assert reader.rejected == 0


FORGERIES = {
    "wrong nonce": (frame(TWO, nonce="f" * 32), Flaw.NONCE),
    "no nonce": (b"NETKIT/1  4 " + b"0" * 64 + b"\nnull\n", Flaw.HEADER),
    "wrong digest": (framed(b'{"seq":2}', digest="0" * 64), Flaw.DIGEST),
    "length too small": (framed(b'{"seq":2}', length=4), Flaw.DIGEST),
    "nothing after the body": (framed(b'{"seq":2}')[:-1] + b"x", Flaw.DIGEST),
    "larger than any frame": (framed(b"", length=99_999_999), Flaw.LENGTH),
    "negative length": (b"NETKIT/1 %s -1 %s\n" % (NONCE.encode(), b"0" * 64), Flaw.HEADER),
    "header without end": (MAGIC + b"a" * 400, Flaw.HEADER),
    "not JSON": (framed(b"{seq: 2}"), Flaw.BODY),
    "not an object": (framed(b"[1]"), Flaw.BODY),
    "no sequence number": (framed(b'{"rate":5.0}'), Flaw.BODY),
    "true as a sequence number": (framed(b'{"seq":true}'), Flaw.BODY),
    "nested beyond reason": (framed(b"[" * 100_000), Flaw.BODY),
}


@pytest.mark.fault("I05")
@pytest.mark.parametrize(("forged", "flaw"), FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_frame_is_counted_and_never_a_message(forged: bytes, flaw: Flaw) -> None:
    """What a rank's library prints in the form of a frame is dropped; the true frames around it are kept."""
    messages, reader = read(frame(ONE) + forged + b"\n" + frame(THREE))
    assert messages == [ONE, THREE]
    assert reader.flaws == {flaw: 1}


@pytest.mark.fault("I05")
def test_a_forged_length_cannot_swallow_true_frames() -> None:
    """A header that promises megabytes but does not know the nonce holds nothing up."""
    forged = framed(b"", nonce="a" * 32, length=16_000_000)
    assert read(forged + frame(ONE))[0] == [ONE]


@pytest.mark.fault("I05")
@pytest.mark.parametrize(
    ("order", "kept"),
    [((ONE, ONE), [ONE]), ((TWO, ONE), [TWO]), ((ONE, TWO, ONE), [ONE, TWO]), ((ONE, THREE, TWO), [ONE, THREE])],
    ids=["doubled", "swapped", "replayed", "late"],
)
def test_doubled_and_swapped_frames_count_once(order: tuple[dict[str, Any], ...], kept: list[dict[str, Any]]) -> None:
    """A sequence number that does not grow is a copy or out of place."""
    messages, reader = read(b"".join(map(frame, order)))
    assert messages == kept
    assert reader.flaws == {Flaw.REPEATED: len(order) - len(kept)}


@pytest.mark.fault("I05")
@given(st.integers(0, len(frame(ONE)) - 1), st.integers(1, 255))
def test_a_changed_byte_never_changes_a_message(place: int, change: int) -> None:
    """With any one byte altered there is either no message or the very one that was sent."""
    damaged = bytearray(frame(ONE))
    damaged[place] ^= change
    assert read(bytes(damaged))[0] in ([], [ONE])


def test_noise_is_not_kept() -> None:
    """A rank that floods its output cannot fill this host's memory."""
    reader = FrameReader(NONCE)
    for _ in range(100):
        assert list(reader.feed(b"x" * 100_000)) == []
    assert reader.noise_bytes > 9_999_000
    assert len(reader._buffer) < len(MAGIC)
