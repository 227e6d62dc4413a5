"""Data center bridging: the kernel's C structures, made up by hand, and what they mean."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing, Reason
from netkit.model.qos import AppPriority, AppSelector, Trust
from netkit.sources.netlink.attributes import attribute, nested_attribute, number_attribute, text_attribute
from netkit.sources.netlink.dcb import (
    Attr,
    Ieee,
    parse_app_table,
    parse_buffers,
    parse_flow_control,
    parse_max_rate,
    parse_selection,
    parse_trust,
    read_dcb,
)
from netkit.sources.netlink.kernel import Answer, LiveKernel, Question

PFC = struct.pack("=BBBxHxx8Q8Q", 8, 0b0000_1000, 0, 32768, *range(8), *range(10, 18))
ETS = bytes([0, 8, 0]) + bytes([0, 0, 0, 50, 50, 0, 0, 0]) + bytes(8) + bytes([0, 0, 0, 2, 2, 0, 0, 255])
ETS += bytes([0, 1, 2, 3, 4, 5, 6, 7]) + bytes(24)
BUFFER = bytes([0, 0, 0, 1, 0, 0, 0, 0]) + struct.pack("=9I", 20000, 156096, *[0] * 6, 262016)
APPS = attribute(1, struct.pack("=BBH", 5, 3, 26)) + attribute(1, struct.pack("=BBH", 1, 0, 0))
APPS += attribute(2, struct.pack("=BBH", 255, 4, 6)) + attribute(1, struct.pack("=BBH", 99, 1, 7))
TRUST = attribute(1, bytes([5])) + attribute(1, bytes([255]))


class OneAnswer:
    """A kernel that knows one interface's table and nothing about who negotiated it."""

    def __init__(self, table: bytes) -> None:
        self.table = table

    def ask(self, question: Question) -> Answer | Missing:
        if question.where.startswith("dcb ieee_get"):
            return Answer(bodies=(self.table,))
        return Answer(bodies=(bytes(4) + number_attribute(Attr.DCBX, 0x09, 1),))


def table(*inside: bytes) -> bytes:
    return bytes(4) + text_attribute(Attr.IFNAME, "eth0") + nested_attribute(Attr.IEEE, *inside)


def test_one_lossless_priority() -> None:
    """PFC on priority 3 alone, with what was asked of and by the peer."""
    found = parse_flow_control(PFC)
    assert found.enabled == (False, False, False, True, False, False, False, False)
    assert (found.classes_supported, found.delay_bits) == (8, 32768)
    assert (found.requests, found.indications) == (tuple(range(8)), tuple(range(10, 18)))


def test_classes_share_the_wire() -> None:
    """Two classes at half each, the rest strict."""
    found = parse_selection(ETS)
    assert found.bandwidth_percent[3:5] == (50, 50)
    assert found.algorithm == ("strict", "strict", "strict", "ets", "ets", "strict", "strict", "vendor")
    assert found.class_of_priority == tuple(range(8))


def test_the_application_table_names_what_it_matches() -> None:
    """DSCP 26 to priority 3, the default, a PCP, and a selector newer than this program."""
    dscp, default, unknown, pcp = parse_app_table(APPS)
    assert dscp == AppPriority(selector=AppSelector.DSCP, protocol=26, priority=3)
    assert default == AppPriority(selector=AppSelector.DEFAULT, protocol=0, priority=0)
    assert pcp == AppPriority(selector=AppSelector.PCP, protocol=6, priority=4)
    assert isinstance(unknown.selector, Missing)


def test_trust_keeps_its_order() -> None:
    """The first one wins in the kernel."""
    assert parse_trust(TRUST) == (Trust.DSCP, Trust.PCP)


def test_buffers_and_rates_are_in_base_units() -> None:
    """Bytes, and bytes per second from kilobits."""
    assert parse_buffers(BUFFER).size_bytes[:2] == (20000, 156096)
    assert parse_buffers(BUFFER).buffer_of_priority[3] == 1
    assert parse_buffers(BUFFER).total_bytes == 262016
    assert parse_max_rate(struct.pack("=8Q", 400_000_000, *[0] * 7))[0] == 50e9


def test_a_whole_answer() -> None:
    """What the driver gives is read; what it leaves out is unsupported, not 0."""
    found = read_dcb(OneAnswer(table(attribute(Ieee.PFC, PFC), attribute(Ieee.APP_TRUST_TABLE, TRUST))), "eth0")
    assert not isinstance(found, Missing)
    assert not isinstance(found.flow_control, Missing)
    assert found.negotiated_by == ("host", "ieee")
    assert isinstance(found.selection, Missing)
    assert found.selection.reason is Reason.UNSUPPORTED


@pytest.mark.parametrize("kind", [Ieee.PFC, Ieee.ETS, Ieee.BUFFER, Ieee.MAXRATE])
def test_a_short_structure_spoils_only_itself(kind: Ieee) -> None:
    """Its neighbour is still read."""
    other = (Ieee.APP_TRUST_TABLE, TRUST)
    found = read_dcb(OneAnswer(table(attribute(kind, bytes(30)), attribute(*other))), "eth0")
    assert not isinstance(found, Missing)
    assert found.trust == (Trust.DSCP, Trust.PCP)
    groups = (found.flow_control, found.selection, found.buffers, found.max_rate_bytes_per_second)
    assert [group.reason for group in groups if isinstance(group, Missing)].count(Reason.MALFORMED) == 1


@pytest.mark.fault("D03")
@given(st.binary(max_size=80), st.integers(0, 240))
def test_any_answer_is_read_or_missing(junk: bytes, cut: int) -> None:
    """Cut at every byte, junk behind."""
    whole = table(attribute(Ieee.PFC, PFC), attribute(Ieee.APP_TABLE, APPS))
    found = read_dcb(OneAnswer(whole[:cut] + junk), "eth0")
    assert found is not None


def test_an_interface_without_bridging_is_unsupported() -> None:
    """The real kernel about the loopback interface."""
    with LiveKernel() as kernel:
        found = read_dcb(kernel, "lo")
    assert isinstance(found, Missing)
    assert found.reason is Reason.UNSUPPORTED
