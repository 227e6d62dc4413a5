"""RDMA netlink: what a kernel with two Soft-RoCE devices answered under load, whole and cut short."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing, Reason
from netkit.model.rdma_resources import RdmaLink
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.netlink.attributes import nested_attribute, number_attribute, parse, text_attribute
from netkit.sources.netlink.kernel import Answer, Question
from netkit.sources.netlink.memory import RecordedKernel
from netkit.sources.netlink.nldev import A, parse_counters, parse_queue_pairs, read_rdma_links

ROWS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("soft_roce.json").read_text())["rows"]


NO_FILES = MemoryTree({})


def refused(row: dict[str, Any], reason: str, code: str) -> dict[str, Any]:
    """The same question with a refusal instead of its answer."""
    asked = {name: value for name, value in row.items() if name not in {"answer", "partial"}}
    return asked | {"missing": reason, "detail": code}


def links(rows: list[dict[str, Any]], tree: MemoryTree = NO_FILES) -> tuple[RdmaLink, ...]:
    found = read_rdma_links(RecordedKernel(rows), tree)
    assert not isinstance(found, Missing)
    return found.links


def row(where: str) -> int:
    return next(place for place, each in enumerate(ROWS) if each["where"] == where)


def test_two_devices_with_their_ports_and_interfaces() -> None:
    """The map from RDMA device to interface without guessing."""
    found = links(ROWS)
    assert [(link.name, link.protocol) for link in found] == [("rxe0", "roce"), ("rxe1", "roce")]
    assert [link.partial for link in found] == [False, False]
    ports = [link.ports[0] for link in found if not isinstance(link.ports, Missing)]
    assert [(port.state, port.physical_state, port.netdev) for port in ports] == [
        ("ACTIVE", "LINK_UP", "v0"),
        ("ACTIVE", "LINK_UP", "v1"),
    ]


def test_counters_moved_on_the_device_under_load_only() -> None:
    """The second device sent nothing."""
    sent = []
    for link in links(ROWS):
        assert not isinstance(link.ports, Missing)
        counters = link.ports[0].counters
        assert not isinstance(counters, Missing)
        sent.append(next(counter.raw for counter in counters if counter.name == "sent_pkts"))
    assert isinstance(sent[0], int)
    assert sent[0] > 1000
    assert sent[1] == 0


def test_queue_pairs_name_their_process_or_their_module() -> None:
    """A server, a client, and the kernel's own."""
    files: dict[str, bytes | int] = {f"proc/{process}/comm": b"ib_write_bw\n" for process in range(250, 400)}
    pairs = links(ROWS, MemoryTree(files))[0].queue_pairs
    assert not isinstance(pairs, Missing)
    kernels = [pair for pair in pairs if isinstance(pair.process, Missing)]
    users = [pair for pair in pairs if isinstance(pair.process, int)]
    assert [(pair.kind, pair.owner) for pair in kernels] == [("GSI", "[ib_core]")]
    assert {pair.kind for pair in users} == {"RC"}
    assert [pair.owner for pair in users] == ["ib_write_bw"] * 2
    assert users[0].remote_number == users[1].number


def test_a_process_that_ended_has_no_name_left() -> None:
    """Its PID is still told."""
    pairs = links(ROWS)[0].queue_pairs
    assert not isinstance(pairs, Missing)
    (first, *_) = (pair for pair in pairs if isinstance(pair.process, int))
    assert isinstance(first.owner, Missing)


def test_the_driver_decides_how_wide_a_counter_is() -> None:
    """mlx5's queue counters are 32 bits wide; the message does not say, the driver's name does."""
    entry = text_attribute(A.STAT_HWCOUNTER_ENTRY_NAME, "out_of_sequence")
    entry += number_attribute(A.STAT_HWCOUNTER_ENTRY_VALUE, 7, 8)
    message = parse(nested_attribute(A.STAT_HWCOUNTERS, nested_attribute(A.STAT_HWCOUNTER_ENTRY, entry)))
    widths = [next(parse_counters(message, driver)).form.bits for driver in ("mlx5_core", "rdma_rxe")]
    assert widths == [32, None]


