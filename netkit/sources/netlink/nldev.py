"""RDMA devices, ports, counters and queue pairs by RDMA netlink (family NETLINK_RDMA, client NLDEV).

Linux: include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c. All questions here are open to everyone. PIDs
are those of the reader's PID namespace: a container sees other containers' queue pairs only with `hostPID: true`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import TypeVar

from netkit.model.counter import Counter
from netkit.model.missing import Missing, Reason
from netkit.model.rdma_resources import QueuePair, RdmaLink, RdmaLinks, RdmaPortLink, ResourceCount
from netkit.sources.attributes import base_name, text
from netkit.sources.counters import hw_form
from netkit.sources.netlink.attributes import Attributes, MalformedError, number_attribute, parse
from netkit.sources.netlink.kernel import Answer, Channel, Kernel, Question, refused
from netkit.sources.rdma import CLASS
from netkit.sources.tree import Tree

MOST_COUNTERS = 512
_NLDEV = 5
"""RDMA_NL_NLDEV: message types are `client << 10 | command`."""


class Command(IntEnum):
    """RDMA_NLDEV_CMD_*."""

    GET = 1
    PORT_GET = 5
    RES_GET = 9
    RES_QP_GET = 10
    STAT_GET = 17


class A(IntEnum):
    """RDMA_NLDEV_ATTR_*, the ones read here."""

    DEV_INDEX = 1
    DEV_NAME = 2
    PORT_INDEX = 3
    FW_VERSION = 5
    NODE_GUID = 6
    SYS_IMAGE_GUID = 7
    LID = 9
    SM_LID = 10
    PORT_STATE = 12
    PORT_PHYS_STATE = 13
    DEV_NODE_TYPE = 14
    RES_SUMMARY = 15
    RES_SUMMARY_ENTRY = 16
    RES_SUMMARY_ENTRY_NAME = 17
    RES_SUMMARY_ENTRY_CURR = 18
    RES_QP = 19
    RES_QP_ENTRY = 20
    RES_LQPN = 21
    RES_RQPN = 22
    RES_TYPE = 26
    RES_STATE = 27
    RES_PID = 28
    RES_KERN_NAME = 29
    NDEV_INDEX = 50
    NDEV_NAME = 51
    DEV_PROTOCOL = 67
    STAT_HWCOUNTERS = 80
    STAT_HWCOUNTER_ENTRY = 81
    STAT_HWCOUNTER_ENTRY_NAME = 82
    STAT_HWCOUNTER_ENTRY_VALUE = 83


PORT_STATES = MappingProxyType(dict(enumerate(("NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"))))
PHYSICAL_STATES = MappingProxyType(
    dict(enumerate(("NOP", "SLEEP", "POLLING", "DISABLED", "ARMED", "LINK_UP", "LINK_ERROR_RECOVERY", "PHY_TEST")))
)
QUEUE_PAIR_STATES = MappingProxyType(dict(enumerate(("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"))))
QUEUE_PAIR_KINDS = MappingProxyType(
    {**dict(enumerate(("SMI", "GSI", "RC", "UC", "UD", "RAW_IPV6", "RAW_ETHERTYPE"))), 8: "RAW_PACKET", 9: "XRC_INI"}
    | {10: "XRC_TGT", 0xFF: "DRIVER"}
)
NO_HOST_NIC = "no host NIC is visible here: run in the host's network namespace (hostNetwork: true)"
_T = TypeVar("_T")


def question(command: Command, where: str, dump: bool = True, **numbers: int) -> Question:
    """Ask about the device and port with these indexes: `DEV_INDEX=0, PORT_INDEX=1`."""
    body = b"".join(number_attribute(A[name], value) for name, value in numbers.items())
    return Question(channel=Channel.RDMA, command=_NLDEV << 10 | command, body=body, dump=dump, where=where)


def read_rdma_links(kernel: Kernel, tree: Tree) -> RdmaLinks | Missing:
    """Return every RDMA device this namespace sees; one that goes away meanwhile is left out.

    `tree` of the same machine names the processes and the drivers, whose counters differ in width.
    """
    answer = kernel.ask(question(Command.GET, "rdma devices"))
    if isinstance(answer, Missing):
        return answer
    known = [device for body in answer.bodies if (device := _device(body))]
    read = (_link(kernel, tree, *device) for device in known)
    partial = answer.partial or len(known) < len(answer.bodies)
    return RdmaLinks(links=tuple(link for link in read if link), partial=partial)


def _device(body: bytes) -> tuple[Attributes, int, str] | None:
    try:
        device = parse(body)
        index, name = device.number(A.DEV_INDEX), device.text(A.DEV_NAME)
        for kind in (A.NODE_GUID, A.SYS_IMAGE_GUID, A.DEV_NODE_TYPE):
            device.number(kind)
    except MalformedError:
        return None
    return None if index is None or not name else (device, index, name)


def _link(kernel: Kernel, tree: Tree, device: Attributes, index: int, name: str) -> RdmaLink | None:
    listed = kernel.ask(question(Command.PORT_GET, f"rdma ports of {name}", DEV_INDEX=index))
    pairs = kernel.ask(question(Command.RES_QP_GET, f"rdma queue pairs of {name}", DEV_INDEX=index))
    if _gone(listed):
        return None
    return RdmaLink(
        name=name,
        index=index,
        protocol=device.text(A.DEV_PROTOCOL) or _unsaid(f"rdma protocol of {name}"),
        firmware=device.text(A.FW_VERSION) or _unsaid(f"rdma firmware of {name}"),
        node_guid=_guid(device, A.NODE_GUID, name),
        system_image_guid=_guid(device, A.SYS_IMAGE_GUID, name),
        node_type=_or_unsaid(device.number(A.DEV_NODE_TYPE), f"rdma node type of {name}"),
        ports=_each(listed, f"rdma ports of {name}", lambda each: _ports(kernel, tree, each, index, name)),
        resources=_each(_summary(kernel, index, name), f"rdma resources of {name}", _resources),
        queue_pairs=_each(pairs, f"rdma queue pairs of {name}", lambda each: parse_queue_pairs(each, tree)),
        partial=any(isinstance(answer, Answer) and answer.partial for answer in (listed, pairs)),
    )


def _summary(kernel: Kernel, index: int, name: str) -> Answer | Missing:
    return kernel.ask(question(Command.RES_GET, f"rdma resources of {name}", dump=False, DEV_INDEX=index))


def _gone(answer: Answer | Missing) -> bool:
    return isinstance(answer, Missing) and answer.reason is Reason.ABSENT


def _each(answer: Answer | Missing, where: str, read: Callable[[Attributes], Iterator[_T]]) -> tuple[_T, ...] | Missing:
    """Read every message of an answer; one malformed message makes the whole of it malformed."""
    if isinstance(answer, Missing):
        return answer
    try:
        return tuple(found for body in answer.bodies for found in read(parse(body)))
    except MalformedError as fault:
        return refused(where, "EBADMSG", str(fault))


def _ports(kernel: Kernel, tree: Tree, port: Attributes, index: int, device: str) -> Iterator[RdmaPortLink]:
    number = port.number(A.PORT_INDEX)
    if number is None:
        return
    where = f"{device}/{number}"
    asked = question(Command.STAT_GET, f"rdma statistics of {where}", dump=False, DEV_INDEX=index, PORT_INDEX=number)
    statistics = kernel.ask(asked)
    driver = base_name(tree, f"{CLASS}/{device}/device/driver")
    yield RdmaPortLink(
        number=number,
        state=_state(port.number(A.PORT_STATE), PORT_STATES, f"rdma state of {where}"),
        physical_state=_state(port.number(A.PORT_PHYS_STATE), PHYSICAL_STATES, f"rdma physical state of {where}"),
        netdev=port.text(A.NDEV_NAME) or _unsaid(f"rdma interface of {where}", NO_HOST_NIC),
        netdev_index=_or_unsaid(port.number(A.NDEV_INDEX), f"rdma interface of {where}"),
        lid=_or_unsaid(port.number(A.LID), f"rdma lid of {where}"),
        subnet_manager_lid=_or_unsaid(port.number(A.SM_LID), f"rdma subnet manager of {where}"),
        counters=_each(statistics, asked.where, lambda each: parse_counters(each, driver)),
        counters_partial=isinstance(statistics, Answer) and statistics.partial,
    )


def parse_counters(port: Attributes, driver: str | Missing) -> Iterator[Counter]:
    """Yield the counters of one STAT_GET message, which names no driver."""
    listed = port.group(A.STAT_HWCOUNTERS)
    entries = listed.groups(A.STAT_HWCOUNTER_ENTRY) if listed else iter(())
    for _, entry in zip(range(MOST_COUNTERS), entries, strict=False):
        name = entry.text(A.STAT_HWCOUNTER_ENTRY_NAME)
        value = entry.number(A.STAT_HWCOUNTER_ENTRY_VALUE)
        if name:
            raw = _or_unsaid(value, f"rdma statistic {name}")
            yield Counter(name=name, raw=raw, form=hw_form(name, driver))


def read_device_indexes(kernel: Kernel) -> dict[str, int] | Missing:
    """Return the number of every RDMA device by name; numbers live as long as the device."""
    answer = kernel.ask(question(Command.GET, "rdma devices"))
    if isinstance(answer, Missing):
        return answer
    return {name: index for body in answer.bodies if (found := _device(body)) for _, index, name in [found]}


def read_port_counters(kernel: Kernel, index: int, port: int, device: str) -> tuple[tuple[str, int], ...] | Missing:
    """Return the driver's counters of one port by name; one question, whatever their number."""
    where = f"rdma statistics of {device}/{port}"
    answer = kernel.ask(question(Command.STAT_GET, where, dump=False, DEV_INDEX=index, PORT_INDEX=port))
    found = _each(answer, where, lambda each: parse_counters(each, _unsaid(where)))
    if isinstance(found, Missing):
        return found
    return tuple((counter.name, counter.raw) for counter in found if isinstance(counter.raw, int))


