"""The statistics only a driver names (`ethtool -S`): what they are called and counted, whoever answers for the kernel.

Linux: Documentation/networking/statistics.rst, "driver-defined ethtool statistics". How this machine is asked:
`ethtool_ioctl.py`.
"""

from __future__ import annotations

import re

from netkit.model.counter import Counter, CounterForm
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.netlink.ethtool_ioctl import GSTATS, MOST
from netkit.sources.netlink.kernel import Channel, Kernel, Question

_LINE = re.compile(r"(.{1,64}): ([0-9]{1,20})")


def question(interface: str) -> Question:
    """Ask for every statistic of one interface."""
    where = f"ethtool -S of {visible(interface)}"
    body = interface.encode("utf-8", "surrogateescape")
    return Question(channel=Channel.DRIVER_STATISTICS, command=GSTATS, body=body, where=where)


def read_driver_statistics(kernel: Kernel, interface: str) -> tuple[Counter, ...] | Missing:
    """Return every statistic in the driver's order; Missing where there are none or they changed during each try."""
    asked = question(interface)
    answer = kernel.ask(asked)
    if isinstance(answer, Missing):
        return answer
    lines = [_LINE.fullmatch(body.decode("utf-8", "replace")) for body in answer.bodies[:MOST]]
    found = [(visible(line[1]), int(line[2])) for line in lines if line]
    if len(found) < len(answer.bodies):
        return Missing(reason=Reason.MALFORMED, where=asked.where, detail="a line without a name and a number")
    return tuple(Counter(name=name, raw=value, form=CounterForm()) for name, value in found)
