"""A kernel that answers by the name of the question, and the bytes of such answers. Everything here is synthetic."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from netkit.model.missing import Missing, Reason
from netkit.sources.netlink import dcb, ethtool
from netkit.sources.netlink.attributes import attribute, nested_attribute, number_attribute, text_attribute
from netkit.sources.netlink.kernel import Answer, Question
from netkit.sources.netlink.links import IFNAME, PARENT_DEVICE

Answers = dict[str, tuple[bytes, ...]]
GENERIC = bytes(4)
_RS_FEC = 74
"""Bit of the link modes: 50000baseKR… FEC of 802.3 clause 91."""


class MadeUpKernel:
    """What it was not told to answer, it does not support."""

    def __init__(self, answers: Mapping[str, tuple[bytes, ...]]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []

    def ask(self, question: Question) -> Answer | Missing:
        self.asked.append(question.where)
        found = self.answers.get(question.where)
        if found is None:
            return Missing(reason=Reason.UNSUPPORTED, where=question.where, detail="EOPNOTSUPP")
        return Answer(bodies=found)


def interfaces(listed: Iterable[tuple[int, str, str]]) -> Answers:
    """Index, name and parent device of each."""
    bodies = tuple(
        struct.pack("=BxHiII", 0, 1, index, 0, 0) + text_attribute(IFNAME, name) + text_attribute(PARENT_DEVICE, parent)
        for index, name, parent in listed
    )
    return {"interfaces": bodies}


def statistics(interface: str, values: Mapping[str, int]) -> Answers:
    """What `ethtool -S` prints."""
    return {f"ethtool -S of {interface}": tuple(f"{name}: {value}".encode() for name, value in values.items())}


def link(interface: str, index: int, *, corrected: int | None = None, uncorrectable: int = 0) -> Answers:
    """A link that is up, with forward error correction where `corrected` is given."""
    header = nested_attribute(ethtool.HEADER, number_attribute(ethtool.Header.DEV_INDEX, index))
    up = header + number_attribute(ethtool.State.LINK, 1, 1)
    found: Answers = {f"ethtool linkstate of {interface}": (GENERIC + up,)}
    if corrected is not None:
        counts = attribute(2, struct.pack("=Q", corrected)) + attribute(3, struct.pack("=Q", uncorrectable))
        body = number_attribute(ethtool.Fec.ACTIVE, _RS_FEC) + nested_attribute(ethtool.Fec.STATS, counts)
        found[f"ethtool fec of {interface}"] = (GENERIC + body,)
    return found


def pause(interface: str, *, on: bool) -> Answers:
    """Global pause as configured."""
    flags = (ethtool.PauseAttr.RX, ethtool.PauseAttr.TX)
    return {
        f"ethtool pause of {interface}": (GENERIC + b"".join(number_attribute(each, int(on), 1) for each in flags),)
    }


def bridging(interface: str, lossless: Iterable[int], trust: int = 5) -> Answers:
    """PFC on the given priorities, half the wire for class 3, trust in DSCP."""
    enabled = sum(1 << priority for priority in lossless)
    pfc = struct.pack("=3BxH2x8Q8Q", 8, enabled, 0, 7, *([0] * 16))
    shares, classes = bytes((50, 0, 0, 50, 0, 0, 0, 0)), bytes(range(8))
    ets = struct.pack("=3B8s8s8s8s8s8s8s", 0, 8, 0, shares, shares, bytes([2] * 8), classes, shares, bytes(8), bytes(8))
    inside = attribute(dcb.Ieee.PFC, pfc) + attribute(dcb.Ieee.ETS, ets)
    inside += attribute(dcb.Ieee.APP_TRUST_TABLE, attribute(5, bytes((trust,))))
    body = bytes(dcb.HEADER_BYTES) + nested_attribute(dcb.Attr.IEEE, inside)
    return {f"dcb ieee_get of {interface}": (body,)}