def test_lids_belong_to_infiniband() -> None:
    """RoCE ports have none: Missing, not 0."""
    ports = links(ROWS)[0].ports
    assert not isinstance(ports, Missing)
    assert isinstance(ports[0].lid, Missing)


@pytest.mark.fault("D03")
@pytest.mark.parametrize("where", ["rdma devices", "rdma queue pairs of rxe0", "rdma statistics of rxe0/1"])
def test_cut_at_every_byte_nothing_is_raised(where: str) -> None:
    """One answer cut short spoils itself and nothing beside it."""
    place = row(where)
    body = base64.b64decode(ROWS[place]["answer"][0])
    for length in range(len(body)):
        cut = {**ROWS[place], "answer": [base64.b64encode(body[:length]).decode()]}
        found = read_rdma_links(RecordedKernel([*ROWS[:place], cut, *ROWS[place + 1 :]]), NO_FILES)
        assert not isinstance(found, Missing)
        if where == "rdma devices":
            assert found.partial or len(found.links) == 1
        else:
            assert [link.name for link in found.links] == ["rxe0", "rxe1"]


@pytest.mark.fault("D03")
@given(st.binary(max_size=60))
def test_any_bytes_as_every_answer(junk: bytes) -> None:
    """Nothing but records and Missing."""

    class Junk:
        def ask(self, _question: Question) -> Answer | Missing:
            return Answer(bodies=(number_attribute(A.DEV_INDEX, 0) + text_attribute(A.DEV_NAME, "x") + junk, junk))

    assert not isinstance(read_rdma_links(Junk(), NO_FILES), Missing)


@pytest.mark.fault("D04")
def test_a_device_that_went_away_after_the_list_is_left_out() -> None:
    """Its ports answer ENODEV."""
    gone = [refused(each, "absent", "ENODEV") if each["where"] == "rdma ports of rxe1" else each for each in ROWS]
    assert [link.name for link in links(gone)] == ["rxe0"]


@pytest.mark.fault("D02")
def test_a_list_that_kept_changing_is_marked() -> None:
    """Partial queue pairs are given and said to be partial."""
    changed = [
        {**each, "partial": each["where"] == "rdma queue pairs of rxe0"} if "answer" in each else each for each in ROWS
    ]
    assert [link.partial for link in links(changed)] == [True, False]


def test_a_kernel_without_rdma_is_unsupported() -> None:
    """The whole list is Missing with the kernel's reason, not empty."""
    found = read_rdma_links(RecordedKernel([refused(ROWS[0], "unsupported", "EPROTONOSUPPORT")]), NO_FILES)
    assert isinstance(found, Missing)
    assert found.reason is Reason.UNSUPPORTED


def test_states_this_program_does_not_know_keep_their_number() -> None:
    """A newer kernel's queue pair."""
    entry = nested_attribute(A.RES_QP_ENTRY, number_attribute(A.RES_LQPN, 17), number_attribute(A.RES_TYPE, 200, 1))
    (pair,) = parse_queue_pairs(parse(nested_attribute(A.RES_QP, entry)), NO_FILES)
    assert (pair.number, pair.kind, pair.state) == (17, "200", "?")


def test_hostile_counter_names_come_out_visible() -> None:
    """Drivers of virtual devices write them."""
    entry = nested_attribute(A.STAT_HWCOUNTER_ENTRY, text_attribute(A.STAT_HWCOUNTER_ENTRY_NAME, "a\x1b[1mb"))
    (counter,) = parse_counters(parse(nested_attribute(A.STAT_HWCOUNTERS, entry)), "rdma_rxe")
    assert counter.name == "a\\x1b[1mb"
    assert isinstance(counter.raw, Missing)