def read_queue_pairs(kernel: Kernel, index: int, device: str) -> tuple[int | None, ...] | Missing:
    """Return the process of every queue pair of a device, None for those of the kernel."""
    where = f"rdma queue pairs of {device}"
    answer = kernel.ask(question(Command.RES_QP_GET, where, DEV_INDEX=index))
    return _each(answer, where, _processes)


def _processes(device: Attributes) -> Iterator[int | None]:
    listed = device.group(A.RES_QP)
    for entry in listed.groups(A.RES_QP_ENTRY) if listed else ():
        yield entry.number(A.RES_PID)


def _resources(device: Attributes) -> Iterator[ResourceCount]:
    listed = device.group(A.RES_SUMMARY)
    for entry in listed.groups(A.RES_SUMMARY_ENTRY) if listed else ():
        name, count = entry.text(A.RES_SUMMARY_ENTRY_NAME), entry.number(A.RES_SUMMARY_ENTRY_CURR)
        if name and count is not None:
            yield ResourceCount(name=name, count=count)


def parse_queue_pairs(device: Attributes, tree: Tree) -> Iterator[QueuePair]:
    """Yield the queue pairs of one RES_QP_GET message."""
    listed = device.group(A.RES_QP)
    for entry in listed.groups(A.RES_QP_ENTRY) if listed else ():
        number = entry.number(A.RES_LQPN)
        if number is not None:
            yield _queue_pair(entry, number, tree)


