"""Cumulus Linux by NVUE commands: what `nv config show -o commands` prints.

NVIDIA Cumulus Linux user guide, "RDMA over Converged Ethernet": `nv set qos roce` stands for DSCP in eights to switch
priorities, priority 3 lossless in class 3, priority 6 strict, ECN from 150 kB to 1.5 MB; `mode lossy` leaves PFC out.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.roce.qos import Marking, PriorityGroup, SwitchQos, Watchdog

NAME = "nvue"
_LINE = re.compile(r"^nv set (.+)$", re.MULTILINE)
_MAPPING = re.compile(r"qos mapping \S+ dscp (\d{1,2}) switch-priority (\d)")
_WATCHDOG = re.compile(r"(?:interface \S+ )?qos pfc-watchdog.*")
_ROCE = re.compile(r"qos roce(?: (?:mode (?P<mode>lossless|lossy)|enable (?P<enable>on|off)|state (?P<state>\w+)))?")
_LOSSLESS, _STRICT = 3, 6
_MARKING = Marking(ecn=True, low_bytes=150_000, high_bytes=1_500_000)
_IDENTITY = MappingProxyType({number: number for number in range(8)})
_DEFAULT_WATCHDOG = Watchdog(detection_seconds=0.1, restoration_seconds=0.1, action="drop")


def looks_like(text: str) -> bool:
    """Tell whether a text is a list of NVUE commands."""
    return _LINE.search(text) is not None


def parse(text: str) -> dict[str, SwitchQos]:
    """Return the QoS all ports share, under `*`; InputError when no QoS is set."""
    commands = _LINE.findall(text)
    roce = [match for command in commands if (match := _ROCE.fullmatch(command.strip()))]
    if not roce:
        raise InputError("NVUE commands without `nv set qos roce`", "the output of nv config show -o commands")
    lossless = not any(match["mode"] == "lossy" or match["enable"] == "off" for match in roce)
    own = {int(match[1]): int(match[2]) for command in commands if (match := _MAPPING.fullmatch(command.strip()))}
    guarded = any(_WATCHDOG.fullmatch(command.strip()) for command in commands)
    unknown = Missing(reason=Reason.ABSENT, where="nvue", detail="worked out by the switch")
    return {
        "*": SwitchQos(
            port="every port",
            dscp_to_class={dscp: dscp >> 3 for dscp in range(64)} | own,
            class_to_group=_IDENTITY,
            class_to_queue=_IDENTITY,
            priority_to_group=_IDENTITY,
            priority_to_queue=_IDENTITY,
            lossless=frozenset({_LOSSLESS}) if lossless else frozenset(),
            groups={_LOSSLESS: PriorityGroup(lossless=lossless, xoff_bytes=unknown)},
            marking={_LOSSLESS: _MARKING},
            strict_queues=frozenset({_STRICT}),
            watchdog=_DEFAULT_WATCHDOG if guarded else None,
            mtu_bytes=unknown,
        )
    }
