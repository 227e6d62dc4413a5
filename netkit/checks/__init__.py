"""One file for each rule, or family of rules that share one reading; this folder holds nothing else and is walked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from netkit.doctor.contract import Check
from netkit.errors import InputError
from netkit.model.check import Rule
from netkit.model.text import visible


@cache
def checks() -> tuple[Check, ...]:
    """Return every check, in order of its module's name."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").CHECK for name in names)


@cache
def rules() -> MappingProxyType[str, Rule]:
    """Return every rule by id, in order of id."""
    found = sorted((rule for check in checks() for rule in check.rules), key=lambda rule: rule.id)
    return MappingProxyType({rule.id: rule for rule in found})


def holding(wanted: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks that hold a rule one of `wanted` names (an id, a name, or how ids start); all when empty."""
    for text in wanted:
        if not any(one.startswith(text.upper()) for one in rules()):
            rule(text)
    return tuple(check for check in checks() if not wanted or any(asked(one, wanted) for one in check.rules))


def asked(one: Rule, wanted: Sequence[str]) -> bool:
    """Tell whether one of `wanted` names this rule."""
    return any(one.id.startswith(text.upper()) or one.name == text.lower() for text in wanted)


def rule(text: str) -> Rule:
    """Return the rule of an id such as T11 or a name such as pcie-acs; InputError with the nearest one for others."""
    by_name = {one.name: one for one in rules().values()}
    found = rules().get(text.upper()) or by_name.get(text.lower())
    if found is None:
        from difflib import get_close_matches

        nearest = get_close_matches(text.lower(), [*by_name, *map(str.lower, rules())], n=1)
        raise InputError(
            f"rule {visible(text)!r}", "an id that `netkit explain` lists", nearest[0] if nearest else None
        )
    return found
