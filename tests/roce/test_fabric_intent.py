"""One declared intent: what is written down for a switch proves when read back, and any single edit is found."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.roce.fabric_intent import FabricIntent, checked_intent, parse_intent
from netkit.roce.held import held
from netkit.roce.qos_chain import LinkName, LinkState
from netkit.roce.sizes import sizes_of
from netkit.roce.snippet import dialects, snippet_of
from netkit.roce.switch_ports import parse_switch

DOCUMENT = """
[lossless]
3 = [26]
[cnp]
dscp = 48
priority = 6
[link]
speed = "400gbit"
cable_metres = 40
mtu_bytes = 9100
rtt_microseconds = 20
[buffer]
bytes = "64M"
[ports]
switch = ["Ethernet0", "Ethernet8"]
host = ["rail0"]
"""


@st.composite
def intents(draw: st.DrawFn) -> FabricIntent:
    """Any intent a fabric can have."""
    priorities = draw(st.lists(st.integers(1, 7), min_size=2, max_size=3, unique=True))
    dscps = draw(st.lists(st.integers(1, 63), min_size=len(priorities), max_size=5, unique=True))
    cnp_priority, *lossless = priorities
    cnp_dscp, *data = dscps
    named = {dscp: lossless[index % len(lossless)] for index, dscp in enumerate(data)}
    intent = FabricIntent(
        lossless=named,
        cnp_dscp=cnp_dscp,
        cnp_priority=cnp_priority,
        speed=draw(st.sampled_from((25e9, 100e9, 200e9, 400e9, 800e9))) / 8,
        cable_metres=draw(st.integers(1, 2000)),
        mtu_bytes=draw(st.integers(1500, 9216)),
        rtt_microseconds=draw(st.integers(5, 100)),
        switch_ports=tuple(f"Ethernet{8 * number}" for number in range(draw(st.integers(1, 3)))),
    )
    return checked_intent(intent)


@settings(max_examples=40)
@given(intents(), st.sampled_from(("sonic", "nvue")))
def test_what_is_written_down_proves_when_read_back(intent: FabricIntent, dialect: str) -> None:
    """Every lossless DSCP, through every port."""
    ports = parse_switch(snippet_of(dialect, intent).text)
    chains = [chain for port in ports.values() for chain in held(intent, port)]
    assert len(chains) == len(intent.lossless) * len(ports)
    assert all(chain.proven for chain in chains), [chain.broken for chain in chains]


Tables = dict[str, Any]
_MAP = "NETKIT_ROCE"


def _row(table: str, key: str, field: str, value: str | None) -> Callable[[Tables, FabricIntent], None]:
    """Set one field of one row, or remove it; `{p}`, `{d}`, `{c}`, `{k}` are priority, DSCP, CNP DSCP and its queue."""

    def edit(tables: Tables, intent: FabricIntent) -> None:
        dscp, priority = next(iter(intent.lossless.items()))
        names = {"p": priority, "d": dscp, "c": intent.cnp_dscp, "k": intent.cnp_priority, "e": intent.switch_ports[0]}
        row = tables[table][key.format(**names)]
        name = field.format(**names)
        if value is None:
            del row[name]
        else:
            row[name] = value.format(**names)

    return edit


def _no_watchdog(tables: Tables, intent: FabricIntent) -> None:
    del tables["PFC_WD"][intent.switch_ports[0]]


def _no_pfc(tables: Tables, intent: FabricIntent) -> None:
    tables["PORT_QOS_MAP"][intent.switch_ports[0]]["pfc_enable"] = ",".join(
        str(priority) for priority in intent.lossless_priorities[1:]
    )


def _more_pfc(tables: Tables, intent: FabricIntent) -> None:
    tables["PORT_QOS_MAP"][intent.switch_ports[0]]["pfc_enable"] += ",0"


def _little_headroom(tables: Tables, intent: FabricIntent) -> None:
    for profile in tables["BUFFER_PROFILE"].values():
        profile["xoff"] = str(sizes_of(intent).headroom.bytes - 1)


def _stray(tables: Tables, intent: FabricIntent) -> None:
    stray = next(dscp for dscp in range(64) if dscp not in intent.lossless and dscp != intent.cnp_dscp)
    tables["DSCP_TO_TC_MAP"][_MAP][str(stray)] = str(intent.lossless_priorities[0])


SONIC_EDITS: tuple[tuple[str, LinkName, Callable[[Tables, FabricIntent], None]], ...] = (
    ("data DSCP in class 0", LinkName.SWITCH_CLASS, _row("DSCP_TO_TC_MAP", _MAP, "{d}", "0")),
    ("data DSCP forgotten", LinkName.SWITCH_CLASS, _row("DSCP_TO_TC_MAP", _MAP, "{d}", None)),
    ("a stray DSCP in the lossless class", LinkName.SWITCH_CLASS, _stray),
    ("group of the class", LinkName.SWITCH_GROUP, _row("TC_TO_PRIORITY_GROUP_MAP", _MAP, "{p}", "0")),
    ("group of the priority", LinkName.SWITCH_GROUP, _row("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", _MAP, "{p}", "0")),
    ("queue of the class", LinkName.SWITCH_QUEUE, _row("TC_TO_QUEUE_MAP", _MAP, "{p}", "0")),
    ("queue of the priority", LinkName.SWITCH_QUEUE, _row("MAP_PFC_PRIORITY_TO_QUEUE", _MAP, "{p}", "0")),
    ("PFC off", LinkName.SWITCH_PFC, _no_pfc),
    ("PFC on one more", LinkName.SWITCH_PFC, _more_pfc),
    ("lossy buffer", LinkName.SWITCH_BUFFER, _row("BUFFER_PG", "{e}|{p}", "profile", "ingress_lossy_profile")),
    ("one byte of headroom missing", LinkName.SWITCH_BUFFER, _little_headroom),
    ("no marking", LinkName.SWITCH_ECN, _row("WRED_PROFILE", "NETKIT_LOSSLESS", "ecn", "ecn_none")),
    ("no profile", LinkName.SWITCH_ECN, _row("QUEUE", "{e}|{p}", "wred_profile", None)),
    ("another threshold", LinkName.SWITCH_ECN, _row("WRED_PROFILE", "NETKIT_LOSSLESS", "green_min_threshold", "1")),
    ("no watchdog", LinkName.SWITCH_WATCHDOG, _no_watchdog),
    ("a watchdog that only tells", LinkName.SWITCH_WATCHDOG, _row("PFC_WD", "{e}", "action", "alert")),
    ("a watchdog that sleeps", LinkName.SWITCH_WATCHDOG, _row("PFC_WD", "{e}", "detection_time", "60000")),
    ("CNP in the data's queue", LinkName.SWITCH_CNP, _row("TC_TO_QUEUE_MAP", _MAP, "{k}", "{p}")),
    ("CNP queue not strict", LinkName.SWITCH_CNP, _row("QUEUE", "{e}|{k}", "scheduler", "netkit.shared")),
    ("a small MTU", LinkName.SWITCH_MTU, _row("PORT", "{e}", "mtu", "1499")),
)


@pytest.mark.parametrize(("what", "link", "edit"), SONIC_EDITS, ids=[what for what, _, _ in SONIC_EDITS])
def test_one_edit_of_config_db_breaks_its_own_link(
    what: str, link: LinkName, edit: Callable[[Tables, FabricIntent], None]
) -> None:
    """Whatever the intent, the first broken link is the one that was edited, and only that port has it."""

    @settings(max_examples=8)
    @given(intents())
    def breaks(intent: FabricIntent) -> None:
        tables = json.loads(snippet_of("sonic", intent).text)
        edit(tables, intent)
        port = parse_switch(json.dumps(tables))[intent.switch_ports[0]]
        broken = [chain.broken for chain in held(intent, port) if chain.broken]
        assert broken, what
        assert {one.name for one in broken} == {link}, (what, broken)

    breaks()


NVUE_EDITS: tuple[tuple[str, LinkName, str, str], ...] = (
    ("data DSCP elsewhere", LinkName.SWITCH_CLASS, r"dscp {d} switch-priority \d", "dscp {d} switch-priority 0"),
    (
        "queue of the class",
        LinkName.SWITCH_QUEUE,
        r"switch-priority {p} traffic-class \d",
        "switch-priority {p} traffic-class 0",
    ),
    ("PFC on one more", LinkName.SWITCH_PFC, r"(qos pfc \S+ switch-priority) (.*)", r"\1 0,\2"),
    ("PFC off", LinkName.SWITCH_PFC, r"qos pfc \S+ tx enable", "qos pfc default-global tx disable"),
    ("PFC on one side", LinkName.SWITCH_PFC, r"nv set qos pfc \S+ rx enable\n", ""),
    ("a shorter cable", LinkName.SWITCH_BUFFER, r"cable-length \d+", "cable-length 0"),
    ("no cable", LinkName.SWITCH_BUFFER, r"nv set qos pfc \S+ cable-length \d+\n", ""),
    ("no marking", LinkName.SWITCH_ECN, r"ecn enable", "ecn disable"),
    ("another threshold", LinkName.SWITCH_ECN, r"max-threshold \d+", "max-threshold 7"),
    ("no watchdog", LinkName.SWITCH_WATCHDOG, r"pfc-watchdog state enable", "pfc-watchdog state disable"),
    ("a watchdog that sleeps", LinkName.SWITCH_WATCHDOG, r"polling-interval \d+", "polling-interval 9000"),
    ("CNP queue not strict", LinkName.SWITCH_CNP, r"mode strict", "mode dwrr"),
    ("a small MTU", LinkName.SWITCH_MTU, r"link mtu \d+", "link mtu 1499"),
)


@pytest.mark.parametrize(("what", "link", "old", "new"), NVUE_EDITS, ids=[what for what, *_ in NVUE_EDITS])
def test_one_edit_of_nvue_commands_breaks_its_own_link(what: str, link: LinkName, old: str, new: str) -> None:
    """Whatever the intent."""

    @settings(max_examples=8)
    @given(intents())
    def breaks(intent: FabricIntent) -> None:
        dscp, priority = next(iter(intent.lossless.items()))
        names = {"{d}": str(dscp), "{p}": str(priority)}
        pattern, text = old, new
        for sign, number in names.items():
            pattern, text = pattern.replace(sign, number), text.replace(sign, number)
        wording = snippet_of("nvue", intent).text
        edited = re.sub(pattern, text, wording)
        assert edited != wording, what
        broken = [chain.broken for chain in held(intent, parse_switch(edited)["*"]) if chain.broken]
        assert broken, what
        assert {one.name for one in broken} == {link}, (what, broken)

    breaks()


@given(intents())
@settings(max_examples=8)
def test_every_dialect_says_the_whole_intent(intent: FabricIntent) -> None:
    """Every lossless priority, every port and the DSCPs occur; remarks come first and are remarks."""
    for name in dialects():
        snippet = snippet_of(name, intent)
        assert snippet.text.endswith("\n")
        assert all(re.search(rf"\b{dscp}\b", snippet.text) for dscp in intent.lossless), name
        ports = intent.host_interfaces if name == "host" else intent.switch_ports
        assert all(port in snippet.text for port in ports)
        sign = snippet.dialect.comment
        head = snippet.remarked.removesuffix(snippet.text)
        assert (head == "") is (sign is None)
        assert all(line.startswith(str(sign)) for line in head.splitlines())
        assert all(one in head for one in snippet.unstated) or sign is None


def test_every_dialect_is_one_file_that_bears_its_name() -> None:
    """And says where it was read; the two netkit reads back are marked."""
    found = dialects()
    assert list(found) == ["arista", "h3c", "host", "huawei", "nvue", "nxos", "sonic"]
    assert all(one.id == name and one.source and one.title for name, one in found.items())
    assert [name for name, one in found.items() if one.readable] == ["nvue", "sonic"]
    assert all(one.unstated(parse_intent(DOCUMENT)) for name, one in found.items() if name != "host")


def test_a_document_is_read_whole() -> None:
    """Every key of it."""
    assert parse_intent(DOCUMENT) == FabricIntent(
        lossless={26: 3},
        cnp_dscp=48,
        cnp_priority=6,
        speed=50e9,
        cable_metres=40,
        mtu_bytes=9100,
        rtt_microseconds=20,
        buffer_bytes=64 << 20,
        switch_ports=("Ethernet0", "Ethernet8"),
        host_interfaces=("rail0",),
    )


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("3 = [26]", ""), "without a lossless DSCP"),
        (("3 = [26]", "3 = [64]"), "DSCP 64"),
        (("3 = [26]", "0 = [26]"), "priority of DSCP 26 0"),
        (("3 = [26]", "3 = [26]\n4 = [26]"), "DSCP 26 twice"),
        (("3 = [26]", "3 = [26]\n4 = [34]\n5 = [40]"), "3 lossless priorities"),
        (("3 = [26]", 'x = ["y"]'), r"\[lossless\] x"),
        (("3 = [26]", "6 = [26]"), "CNP priority 6, which is lossless"),
        (("dscp = 48", "dscp = 26"), "DSCP 26 for data and notifications"),
        (("dscp = 48", "dscp = true"), "dscp = True"),
        (("400gbit", "400"), "rate"),
        (("cable_metres = 40", "cable_metres = 0"), "cable length"),
        (("cable_metres", "cable"), r"cable in \[link\]"),
        (("[buffer]", "[buffers]"), r"\[buffers\]"),
        (('["rail0"]', '["rail0; reboot"]'), "port 'rail0; reboot'"),
        (('["rail0"]', "[]"), "without a port"),
        (("[lossless]", "[lossless"), "not TOML"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_line(change: tuple[str, str], named: str) -> None:
    """Naming what was given and what is accepted."""
    text = DOCUMENT.replace(*change, 1) if change[0] != "dscp = 48" else re.sub(r"dscp = 48", change[1], DOCUMENT)
    with pytest.raises(InputError, match=named) as refused:
        parse_intent(text)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=200))
def test_any_text_is_an_intent_or_one_clear_line(text: str) -> None:
    """The reader raises nothing else."""
    with contextlib.suppress(InputError):
        assert parse_intent(text).lossless


def test_sizes_follow_their_formulas() -> None:
    """Figures worked out by hand for 400 Gbit/s, 40 m, 9100 bytes and 20 us."""
    sizes = sizes_of(parse_intent(DOCUMENT))
    on_the_way = 50e9 * (2 * 40 * 5e-9 + 1.6144e-6)
    assert sizes.headroom.bytes == round(2 * 9138 + 84 + on_the_way) == 119080
    assert (sizes.mark_from.bytes, sizes.mark_all_from.bytes) == (142857, 2_000_000)
    assert all(one.formula and one.source for one in sizes.listed)


def test_a_longer_cable_or_a_faster_link_needs_more() -> None:
    """The declared numbers reach the sizes."""
    intent = parse_intent(DOCUMENT)
    longer, faster = replace(intent, cable_metres=400), replace(intent, speed=100e9)
    assert sizes_of(longer).headroom.bytes > sizes_of(intent).headroom.bytes
    assert sizes_of(faster).mark_from.bytes > sizes_of(intent).mark_from.bytes


def test_a_switch_that_shows_no_mtu_is_not_proven() -> None:
    """What was not read is unknown, never held."""
    intent = parse_intent(DOCUMENT)
    text = re.sub(r"nv set interface \S+ link mtu \d+\n", "", snippet_of("nvue", intent).text)
    (chain,) = held(intent, parse_switch(text)["*"])
    assert chain.broken is None
    assert not chain.proven
    assert [one.name for one in chain.links if one.state is LinkState.UNKNOWN] == [LinkName.SWITCH_MTU]


def test_a_buffer_that_is_all_headroom_is_refused() -> None:
    """And says how much it would take."""
    small = replace(parse_intent(DOCUMENT), buffer_bytes=4 * 119080 - 1)
    with pytest.raises(InputError, match="headroom alone is 233 KiB"):
        sizes_of(small)
    assert sizes_of(replace(small, buffer_bytes=4 * 119080)).headroom.bytes == 119080
