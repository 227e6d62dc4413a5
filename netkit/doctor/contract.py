"""What a check offers: one constant of one of these types in each module of `netkit.checks`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from netkit.doctor.context import Context
from netkit.model.check import Result, Rule
from netkit.model.node import NodeSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCheck:
    """Rules that share one reading of one node. `id` is the name of the module; every rule answers at least once.

    `needs` names the groups of the snapshot without which "nothing of the kind is here" would be a guess.
    """

    id: str
    rules: tuple[Rule, ...]
    check: Callable[[NodeSnapshot, Context], Iterable[Result]]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One node of a gang, under the name people know it by."""

    name: str
    snapshot: NodeSnapshot
    context: Context


@dataclass(frozen=True, slots=True, kw_only=True)
class GangCheck:
    """Rules that compare the nodes of one gang. `id` is the name of the module."""

    id: str
    rules: tuple[Rule, ...]
    check: Callable[[Sequence[Member]], Iterable[Result]]


Check = NodeCheck | GangCheck
