"""The module in a port's cage, by ethtool netlink MODULE_EEPROM_GET. Needs CAP_NET_ADMIN.

Linux: Documentation/networking/ethtool-netlink.rst; one question never crosses the half of a page. Each page is one
slow transfer over the module's two-wire bus, and reading clears the module's latched flags: ask rarely.
"""

from __future__ import annotations

from netkit.model.missing import Missing, Reason
from netkit.model.optics import OpticalModule
from netkit.model.text import visible
from netkit.sources.netlink import cmis, sff8636
from netkit.sources.netlink.attributes import MalformedError, number_attribute, parse
from netkit.sources.netlink.ethtool import Command, question
from netkit.sources.netlink.generic import attributes_of
from netkit.sources.netlink.kernel import Kernel, Question, refused
from netkit.sources.netlink.module_memory import HALF, ModuleMemory

OFFSET, _LENGTH, PAGE, _BANK, _ADDRESS, DATA = 2, 3, 4, 5, 6, 7
_I2C_ADDRESS = 0x50


def read_module(kernel: Kernel, interface: str) -> OpticalModule | Missing:
    """Return the module of an interface; Missing where the cage is empty, or without CAP_NET_ADMIN."""
    lower = _half(kernel, interface, 0, 0)
    if isinstance(lower, Missing):
        return lower
    if lower[0] not in sff8636.IDENTIFIERS | cmis.IDENTIFIERS:
        where = f"module of {visible(interface)}"
        return Missing(reason=Reason.UNSUPPORTED, where=where, detail=f"identifier {lower[0]:#04x}")
    modern = lower[0] in cmis.IDENTIFIERS
    # Bit 7 of CMIS byte 2 and bit 2 of SFF-8636 byte 2 both say: page 00h only.
    flat = bool(lower[2] >> (7 if modern else 2) & 1)
    pages = () if flat else (cmis.PAGES if modern else (sff8636.THRESHOLD_PAGE,))
    read = {page: _half(kernel, interface, page, HALF) for page in (0, *pages)}
    memory = ModuleMemory(lower, {page: data for page, data in read.items() if not isinstance(data, Missing)})
    return cmis.decode_cmis(memory) if modern else sff8636.decode_sff8636(memory)


def eeprom_question(interface: str, page: int, offset: int) -> Question:
    """Ask for one half page of bank 0."""
    numbers = (number_attribute(OFFSET, offset), number_attribute(_LENGTH, HALF))
    small = ((PAGE, page), (_BANK, 0), (_ADDRESS, _I2C_ADDRESS))
    bytes_ = (number_attribute(kind, value, 1) for kind, value in small)
    return question(Command.MODULE_EEPROM, interface, *numbers, *bytes_)


def _half(kernel: Kernel, interface: str, page: int, offset: int) -> bytes | Missing:
    asked = eeprom_question(interface, page, offset)
    answer = kernel.ask(asked)
    if isinstance(answer, Missing):
        return answer
    try:
        data = parse(attributes_of(answer.bodies[0] if answer.bodies else b"")).raw(DATA)
    except MalformedError as fault:
        return refused(asked.where, "EBADMSG", str(fault))
    return (
        data if data and len(data) == HALF else refused(asked.where, "EBADMSG", f"{len(data or b'')} of {HALF} bytes")
    )
