"""Hostfiles as launchers write them, text in and hosts out: one host a line, whatever else the line says.

Accepted lines: `host`; `host slots=N …` (Open MPI, DeepSpeed); `host:N` (Intel MPI, MPICH); `host.subdomain`
(Volcano, /etc/volcano/*.host). Names follow RFC 1123, so nothing in a hostfile can be an option or a command; how
many slots a host has does not matter to a probe, which runs one agent a host.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from netkit.errors import InputError
from netkit.model.text import visible

MOST_HOSTS = 10_000
_ACCEPTED = "`host`, `host slots=N` or `host:N`, one a line, the host an RFC 1123 name or an IP address"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_SETTING = re.compile(r"[A-Za-z_-]{1,32}=[0-9]{1,6}")
_SLOTS = re.compile(r"[0-9]{1,6}")
_LEAF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host and the line that names it."""

    name: str
    line: int


def parse_hostfile(text: str, source: str = "hostfile") -> tuple[Host, ...]:
    """Return the hosts of a hostfile in order; `source` names it in errors.

    Raises:
        InputError: a line of another form, a host named twice, no host, or more than 10,000.
    """
    hosts: dict[str, Host] = {}
    for number, line in _lines(text):
        host = Host(name=_host_of(line, f"{source} line {number}"), line=number)
        earlier = hosts.setdefault(host.name.lower(), host)
        if earlier is not host:
            given = f"{source} line {number}: {host.name!r}, named on line {earlier.line} already"
            raise InputError(given, "each host once: a probe runs one agent a host")
        if len(hosts) > MOST_HOSTS:
            raise InputError(f"{source} line {number}: host number {len(hosts)}", f"at most {MOST_HOSTS:,} hosts")
    if not hosts:
        raise InputError(f"{source} without a host", _ACCEPTED)
    return tuple(hosts.values())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines without comments, blank ones left out. Only LF and CRLF end a line."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        content = line.removesuffix("\r").partition("#")[0].strip(" \t")
        if content:
            yield number, content


def _host_of(line: str, where: str) -> str:
    words = re.split(r"[ \t]+", line)
    name = _without_slots(words[0])
    if not is_host_name(name) or not all(_SETTING.fullmatch(word) for word in words[1:]):
        # Spelled in ASCII: a letter that only looks like another must not look right here.
        raise InputError(f"{where}: {line[:80]!a}", _ACCEPTED)
    return name


def _without_slots(word: str) -> str:
    bracketed = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,6})?", word)
    if bracketed:
        return bracketed[1]
    name, colon, slots = word.partition(":")
    return name if colon and _SLOTS.fullmatch(slots) else word


def is_host_name(name: str) -> bool:
    """Tell whether this is an RFC 1123 host name, whose last label is not a number, or an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        short_enough = len(name) <= 253 and _NAME.fullmatch(name) is not None
        # `1` and `10.1` would be read as addresses by the resolver.
        return short_enough and not name.rpartition(".")[2].isdigit()
    return "%" not in name


def parse_leaf_file(text: str, hosts: Collection[str], source: str = "leaf file") -> dict[str, str]:
    """Return leaf by host from lines of `host leaf`; raise InputError for another form or an unknown host."""
    rows = []
    for number, line in _lines(text):
        words = re.split(r"[ \t]+", line)
        if len(words) != 2:
            raise InputError(f"{source} line {number}: {visible(line, 80)!r}", "`host leaf`, one host a line")
        rows.append((f"{source} line {number}", words[0], words[1]))
    return _leaves(rows, hosts)


def parse_leaf_options(options: Iterable[str], hosts: Collection[str]) -> dict[str, str]:
    """Return leaf by host from `HOST,HOST:LEAF` options; raise InputError for another form or an unknown host."""
    rows = []
    for option in options:
        names, colon, leaf = option.rpartition(":")
        if not colon:
            raise InputError(f"--leaf {visible(option, 80)!r}", "HOST,HOST:LEAF, such as n0,n1:leafA")
        rows += [(f"--leaf {visible(option, 80)}", name, leaf) for name in names.split(",")]
    return _leaves(rows, hosts)


def _leaves(rows: Iterable[tuple[str, str, str]], hosts: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for where, host, leaf in rows:
        if host not in hosts:
            alike = difflib.get_close_matches(host, hosts, n=1)
            raise InputError(f"{where}: {visible(host, 80)!r}", "a host of the hostfile", alike[0] if alike else None)
        if not _LEAF.fullmatch(leaf):
            raise InputError(f"{where}: leaf {visible(leaf, 80)!r}", "letters, digits and . _ : - in a leaf's name")
        if found.setdefault(host, leaf) != leaf:
            raise InputError(f"{where}: {host} under {leaf}", f"one leaf a host; it is under {found[host]} already")
    missing = [host for host in hosts if host not in found]
    if found and missing:
        listed = ", ".join(missing[:5])
        raise InputError(f"leaves without {listed}", "a leaf for every host, or none at all")
    return found