def _queue_pair(entry: Attributes, number: int, tree: Tree) -> QueuePair:
    where = f"rdma queue pair {number}"
    process = entry.number(A.RES_PID)
    module = entry.text(A.RES_KERN_NAME)
    kind, state = entry.number(A.RES_TYPE), entry.number(A.RES_STATE)
    if process is not None:
        owner = text(tree, f"proc/{process}/comm")
    else:
        owner = f"[{module}]" if module else _unsaid(where, "the kernel names no owner")
    return QueuePair(
        number=number,
        remote_number=_or_unsaid(entry.number(A.RES_RQPN), where),
        port=_or_unsaid(entry.number(A.PORT_INDEX), where),
        kind=_word(kind, QUEUE_PAIR_KINDS),
        state=_word(state, QUEUE_PAIR_STATES),
        process=_or_unsaid(process, where, "a kernel object, or a process of another PID namespace"),
        owner=owner,
    )


def _word(code: int | None, words: Mapping[int, str]) -> str:
    return "?" if code is None else words.get(code, str(code))


def _state(code: int | None, words: Mapping[int, str], where: str) -> str | Missing:
    return _unsaid(where) if code is None else _word(code, words)


def _guid(device: Attributes, kind: A, name: str) -> str | Missing:
    """Show a GUID as sysfs does: `0011:2233:4455:6677`."""
    found = device.number(kind)
    if not found:
        return _unsaid(f"rdma {kind.name.lower()} of {name}")
    digits = f"{found:016x}"
    return ":".join(digits[at : at + 4] for at in range(0, 16, 4))


def _or_unsaid(value: int | None, where: str, why: str = "") -> int | Missing:
    return _unsaid(where, why) if value is None else value


def _unsaid(where: str, why: str = "") -> Missing:
    return Missing(reason=Reason.ABSENT, where=where, detail=why)
