"""Attributes and messages: what is encoded is read back, and no bytes do more than be refused."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroute2.netlink.generic.ethtool import ethtool_linkinfo_msg, ethtool_strset_msg

from netkit.sources.netlink.attributes import (
    Attributes,
    MalformedError,
    attribute,
    nested_attribute,
    number,
    number_attribute,
    parse,
    text_attribute,
)
from netkit.sources.netlink.ethtool import parse_strings
from netkit.sources.netlink.generic import attributes_of
from netkit.sources.netlink.messages import Flag, Kind, Message, Refusal, encode, refusal, split

kinds = st.integers(min_value=0, max_value=0x3FFF)


@given(st.lists(st.tuples(kinds, st.binary(max_size=40)), max_size=12))
def test_what_is_encoded_is_read_back(pairs: list[tuple[int, bytes]]) -> None:
    """Kinds, values and order survive, whatever the padding."""
    assert parse(b"".join(attribute(kind, value) for kind, value in pairs)) == Attributes(tuple(pairs))


@pytest.mark.fault("D03")
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Attributes never reach past what holds them, at any depth."""
    with suppress(MalformedError):
        found = parse(data)
        assert sum(len(value) for _, value in found.found) <= len(data)
        for kind, _ in found.found:
            found.group(kind)


@pytest.mark.fault("D03")
@given(st.binary(max_size=200))
def test_any_datagram_is_split_or_refused(data: bytes) -> None:
    """Messages never reach past their datagram, and an error is read or refused."""
    with suppress(MalformedError):
        for message in split(data):
            refusal(message)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (struct.pack("=HH", 3, 1), "shorter than its own header"),
        (struct.pack("=HHI", 12, 1, 0), "longer than what holds it"),
        (struct.pack("=HH", 0, 0) * 2, "a length of nothing would never end"),
    ],
)
@pytest.mark.fault("D03")
def test_an_attribute_that_does_not_fit_is_refused(data: bytes, why: str) -> None:
    """Lengths are checked before anything is taken from behind them."""
    with pytest.raises(MalformedError):
        parse(data)
    assert why


def test_a_number_has_a_width_of_the_kernels() -> None:
    """One, two, four or eight bytes; three are an error, not the bytes that come next."""
    assert [number(struct.pack(form, 200)) for form in ("=B", "=H", "=I", "=Q")] == [200] * 4
    with pytest.raises(MalformedError):
        number(b"abc")


def test_names_from_the_kernel_are_safe_to_show() -> None:
    """An interface may be named with terminal escapes; they come out visible."""
    assert parse(text_attribute(1, "eth\x1b[2J0")).text(1) == "eth\\x1b[2J0"


@given(st.integers(1, 0xFFFF), st.integers(0, 0xFFFFFFFF), st.binary(max_size=60))
def test_messages_survive_the_round_trip(kind: int, sequence: int, body: bytes) -> None:
    """Several messages in one datagram come out one by one."""
    message = Message(kind=kind, flags=Flag.REQUEST, sequence=sequence, body=body)
    one = encode(message)
    assert split(one + bytes(-len(one) % 4) + one) == (message, message)


def test_an_error_brings_its_sentence() -> None:
    """Newer kernels explain themselves after the repeated header."""
    request = struct.pack("=IHHII", 16, 30, 0, 1, 0)
    body = struct.pack("=i", -95) + request + text_attribute(1, "driver has no such thing")
    said = Message(kind=Kind.ERROR, flags=Flag.ACK_TLVS | Flag.CAPPED, sequence=1, body=body)
    assert refusal(said) == Refusal(errno=95, sentence="driver has no such thing")


def test_success_is_no_refusal() -> None:
    """Code 0 acknowledges."""
    said = Message(kind=Kind.ERROR, flags=0, sequence=1, body=bytes(20))
    assert refusal(said) is None


def test_pyroute2_encodes_what_is_read_here() -> None:
    """Another implementation's bytes: a nested header, a byte and a string set of the ethtool family."""
    asked = ethtool_linkinfo_msg()
    asked["cmd"], asked["version"] = 2, 1
    header = {"attrs": [["ETHTOOL_A_HEADER_DEV_INDEX", 7], ["ETHTOOL_A_HEADER_DEV_NAME", "eth0"]]}
    asked["attrs"] = [("ETHTOOL_A_LINKINFO_HEADER", header), ("ETHTOOL_A_LINKINFO_PORT", 3)]
    asked.encode()
    (message,) = split(bytes(asked.data))
    found = parse(attributes_of(message.body))
    group = found.group(1)
    assert group is not None
    assert (group.number(1), group.text(2), found.number(2)) == (7, "eth0", 3)


def test_pyroute2_reads_what_is_encoded_here() -> None:
    """And the other way round: a string set of two names."""
    names = enumerate(("a", "b"))
    strings = (nested_attribute(1, number_attribute(1, place), text_attribute(2, name)) for place, name in names)
    one = nested_attribute(1, number_attribute(1, 1), number_attribute(2, 2), nested_attribute(3, *strings))
    body = struct.pack("=BBH", 1, 1, 0) + nested_attribute(2, one)
    read = ethtool_strset_msg(encode(Message(kind=20, flags=0, sequence=1, body=body)))
    read.decode()
    sets = read.get_attr("ETHTOOL_A_STRSET_STRINGSETS").get_attr("ETHTOOL_A_STRINGSETS_STRINGSET")
    named = sets.get_attr("ETHTOOL_A_STRINGSET_STRINGS").get_attrs("ETHTOOL_A_STRINGS_STRING")
    assert [each.get_attr("ETHTOOL_A_STRING_VALUE") for each in named] == ["a", "b"]
    assert parse_strings(parse(attributes_of(body))) == ("a", "b")
