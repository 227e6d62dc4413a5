"""What a benchmark backend offers for reading: one constant of this type in each module of `netkit.probe.backends`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netkit.model.collective import CollectiveReport


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBackend:
    """A benchmark whose output netkit reads. `id` is the name of its module; `title` is for people.

    `parse` takes the whole text of one log and returns one report for each run in it, or raises InputError when
    the text is not this benchmark's.
    """

    id: str
    title: str
    parse: Callable[[str], tuple[CollectiveReport, ...]]
