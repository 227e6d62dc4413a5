"""What was written for a switch, read back and held against the intent it came from, before anybody sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netkit.errors import InputError
from netkit.model.text import visible
from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.held import held
from netkit.roce.qos import SwitchQos
from netkit.roce.qos_chain import QosChain
from netkit.roce.snippet import Snippet, snippet_of
from netkit.roce.switch_ports import EVERY, parse_switch


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A snippet and the chains that prove it; none where netkit does not read this dialect."""

    snippet: Snippet
    chains: tuple[QosChain, ...]


def proven_snippet(name: str, intent: FabricIntent) -> Proven:
    """Return the intent in one dialect, proven where netkit reads it back.

    Raises:
        InputError: no such dialect.
        AssertionError: what was written does not mean the intent, which is a bug.
    """
    snippet = snippet_of(name, intent)
    ports = parse_switch(snippet.text) if snippet.dialect.readable else {}
    chains = tuple(chain for port in ports.values() for chain in held(intent, port))
    failed = next((chain for chain in chains if not chain.proven), None)
    if failed is not None:
        raise AssertionError(f"the {name} snippet does not prove its own intent: {failed.broken}")
    return Proven(snippet=snippet, chains=chains)


def held_ports(intent: FabricIntent, ports: Mapping[str, SwitchQos]) -> tuple[QosChain, ...]:
    """Return the chains of the ports an intent names; InputError when the switch lacks one."""
    names = (EVERY,) if EVERY in ports else intent.switch_ports
    absent = [name for name in names if name not in ports]
    if absent:
        shown = ", ".join(map(visible, list(ports)[:12]))
        raise InputError(f"switch port {visible(absent[0])!r}, which this configuration does not set", shown)
    return tuple(chain for name in names for chain in held(intent, ports[name]))
