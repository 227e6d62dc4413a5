"""The playbooks of this package: one Markdown file each, in `texts/`, named by its id."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.text import visible
from netkit_playbooks.front_matter import parse
from netkit_playbooks.playbook import Playbook

_FOLDER = files("netkit_playbooks") / "texts"


@cache
def ids() -> tuple[str, ...]:
    """Return every id, in order of the alphabet."""
    return tuple(sorted(one.name.removesuffix(".md") for one in _FOLDER.iterdir() if one.name.endswith(".md")))


@cache
def playbook(id_: str) -> Playbook:
    """Return the playbook with this id; InputError naming the nearest for one there is none of."""
    if id_ not in ids():
        nearest = difflib.get_close_matches(id_, ids(), n=1)
        raise InputError(f"playbook {visible(id_)!r}", f"one of {', '.join(ids())}", nearest[0] if nearest else None)
    found = parse((_FOLDER / f"{id_}.md").read_text(encoding="utf-8"), f"{id_}.md")
    if found.id != id_:
        raise InputError(f"{id_}.md: id {found.id}", id_)
    return found


def playbooks() -> Mapping[str, Playbook]:
    """Return all of them, by id."""
    return MappingProxyType({id_: playbook(id_) for id_ in ids()})
