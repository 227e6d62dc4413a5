"""What the kernel of a made-up node answers by netlink and `ethtool -S`: a healthy RoCE port on every NIC. Synthetic.

DSCP trusted, DSCP 24 to 31 on lossless priority 3, CNP on strict priority 6, PFC on 3 alone, 802.3x pause off, RS-FEC,
an 800G-class optical module per cage. The structures are those the readers in `netkit.sources.netlink` take apart.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from netkit.lab.virtual_layout import VirtualGpu, VirtualNic
from netkit.lab.virtual_module import module_page
from netkit.model.missing import Missing
from netkit.sources.netlink import dcb, ethtool, links, module_eeprom, nldev
from netkit.sources.netlink.attributes import (
    Attributes,
    attribute,
    nested_attribute,
    number_attribute,
    parse,
    text_attribute,
)
from netkit.sources.netlink.kernel import Answer, Channel, Question, refused
from netkit.sources.netlink.link_words import STATISTICS

LOSSLESS = 3
_CNP = 6
_PRIORITIES = range(8)
_DSCPS = 64
_SPEED_MEGABITS = 400_000
_LANES = 4
_FIBRE = 3
_RS_FEC = 50
_ACTIVE, _LINK_UP, _NODE_TYPE_CA = 4, 5, 1
_RELIABLE, _READY_TO_SEND = 2, 3
_FIRST_PAIR = 0x100
_PAIRS_A_PROCESS = 4
_HARDWARE_COUNTERS = ("np_cnp_sent", "rp_cnp_handled", "out_of_sequence", "packet_seq_err", "local_ack_timeout_err")
_COUNTERS = (
    *("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_discards_phy", "tx_discards_phy", "rx_out_of_buffer"),
    *("rx_crc_errors_phy", "rx_symbol_err_phy", "rx_pcs_symbol_err_phy", "link_down_events_phy"),
    *("tx_pause_storm_warning_events", "tx_pause_storm_error_events"),
    *(
        f"{way}_prio{priority}_{what}"
        for priority in _PRIORITIES
        for way in ("rx", "tx")
        for what in ("bytes", "packets")
    ),
    *(f"rx_prio{priority}_{what}" for priority in _PRIORITIES for what in ("discards", "marked")),
    *(f"{way}_prio{LOSSLESS}_pause{what}" for way in ("rx", "tx") for what in ("", "_duration")),
    f"rx_prio{LOSSLESS}_pause_transition",
)
_MOVED = MappingProxyType(
    {
        **dict.fromkeys(
            ("rx_bytes", "tx_bytes", f"rx_prio{LOSSLESS}_bytes", f"tx_prio{LOSSLESS}_bytes"), 1_000_000_000_000
        ),
        **dict.fromkeys(
            ("rx_packets", "tx_packets", f"rx_prio{LOSSLESS}_packets", f"tx_prio{LOSSLESS}_packets"), 240_000_000
        ),
    }
)
_Build = Callable[[VirtualNic, Attributes], bytes]


class VirtualKernel:
    """Answers what `read_node` asks of netlink; anything else is refused as a driver does that lacks a command."""

    def __init__(self, nics: Sequence[VirtualNic], gpus: Sequence[VirtualGpu]) -> None:
        self._nics = {nic.index: nic for nic in nics}
        self._named = {nic.interface: nic for nic in nics}
        self._processes = {gpu.index: gpu.process for gpu in gpus}

    def ask(self, question: Question) -> Answer | Missing:
        """Return the answer about one port, or the list of all."""
        match question.channel:
            case Channel.RDMA:
                return self._rdma(question)
            case Channel.DRIVER_STATISTICS:
                return self._about(question, question.body.decode(), _statistics_lines)
            case Channel.ROUTE if question.command != dcb.RTM_GETDCB:
                return Answer(bodies=tuple(map(_interface, self._nics.values())))
            case Channel.ROUTE:
                asked = parse(question.body[dcb.HEADER_BYTES :])
                return self._about(question, asked.text(dcb.Attr.IFNAME), lambda nic: _bridging(nic, question.body[1]))
            case Channel.ETHTOOL:
                return self._ethtool(question)

    def _about(
        self, question: Question, name: str | None, answer: Callable[[VirtualNic], Sequence[bytes]]
    ) -> Answer | Missing:
        nic = self._named.get(name or "")
        return refused(question.where, "ENODEV") if nic is None else Answer(bodies=tuple(answer(nic)))

    def _ethtool(self, question: Question) -> Answer | Missing:
        asked = parse(question.body)
        kind = ethtool.Stats.HEADER if question.command == ethtool.Command.STATS else ethtool.HEADER
        header = asked.group(kind) or Attributes(())
        build = _LINK.get(question.command)
        if build is None:
            return refused(question.where, "EOPNOTSUPP")
        name = header.text(ethtool.Header.DEV_NAME)
        return self._about(question, name, lambda nic: [bytes(4) + _header(nic, kind) + build(nic, asked)])

    def _rdma(self, question: Question) -> Answer | Missing:
        command = nldev.Command(question.command & 0x3FF)
        if command is nldev.Command.GET:
            return Answer(bodies=tuple(map(_device, self._nics.values())))
        index = parse(question.body).number(nldev.A.DEV_INDEX)
        nic = self._nics.get(-1 if index is None else index)
        if nic is None:
            return refused(question.where, "ENODEV")
        return Answer(bodies=(_about_device(nic) + self._rdma_part(nic, command),))

    def _rdma_part(self, nic: VirtualNic, command: nldev.Command) -> bytes:
        match command:
            case nldev.Command.PORT_GET:
                return _port(nic)
            case nldev.Command.STAT_GET:
                return _hardware_counters()
            case nldev.Command.RES_QP_GET:
                return _queue_pairs(self._processes[nic.index])
            case _:
                return _resources()


def _interface(nic: VirtualNic) -> bytes:
    names = text_attribute(links.IFNAME, nic.interface) + text_attribute(links.PARENT_DEVICE, nic.slot.address)
    return struct.pack("=BxHiII", 0, 1, nic.interface_index, 0, 0) + names


def _device(nic: VirtualNic) -> bytes:
    guid = int(nic.guid.replace(":", ""), 16)
    return _about_device(nic) + b"".join(
        (
            text_attribute(nldev.A.FW_VERSION, "28.43.2026"),
            number_attribute(nldev.A.NODE_GUID, guid, 8),
            number_attribute(nldev.A.SYS_IMAGE_GUID, guid, 8),
            number_attribute(nldev.A.DEV_NODE_TYPE, _NODE_TYPE_CA, 1),
            text_attribute(nldev.A.DEV_PROTOCOL, "roce"),
        )
    )


def _about_device(nic: VirtualNic) -> bytes:
    return number_attribute(nldev.A.DEV_INDEX, nic.index) + text_attribute(nldev.A.DEV_NAME, nic.device)


def _port(nic: VirtualNic) -> bytes:
    return b"".join(
        (
            number_attribute(nldev.A.PORT_INDEX, 1),
            number_attribute(nldev.A.PORT_STATE, _ACTIVE, 1),
            number_attribute(nldev.A.PORT_PHYS_STATE, _LINK_UP, 1),
            number_attribute(nldev.A.NDEV_INDEX, nic.interface_index),
            text_attribute(nldev.A.NDEV_NAME, nic.interface),
        )
    )


def _hardware_counters() -> bytes:
    entries = (
        nested_attribute(
            nldev.A.STAT_HWCOUNTER_ENTRY,
            text_attribute(nldev.A.STAT_HWCOUNTER_ENTRY_NAME, name),
            number_attribute(nldev.A.STAT_HWCOUNTER_ENTRY_VALUE, 0, 8),
        )
        for name in _HARDWARE_COUNTERS
    )
    return nested_attribute(nldev.A.STAT_HWCOUNTERS, *entries)


def _queue_pairs(process: int) -> bytes:
    pairs = (
        nested_attribute(
            nldev.A.RES_QP_ENTRY,
            number_attribute(nldev.A.PORT_INDEX, 1),
            number_attribute(nldev.A.RES_LQPN, _FIRST_PAIR + number),
            number_attribute(nldev.A.RES_TYPE, _RELIABLE, 1),
            number_attribute(nldev.A.RES_STATE, _READY_TO_SEND, 1),
            number_attribute(nldev.A.RES_PID, process),
        )
        for number in range(_PAIRS_A_PROCESS)
    )
    return nested_attribute(nldev.A.RES_QP, *pairs)


def _resources() -> bytes:
    entries = (
        nested_attribute(
            nldev.A.RES_SUMMARY_ENTRY,
            text_attribute(nldev.A.RES_SUMMARY_ENTRY_NAME, name),
            number_attribute(nldev.A.RES_SUMMARY_ENTRY_CURR, _PAIRS_A_PROCESS, 8),
        )
        for name in ("pd", "cq", "qp", "mr", "ctx")
    )
    return nested_attribute(nldev.A.RES_SUMMARY, *entries)


def _statistics_lines(_nic: VirtualNic) -> list[bytes]:
    return [f"{name}: {_MOVED.get(name, 0)}".encode() for name in _COUNTERS]


def _bridging(nic: VirtualNic, command: int) -> list[bytes]:
    name = text_attribute(dcb.Attr.IFNAME, nic.interface)
    if command == dcb.Command.GDCBX:
        host, ieee = 0x01, 0x08
        return [bytes(4) + name + number_attribute(dcb.Attr.DCBX, host | ieee, 1)]
    return [bytes(4) + name + nested_attribute(dcb.Attr.IEEE, *_quality_of_service())]


def _quality_of_service() -> list[bytes]:
    strict, shared = 0, 2
    shares = bytes(50 if priority in (0, LOSSLESS) else 0 for priority in _PRIORITIES)
    algorithms = bytes(strict if priority == _CNP else shared for priority in _PRIORITIES)
    same = bytes(_PRIORITIES)
    nothing = bytes(8)
    buffer_of = bytes(int(priority == LOSSLESS) for priority in _PRIORITIES)
    sizes = (131_072, 393_216, *[0] * 6)
    dscp = [struct.pack("=BBH", 5, code >> 3, code) for code in range(_DSCPS)]
    # `struct ieee_ets`, `ieee_pfc`, `dcbnl_buffer`, `ieee_maxrate` of include/uapi/linux/dcbnl.h.
    return [
        attribute(
            dcb.Ieee.ETS,
            struct.pack("=3B8s8s8s8s8s8s8s", 0, 8, 0, shares, shares, algorithms, same, nothing, nothing, nothing),
        ),
        attribute(dcb.Ieee.PFC, struct.pack("=3BxH2x16Q", 8, 1 << LOSSLESS, 0, 7, *[0] * 16)),
        nested_attribute(dcb.Ieee.APP_TABLE, *(attribute(1, entry) for entry in dscp)),
        nested_attribute(dcb.Ieee.APP_TRUST_TABLE, attribute(1, bytes([5]))),
        attribute(dcb.Ieee.MAXRATE, bytes(64)),
        attribute(dcb.Ieee.BUFFER, struct.pack("=8s8II", buffer_of, *sizes, sum(sizes))),
    ]


def _header(nic: VirtualNic, kind: int) -> bytes:
    index = number_attribute(ethtool.Header.DEV_INDEX, nic.interface_index)
    return nested_attribute(kind, index, text_attribute(ethtool.Header.DEV_NAME, nic.interface))


def _connector(_nic: VirtualNic, _asked: Attributes) -> bytes:
    return number_attribute(2, _FIBRE, 1)


def _mode(_nic: VirtualNic, _asked: Attributes) -> bytes:
    speed = number_attribute(ethtool.Mode.SPEED, _SPEED_MEGABITS) + number_attribute(ethtool.Mode.LANES, _LANES)
    return speed + number_attribute(ethtool.Mode.DUPLEX, 1, 1) + number_attribute(ethtool.Mode.AUTONEG, 1, 1)


def _state(_nic: VirtualNic, _asked: Attributes) -> bytes:
    return number_attribute(ethtool.State.LINK, 1, 1) + number_attribute(ethtool.State.EXT_DOWN_CNT, 1)


def _pause(_nic: VirtualNic, _asked: Attributes) -> bytes:
    kinds = (ethtool.PauseAttr.AUTONEG, ethtool.PauseAttr.RX, ethtool.PauseAttr.TX)
    counts = nested_attribute(ethtool.PauseAttr.STATS, *(number_attribute(kind, 0, 8) for kind in (2, 3)))
    return b"".join(number_attribute(kind, 0, 1) for kind in kinds) + counts


def _correction(_nic: VirtualNic, _asked: Attributes) -> bytes:
    corrected, uncorrectable, bits = 1200, 0, 1800
    counts = ((2, corrected), (3, uncorrectable), (4, bits))
    arrays = (attribute(kind, struct.pack("=Q", value)) for kind, value in counts)
    return number_attribute(ethtool.Fec.ACTIVE, _RS_FEC) + nested_attribute(ethtool.Fec.STATS, *arrays)


def _standard_counters(_nic: VirtualNic, _asked: Attributes) -> bytes:
    return b"".join(
        nested_attribute(
            ethtool.Stats.GRP,
            number_attribute(2, group),
            *(nested_attribute(4, number_attribute(kind, 0, 8)) for kind in words),
        )
        for group, (_, words) in STATISTICS.items()
    )


def _module(nic: VirtualNic, asked: Attributes) -> bytes:
    page, offset = asked.number(module_eeprom.PAGE), asked.number(module_eeprom.OFFSET)
    return attribute(module_eeprom.DATA, module_page(nic, page or 0, lower=offset == 0))


_LINK: Mapping[int, _Build] = MappingProxyType(
    {
        ethtool.Command.LINKINFO: _connector,
        ethtool.Command.LINKMODES: _mode,
        ethtool.Command.LINKSTATE: _state,
        ethtool.Command.PAUSE: _pause,
        ethtool.Command.FEC: _correction,
        ethtool.Command.STATS: _standard_counters,
        ethtool.Command.MODULE_EEPROM: _module,
    }
)
