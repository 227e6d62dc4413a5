"""What a playbook is run against, and how placeholders of its commands are filled: word by word, never as a string.

A value from outside is always one whole word of an argument list; it is never split, quoted or seen by a shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netkit_playbooks.signals import DEVICE_LABELS

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_OF_COMMANDS = ("gang", "hostfile", "log")
SETTABLE = (*DEVICE_LABELS, *_OF_COMMANDS)
"""What a person may set beside the node: labels that narrow signals, and values of commands."""
VALUES = ("node", *SETTABLE, "before")
"""Placeholders for one value, beside `{source}` and `{machine}`, which stand for options."""


class UnfilledError(Exception):
    """A command needs something nobody gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A node as Prometheus knows it, a recording, or this machine; and what else is known of the incident."""

    node: str = ""
    prometheus: str = ""
    snapshot: Path | None = None
    here: bool = False
    cluster: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    """What else is known: device, netdev, gpu…"""

    def fill(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command with everything filled in; UnfilledError says what is missing."""
        return tuple(word for given in words for word in self._word(given))

    def _word(self, word: str) -> Iterator[str]:
        if word == "{source}":
            yield from self._source()
        elif word == "{machine}":
            yield from self._machine()
        else:
            yield _PLACEHOLDER.sub(lambda found: self._value(found[1]), word)

    def _source(self) -> Iterator[str]:
        if self.prometheus:
            yield from ("--prometheus", self.prometheus)
            yield from (
                f"--{name}={value}" for name, value in (("node", self.node), ("cluster", self.cluster)) if value
            )
            yield from (f"--label={name}={self.values[name]}" for name in DEVICE_LABELS if name in self.values)
        elif self.snapshot is not None:
            yield from ("--snapshot", str(self.snapshot))
        else:
            raise UnfilledError("--prometheus URL and --node NAME, or --snapshot FILE")

    def _machine(self) -> Iterator[str]:
        if self.snapshot is not None:
            yield from ("--snapshot", str(self.snapshot))
        elif not self.here:
            raise UnfilledError("--snapshot FILE (a recording of the node), or --here on the node itself")

    def _value(self, name: str) -> str:
        value = self.node if name == "node" else self.values.get(name, "")
        if not value:
            raise UnfilledError(f"--set {name}=…")
        return value
