"""One family of rules about a gang a file; each exposes one constant RULES whose id is the file's name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from netkit.gangs.view import GangRules
from netkit.model.check import Rule


@cache
def families() -> tuple[GangRules, ...]:
    """Return every family, in order of its module's name."""
    return tuple(import_module(f"{__name__}.{one.name}").RULES for one in iter_modules(__path__))


@cache
def gang_rules() -> MappingProxyType[str, Rule]:
    """Return every rule by id, in order of id."""
    found = sorted((rule for family in families() for rule in family.rules), key=lambda rule: rule.id)
    return MappingProxyType({rule.id: rule for rule in found})


def gang_rule(text: str) -> Rule | None:
    """Return the rule of an id or a name, None when there is none."""
    by_name = {one.name: one for one in gang_rules().values()}
    return gang_rules().get(text.upper()) or by_name.get(text.lower())
