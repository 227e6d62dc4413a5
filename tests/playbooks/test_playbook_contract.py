"""Every playbook is complete: its names exist, its commands parse, and its own cases come out as it says."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
import yaml

from netkit.errors import InputError
from netkit_playbooks.front_matter import parse
from netkit_playbooks.playbook import Case, Playbook
from netkit_playbooks.ranking import Verdict, rank
from netkit_playbooks.readings import Reading
from netkit_playbooks.shelf import ids, playbook, playbooks

SCHEMA = json.loads((files("netkit_playbooks") / "schema.json").read_text())
EVERY = pytest.mark.parametrize("id_", ids())
CASES = [pytest.param(one, case, id=f"{one.id}: {case.name}") for one in playbooks().values() for case in one.cases]


def source(id_: str) -> str:
    return (files("netkit_playbooks") / "texts" / f"{id_}.md").read_text()


def front(id_: str) -> dict[str, Any]:
    found = yaml.safe_load(source(id_).split("\n---\n")[0].removeprefix("---\n"))
    assert isinstance(found, dict)
    return found


@EVERY
def test_the_front_matter_is_of_the_schema(id_: str) -> None:
    """What the loader takes is what the schema allows."""
    jsonschema.validate(front(id_), SCHEMA)
    assert playbook(id_).id == id_


@pytest.mark.parametrize(("of", "case"), CASES)
def test_a_case_names_its_cause(of: Playbook, case: Case) -> None:
    """Made-up readings lead to the cause that the playbook says, or to none."""
    ranking = rank(of, {name: Reading(value=value) for name, value in case.readings.items()})
    assert (ranking.cause.id if ranking.cause else None) == case.cause, [
        (one.cause.id, one.score) for one in ranking.ranked
    ]


@EVERY
def test_every_cause_has_a_case(id_: str) -> None:
    """A cause that nothing can lead to would be decoration."""
    found = playbook(id_)
    assert {case.cause for case in found.cases} >= {cause.id for cause in found.causes}


@EVERY
def test_nothing_read_names_nothing(id_: str) -> None:
    """Without readings nobody can tell, and everything that could decide is listed."""
    ranking = rank(playbook(id_), {})
    assert ranking.cause is None
    assert ranking.verdict is Verdict.CANNOT_TELL
    assert ranking.missing


def mutations(keys: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Front matter with one thing wrong at a time."""
    for name, path, value in (
        ("unknown key", ("surprise",), 1),
        ("no causes", ("causes",), []),
        ("unknown severity", ("severity",), "loud"),
        ("unknown likelihood", ("causes", 0, "likelihood"), "maybe"),
        ("weight below zero", ("causes", 0, "evidence", 0, "weight"), -1),
        ("evidence that is no condition", ("causes", 0, "evidence", 0, "when"), "rm -rf /"),
        ("command of another program", ("steps", 0, "run"), "sh -c true"),
        ("unknown kind", ("steps", 0, "kind"), "destroy"),
        ("nothing expected", ("steps", 0, "expect"), []),
        ("rollback of a step that only reads", ("steps", 0, "rollback"), "netkit lab up"),
        ("reading that is no number", ("cases", 0, "readings"), {"pause-sent": "much"}),
    ):
        wrong = copy.deepcopy(keys)
        place: Any = wrong
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        yield name, wrong


MUTATIONS = [pytest.param(wrong, id=name) for name, wrong in mutations(front("pfc-storm"))]


@pytest.mark.parametrize("wrong", MUTATIONS)
def test_schema_and_loader_refuse_the_same(wrong: dict[str, Any]) -> None:
    """One thing wrong is refused by both, so that neither promises what the other does not keep."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)
    text = f"---\n{yaml.safe_dump(wrong)}---\n{playbook('pfc-storm').text}"
    with pytest.raises(InputError):
        parse(text, "wrong.md")
