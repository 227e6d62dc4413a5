"""Settings of an interface that a playbook may change, each with what it is now and the way back.

Read and changed with `ip`, `tc` and `ethtool` (ip-link(8), tc(8), ethtool(8)) as argument lists; nothing here decides
that something is changed: whoever calls has asked.
"""

from __future__ import annotations

import json
import operator
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from netkit.errors import InputError, SourceError
from netkit.model.text import visible

Words = tuple[str, ...]
Read = Callable[[Words], str]
"""Runs a program that only reads and returns what it prints; SourceError when it fails."""

_NETDEV = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:-]{0,14}")
"""IFNAMSIZ is 16 with its end; names that begin with a hyphen would be options."""
_MTU = range(68, 65_536)
_QDISC_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:%_]*")
_WITHOUT_CLASSES = frozenset({"tbf", "netem", "fq", "fq_codel", "pfifo", "bfifo", "sfq", "codel"})
"""What `tc qdisc show` prints of these is all there is to them; others hold classes and filters of their own."""
_FROM_DRIVER = "0:"
"""The handle of a queueing discipline that the kernel put there itself."""
_DEADLINE_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of change."""

    id: str
    text: str
    """What it does, in a few words."""
    now: Callable[[Read, str], str]
    """Reads the setting as it is."""
    wanted: Callable[[str, str], str]
    """The setting afterwards, of what it is now and what was asked for; InputError for what cannot be."""
    command: Callable[[str, str], Words]
    """The words that bring an interface to a setting."""
    back: Callable[[str, str], Words]
    """The words of `netkit playbook change` that lead back to a setting."""
    reached: Callable[[str, str], bool] = operator.eq
    """Whether what is found afterwards is what was wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one interface, before anything is done."""

    kind: Kind
    netdev: str
    now: str
    wanted: str

    @property
    def needed(self) -> bool:
        """Whether the setting is not already so."""
        return self.now != self.wanted

    @property
    def command(self) -> Words:
        """What is run for it."""
        return self.kind.command(self.netdev, self.wanted)

    @property
    def rollback(self) -> Words:
        """The netkit command that undoes it."""
        return ("netkit", "playbook", "change", *self.kind.back(self.netdev, self.now))


def plan(kind_id: str, netdev: str, to: str, read: Read) -> Change:
    """Read what is and return what would be changed; InputError for a kind, name or value that cannot be."""
    kind = KINDS.get(kind_id)
    if kind is None:
        raise InputError(f"change {visible(kind_id)!r}", f"one of {', '.join(KINDS)}")
    if not _NETDEV.fullmatch(netdev):
        raise InputError(f"--netdev {visible(netdev)!r}", "the name of an interface, such as eth2")
    now = kind.now(read, netdev)
    return Change(kind=kind, netdev=netdev, now=now, wanted=kind.wanted(now, to))


def read_program(words: Words) -> str:
    """Run a program that only reads, with its messages in English; SourceError names what failed and why."""
    return _run(words).stdout


def apply(change: Change) -> None:
    """Do it, and see that it is so; SourceError when it is not."""
    _run(change.command)
    found = change.kind.now(read_program, change.netdev)
    if not change.kind.reached(found, change.wanted):
        raise SourceError(f"{change.netdev} is {found!r} afterwards, not {change.wanted!r}", " ".join(change.command))


def _run(words: Words) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            words,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DEADLINE_SECONDS,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "no answer"
        raise SourceError(f"{words[0]} cannot be run: {reason}", " ".join(words)) from fault
    if done.returncode:
        said = visible(" ".join((done.stderr or done.stdout).split()), limit=300)
        raise SourceError(f"{words[0]} ended with {done.returncode}: {said}", " ".join(words))
    return done


def _link(read: Read, netdev: str) -> Mapping[str, object]:
    text = read(("ip", "-json", "link", "show", "dev", netdev))
    try:
        (found,) = json.loads(text)
    except ValueError as fault:
        raise SourceError("ip printed no JSON about one interface", netdev) from fault
    assert isinstance(found, dict)
    return found


def _mtu(read: Read, netdev: str) -> str:
    return str(_link(read, netdev)["mtu"])


def _mtu_wanted(_now: str, to: str) -> str:
    if not to.isdecimal() or int(to) not in _MTU:
        raise InputError(f"--to {visible(to)!r}", f"an MTU from {_MTU[0]} to {_MTU[-1]} bytes")
    return str(int(to))


def _state(read: Read, netdev: str) -> str:
    flags = _link(read, netdev)["flags"]
    return "up" if isinstance(flags, list) and "UP" in flags else "down"


def _pause(read: Read, netdev: str) -> str:
    lines = read(("ethtool", "-a", netdev)).splitlines()
    found = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if not {"RX", "TX"} <= found.keys():
        raise SourceError("ethtool printed no pause settings", netdev)
    return f"rx {found['RX']} tx {found['TX']}"


def _pause_wanted(_now: str, to: str) -> str:
    words = to.split()
    if len(words) != 4 or words[::2] != ["rx", "tx"] or not {*words[1::2]} <= {"on", "off"}:
        raise InputError(f"--to {visible(to)!r}", "rx on|off tx on|off")
    return to


def _qdisc(read: Read, netdev: str) -> str:
    """Return the root discipline somebody set, as the words that set it; empty for the driver's own."""
    first = next(iter(read(("tc", "qdisc", "show", "dev", netdev, "root")).splitlines()), "")
    words = first.split()
    if words[:1] != ["qdisc"] or len(words) < 3 or words[2] == _FROM_DRIVER:
        return ""
    left = iter(words[3:])
    options = [word for word in left if word != "root" and not (word == "refcnt" and next(left, ""))]
    return " ".join((words[1], *options))


