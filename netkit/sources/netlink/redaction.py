"""Recorded netlink answers without names: only the attributes netkit reads are kept, and those that identify change.

What else the kernel sent (hardware addresses, aliases, alternative names) goes. A GUID, an interface's name and a
module's serial number become what they become everywhere else in the recording.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from netkit.model.missing import Missing, Reason
from netkit.sources.netlink import cmis, dcb, ethtool, links, module_eeprom, nldev, sff8636
from netkit.sources.netlink.attributes import (
    MalformedError,
    number,
    rewrite,
    text,
)
from netkit.sources.netlink.kernel import Answer, Channel, Question
from netkit.sources.netlink.memory import Row, parsed_row, row_of

Words = Callable[[str], str]
"""How text changes: `Redactor.text`."""
Changes = Mapping[int, Callable[[bytes, Words], bytes]]
"""What happens to the value of each kind of attribute; kinds that are not listed go."""
_GENERIC_HEADER_BYTES = 4
_NAMES = frozenset({nldev.A.DEV_NAME, nldev.A.NDEV_NAME})
_GUIDS = frozenset({nldev.A.NODE_GUID, nldev.A.SYS_IMAGE_GUID})
_UPPER = 128
_SERIALS = MappingProxyType(
    {
        **dict.fromkeys(sff8636.IDENTIFIERS, ((196, 212), (212, 220))),
        # CMIS has a code of the equipment type (CLEI) behind the date.
        **dict.fromkeys(cmis.IDENTIFIERS, ((166, 182), (182, 200))),
    }
)
"""Where page 00h holds the serial number, and then the date, by the identifier in its first byte."""


def _same(value: bytes, _words: Words) -> bytes:
    return value


def _name(value: bytes, words: Words) -> bytes:
    return words(text(value)).encode("utf-8", "surrogateescape") + b"\0"


def _guid(value: bytes, words: Words) -> bytes:
    digits = f"{number(value):016x}"
    shown = words(":".join(digits[at : at + 4] for at in range(0, 16, 4)))
    return struct.pack("=Q", int(shown.replace(":", ""), 16))


def _header(value: bytes, words: Words) -> bytes:
    return _kept(value, _HEADER, words)


def _memory(value: bytes, words: Words) -> bytes:
    """Change the serial number in page 00h, which begins with the identifier of the module's kind."""
    places = _SERIALS.get(value[0]) if len(value) == _UPPER else None
    if places is None:
        return value
    (start, end), (date, date_end) = ((first - _UPPER, last - _UPPER) for first, last in places)
    serial = words(f"Serial Number: {text(value[start:end]).strip() or '-'}").partition(": ")[2]
    return (
        value[:start]
        + serial.encode("ascii", "replace")[: end - start].ljust(end - start)
        + value[end:date]
        + b" " * (date_end - date)
        + value[date_end:]
    )


_HEADER: Changes = {ethtool.Header.DEV_INDEX: _same, ethtool.Header.DEV_NAME: _name, ethtool.Header.FLAGS: _same}
_RDMA: Changes = {kind: _name if kind in _NAMES else _guid if kind in _GUIDS else _same for kind in nldev.A}
_BRIDGING: Changes = {dcb.Attr.IFNAME: _name, dcb.Attr.IEEE: _same, dcb.Attr.DCBX: _same}
_LINK: Changes = {links.IFNAME: _name, links.PARENT_DEVICE: _name}
_ETHTOOL: Changes = {ethtool.HEADER: _header, **dict.fromkeys(range(2, 16), _same)}
_STATISTICS: Changes = {ethtool.Stats.HEADER: _header, **dict.fromkeys(range(3, 16), _same)}
_EEPROM: Changes = {**_ETHTOOL, module_eeprom.DATA: _memory}


def _changes(question: Question) -> tuple[int, int, Changes]:
    """Return the bytes before the attributes, in the question and in an answer, and what happens to each kind."""
    match question.channel, question.command:
        case Channel.RDMA, _:
            return 0, 0, _RDMA
        case Channel.ROUTE, dcb.RTM_GETDCB:
            return dcb.HEADER_BYTES, dcb.HEADER_BYTES, _BRIDGING
        case Channel.ROUTE, _:
            return links.HEADER_BYTES, links.HEADER_BYTES, _LINK
        case Channel.ETHTOOL, ethtool.Command.STATS:
            return 0, _GENERIC_HEADER_BYTES, _STATISTICS
        case Channel.ETHTOOL, ethtool.Command.MODULE_EEPROM:
            return 0, _GENERIC_HEADER_BYTES, _EEPROM
        case _:
            return 0, _GENERIC_HEADER_BYTES, _ETHTOOL


def redacted_row(row: Row, words: Words) -> Row:
    """Return a row that answers the same question of a machine that cannot be told any more."""
    question, answer = parsed_row(row)
    where = words(question.where)
    if question.channel is Channel.DRIVER_STATISTICS:
        return row_of(
            replace(question, body=words(question.body.decode("utf-8", "replace")).encode(), where=where), answer
        )
    before, ahead, changes = _changes(question)
    try:
        asked = replace(question, body=_message(question.body, before, changes, words), where=where)
        return row_of(asked, _answer(answer, ahead, changes, words))
    except MalformedError as fault:
        lost = Missing(reason=Reason.MALFORMED, where=where, detail=f"EBADMSG: {fault}; left out by redaction")
        return row_of(replace(question, where=where), lost)


def _answer(answer: Answer | Missing, ahead: int, changes: Changes, words: Words) -> Answer | Missing:
    if isinstance(answer, Missing):
        return replace(answer, where=words(answer.where), detail=words(answer.detail))
    return replace(answer, bodies=tuple(_message(body, ahead, changes, words) for body in answer.bodies))


def _message(body: bytes, header: int, changes: Changes, words: Words) -> bytes:
    return body[:header] + _kept(body[header:], changes, words)


def _kept(data: bytes, changes: Changes, words: Words) -> bytes:
    return rewrite(data, lambda kind, value: changes[kind](value, words) if kind in changes else None)
