"""Ethernet links by ethtool netlink: generic netlink family `ethtool`. Reading needs no privilege, optics do.

Linux: include/uapi/linux/ethtool_netlink.h, Documentation/networking/ethtool-netlink.rst. A driver that lacks a
command answers EOPNOTSUPP; one that lacks a counter leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TypeVar

from netkit.model.counter import Counter, CounterForm, Overflow
from netkit.model.ethernet_link import ErrorCorrection, LinkMode, LinkState, Pause, StatisticsGroup
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.netlink.attributes import (
    Attributes,
    MalformedError,
    attribute,
    nested_attribute,
    number,
    number_attribute,
    numbers,
    parse,
    text,
    text_attribute,
)
from netkit.sources.netlink.generic import attributes_of
from netkit.sources.netlink.kernel import Channel, Kernel, Question, refused
from netkit.sources.netlink.link_words import CONNECTORS, EXT_STATES, EXT_SUBSTATES, LINK_MODE_FEC, STATISTICS

HEADER = 1
"""The header's attribute in every message but STATS."""
_STATISTICS_FLAG = 4
_UNKNOWN_SPEED = 0xFFFFFFFF
_BYTES_PER_MEGABIT = 125_000
_FRAMES = CounterForm(unit="packets", bits=64, overflow=Overflow.WRAPS)
_BYTES = CounterForm(unit="bytes", bits=64, overflow=Overflow.WRAPS)
_T = TypeVar("_T")


class Command(IntEnum):
    """ETHTOOL_MSG_*_GET."""

    STRSET = 1
    LINKINFO = 2
    LINKMODES = 4
    LINKSTATE = 6
    PAUSE = 21
    FEC = 29
    MODULE_EEPROM = 31
    STATS = 32


class Header(IntEnum):
    """ETHTOOL_A_HEADER_*."""

    DEV_INDEX = 1
    DEV_NAME = 2
    FLAGS = 3


class Mode(IntEnum):
    """ETHTOOL_A_LINKMODES_*."""

    AUTONEG = 2
    SPEED = 5
    DUPLEX = 6
    LANES = 9


class State(IntEnum):
    """ETHTOOL_A_LINKSTATE_*."""

    LINK = 2
    EXT_STATE = 5
    EXT_SUBSTATE = 6
    EXT_DOWN_CNT = 7


class PauseAttr(IntEnum):
    """ETHTOOL_A_PAUSE_*, and inside STATS: 2 frames sent, 3 frames received."""

    AUTONEG = 2
    RX = 3
    TX = 4
    STATS = 5


class Fec(IntEnum):
    """ETHTOOL_A_FEC_*, and inside STATS: 2 corrected, 3 uncorrectable, 4 corrected bits."""

    ACTIVE = 4
    STATS = 5


class Stats(IntEnum):
    """ETHTOOL_A_STATS_*, and inside GRP: 2 group, 4 statistic."""

    HEADER = 2
    GROUPS = 3
    GRP = 4


def question(command: Command, interface: str, *more: bytes, statistics: bool = False) -> Question:
    """Ask about one interface; `more` are attributes of the command's own."""
    kind = Stats.HEADER if command is Command.STATS else HEADER
    flags = [number_attribute(Header.FLAGS, _STATISTICS_FLAG)] if statistics else []
    header = nested_attribute(kind, text_attribute(Header.DEV_NAME, interface), *flags)
    where = f"ethtool {command.name.lower()} of {visible(interface)}"
    return Question(channel=Channel.ETHTOOL, command=command, body=header + b"".join(more), where=where)


def read_index(kernel: Kernel, interface: str) -> int | Missing:
    """Return the number of the interface that has this name now."""
    asked = question(Command.LINKSTATE, interface)
    return _read(kernel, asked, _index)


def _index(message: Attributes) -> int:
    header = message.group(HEADER)
    index = header.number(Header.DEV_INDEX) if header else None
    if index is None:
        raise MalformedError("an answer without its interface")
    return index


def read_connector(kernel: Kernel, interface: str) -> str | Missing:
    """Return the kind of connector: `fibre`, `direct-attach`, `twisted-pair`."""
    return _read(kernel, question(Command.LINKINFO, interface), _connector)


def _connector(message: Attributes) -> str:
    code = message.number(2)
    return "unknown" if code is None else CONNECTORS.get(code, str(code))


def read_mode(kernel: Kernel, interface: str) -> LinkMode | Missing:
    """Return speed, duplex and lanes."""
    asked = question(Command.LINKMODES, interface)
    return _read(kernel, asked, lambda message: parse_mode(message, asked.where))


def parse_mode(message: Attributes, where: str) -> LinkMode:
    """Read LINKMODES; a speed of -1 is unknown, as on a link that is down."""
    speed, duplex = message.number(Mode.SPEED), message.number(Mode.DUPLEX)
    known = speed not in (None, 0, _UNKNOWN_SPEED)
    return LinkMode(
        speed_bytes_per_second=float((speed or 0) * _BYTES_PER_MEGABIT) if known else _unsaid(where, "speed unknown"),
        full_duplex=duplex == 1 if duplex in (0, 1) else _unsaid(where, "duplex unknown"),
        lanes=_count(message, Mode.LANES, where, "the driver does not say"),
        negotiated=_switch(message, Mode.AUTONEG, where),
    )


def read_state(kernel: Kernel, interface: str) -> LinkState | Missing:
    """Return whether the link is up and why not."""
    asked = question(Command.LINKSTATE, interface, statistics=True)
    return _read(kernel, asked, lambda message: parse_state(message, asked.where))