def _qdisc_gone(now: str, _to: str) -> str:
    kind = now.split(maxsplit=1)[0] if now else ""
    if now and kind not in _WITHOUT_CLASSES:
        accepted = f"one whose whole setup can be put back: {', '.join(sorted(_WITHOUT_CLASSES))}"
        raise InputError(f"the queueing discipline {visible(kind)}", accepted)
    return ""


def _qdisc_wanted(_now: str, to: str) -> str:
    words = to.split()
    if not words or words[0] not in _WITHOUT_CLASSES or not all(map(_QDISC_WORD.fullmatch, words)):
        raise InputError(f"--to {visible(to)!r}", "a queueing discipline such as 'tbf rate 1Gbit burst 32Kb lat 50ms'")
    return " ".join(words)


def _qdisc_command(netdev: str, wanted: str) -> Words:
    if not wanted:
        return ("tc", "qdisc", "del", "dev", netdev, "root")
    return ("tc", "qdisc", "replace", "dev", netdev, "root", *wanted.split())


def _same_discipline(found: str, wanted: str) -> bool:
    # tc prints options in its own words and units: 1gbit becomes 1Gbit, latency becomes lat.
    return found.split()[:1] == wanted.split()[:1]


def _ip(*words: str) -> Callable[[str, str], Words]:
    return lambda netdev, wanted: ("ip", "link", "set", "dev", netdev, *(word.format(wanted) for word in words))


def _ethtool(netdev: str, wanted: str) -> Words:
    return ("ethtool", "-A", netdev, *wanted.split())


def _always(value: str) -> Callable[[str, str], str]:
    return lambda _now, _to: value


def _back_to(kind: str) -> Callable[[str, str], Words]:
    return lambda netdev, now: (kind, "--netdev", netdev, *(("--to", now) if now else ()))


def _back_by_state(kinds: Mapping[str, str]) -> Callable[[str, str], Words]:
    return lambda netdev, now: (kinds[now], "--netdev", netdev)


def _qdisc_back(netdev: str, now: str) -> Words:
    return ("qdisc-set", "--netdev", netdev, "--to", now) if now else ("qdisc-remove", "--netdev", netdev)


_LINK_KINDS = {"up": "link-up", "down": "link-down"}
_ROWS = (
    Kind(
        id="mtu",
        text="Set the largest packet of an interface (--to BYTES).",
        now=_mtu,
        wanted=_mtu_wanted,
        command=_ip("mtu", "{}"),
        back=_back_to("mtu"),
    ),
    Kind(
        id="link-up",
        text="Switch an interface on.",
        now=_state,
        wanted=_always("up"),
        command=_ip("{}"),
        back=_back_by_state(_LINK_KINDS),
    ),
    Kind(
        id="link-down",
        text="Switch an interface off.",
        now=_state,
        wanted=_always("down"),
        command=_ip("{}"),
        back=_back_by_state(_LINK_KINDS),
    ),
    Kind(
        id="pause-off",
        text="Switch 802.3x pause off in both directions.",
        now=_pause,
        wanted=_always("rx off tx off"),
        command=_ethtool,
        back=_back_to("pause-set"),
    ),
    Kind(
        id="pause-set",
        text="Set 802.3x pause (--to 'rx on tx off').",
        now=_pause,
        wanted=_pause_wanted,
        command=_ethtool,
        back=_back_to("pause-set"),
    ),
    Kind(
        id="qdisc-remove",
        text="Take a rate limit or delay off an interface.",
        now=_qdisc,
        wanted=_qdisc_gone,
        command=_qdisc_command,
        back=_qdisc_back,
    ),
    Kind(
        id="qdisc-set",
        text="Put a queueing discipline on an interface (--to 'tbf rate 1Gbit burst 32Kb lat 50ms').",
        now=_qdisc,
        wanted=_qdisc_wanted,
        command=_qdisc_command,
        back=_qdisc_back,
        reached=_same_discipline,
    ),
)
KINDS: Mapping[str, Kind] = MappingProxyType({kind.id: kind for kind in _ROWS})