def parse_state(message: Attributes, where: str) -> LinkState:
    """Read LINKSTATE with its extended state."""
    return LinkState(
        up=_switch(message, State.LINK, where),
        why_down=_why_down(message) or _unsaid(where, "the driver gives no reason"),
        downs=_count(message, State.EXT_DOWN_CNT, where),
    )


def _why_down(message: Attributes) -> str:
    code, detail = message.number(State.EXT_STATE), message.number(State.EXT_SUBSTATE)
    if code is None:
        return ""
    state = EXT_STATES.get(code, str(code))
    return state if detail is None else f"{state}: {EXT_SUBSTATES.get((code, detail), str(detail))}"


def read_pause(kernel: Kernel, interface: str) -> Pause | Missing:
    """Return the 802.3x settings and counts."""
    asked = question(Command.PAUSE, interface, statistics=True)
    return _read(kernel, asked, lambda message: parse_pause(message, asked.where))


def parse_pause(message: Attributes, where: str) -> Pause:
    """Read PAUSE; counts the driver does not keep are Missing."""
    counts = message.group(PauseAttr.STATS) or Attributes(())
    return Pause(
        negotiated=_switch(message, PauseAttr.AUTONEG, where),
        receives=_switch(message, PauseAttr.RX, where),
        sends=_switch(message, PauseAttr.TX, where),
        sent_frames=_count(counts, 2, where),
        received_frames=_count(counts, 3, where),
    )


def read_error_correction(kernel: Kernel, interface: str) -> ErrorCorrection | Missing:
    """Return the FEC in use and what it corrected."""
    asked = question(Command.FEC, interface, statistics=True)
    return _read(kernel, asked, lambda message: parse_error_correction(message, asked.where))


def parse_error_correction(message: Attributes, where: str) -> ErrorCorrection:
    """Read FEC; each count is an array: the port's total, then one per lane."""
    counts = message.group(Fec.STATS) or Attributes(())
    arrays = [numbers(counts.raw(kind) or b"") for kind in (2, 3, 4)]
    totals = [array[0] if array else _unsaid(where, "not counted by the driver") for array in arrays]
    active = message.number(Fec.ACTIVE)
    return ErrorCorrection(
        active=LINK_MODE_FEC.get(active, f"mode {active}") if active is not None else _unsaid(where, "none active"),
        corrected_blocks=totals[0],
        uncorrectable_blocks=totals[1],
        corrected_bits=totals[2],
        corrected_blocks_by_lane=arrays[0][1:],
    )


def read_statistics(kernel: Kernel, interface: str) -> tuple[StatisticsGroup, ...] | Missing:
    """Return the standard counters; mlx5 asks its firmware once for each group."""
    mask = (1 << len(STATISTICS)) - 1
    bits = attribute(1) + number_attribute(2, len(STATISTICS)) + number_attribute(4, mask)
    asked = question(Command.STATS, interface, nested_attribute(Stats.GROUPS, bits))
    return _read(kernel, asked, lambda message: tuple(parse_statistics(message)))


def parse_statistics(message: Attributes) -> Iterator[StatisticsGroup]:
    """Yield the groups the driver filled, in the kernel's order."""
    for group in message.groups(Stats.GRP):
        code = group.number(2)
        if code is None or code not in STATISTICS:
            continue
        name, words = STATISTICS[code]
        found = [(words.get(kind, str(kind)), number(value)) for each in group.groups(4) for kind, value in each.found]
        yield StatisticsGroup(name=name, counters=tuple(_counter(word, value) for word, value in found))


def read_strings(kernel: Kernel, interface: str, string_set: int) -> tuple[str, ...] | Missing:
    """Return the names of one string set (ETH_SS_*: 1 driver statistics, 9 link modes)."""
    one = nested_attribute(1, number_attribute(1, string_set))
    asked = question(Command.STRSET, interface, nested_attribute(2, one))
    return _read(kernel, asked, parse_strings)


def parse_strings(message: Attributes) -> tuple[str, ...]:
    """Read the names of every set in a STRSET answer, by their place in the set."""
    sets = message.group(2) or Attributes(())
    strings = [each for one in sets.groups(1) for listed in one.groups(3) for each in listed.groups(1)]
    named = {each.number(1): text(each.raw(2) or b"") for each in strings}
    return tuple(name for _, name in sorted((place, name) for place, name in named.items() if place is not None))


def _counter(name: str, value: int) -> Counter:
    return Counter(name=name, raw=value, form=_BYTES if name.startswith("Octets") else _FRAMES)


def _read(kernel: Kernel, asked: Question, read: Callable[[Attributes], _T]) -> _T | Missing:
    answer = kernel.ask(asked)
    if isinstance(answer, Missing):
        return answer
    if not answer.bodies:
        return _unsaid(asked.where, "an empty answer")
    try:
        return read(parse(attributes_of(answer.bodies[0])))
    except MalformedError as fault:
        return refused(asked.where, "EBADMSG", str(fault))


def _switch(message: Attributes, kind: int, where: str) -> bool | Missing:
    value = message.number(kind)
    return _unsaid(where) if value is None else value == 1


def _count(message: Attributes, kind: int, where: str, why: str = "not counted by the driver") -> int | Missing:
    value = message.number(kind)
    return _unsaid(where, why) if value is None else value


def _unsaid(where: str, why: str = "") -> Missing:
    return Missing(reason=Reason.UNSUPPORTED, where=where, detail=why)
