"""Every playbook is complete: its names exist, its commands parse, and its own cases come out as it says."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from typing import Any

import jsonschema
import pytest
import yaml

from netkit.catalogue.alerts import Alert, alerts
from netkit.checks import rules
from netkit.cli.app import mount_plugins
from netkit.errors import InputError
from netkit.model.check import Rule
from netkit_dashboards.shelf import boards
from netkit_playbooks.front_matter import parse
from netkit_playbooks.playbook import Case, Playbook
from netkit_playbooks.ranking import Verdict, rank
from netkit_playbooks.readings import Reading
from netkit_playbooks.running import EXIT
from netkit_playbooks.shelf import ids, playbook, playbooks
from netkit_playbooks.signals import signals

mount_plugins()

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


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_every_alert_names_exactly_one_playbook_that_names_it(alert: Alert) -> None:
    """The link from an alert leads to a page that knows it, and no other page claims it."""
    assert [one.id for one in playbooks().values() if alert.name in one.alerts] == [alert.playbook]


@EVERY
def test_a_playbook_is_for_alerts_that_exist(id_: str) -> None:
    """At least one, of at most its severity; the gravest of them gives the playbook's."""
    known = {alert.name: alert for alert in alerts()}
    found = playbook(id_)
    order = ["none", "warning", "critical"]
    assert found.alerts
    assert max((str(known[name].severity) for name in found.alerts), key=order.index) == found.severity
    profiles = {str(profile) for name in found.alerts for profile in known[name].profiles}
    assert set(found.profiles) <= profiles


@pytest.mark.parametrize("rule", [rule for rule in rules().values() if rule.playbook], ids=lambda rule: rule.id)
def test_every_playbook_a_rule_names_exists(rule: Rule) -> None:
    """`netkit check` never sends anybody to a page that is not there."""
    assert rule.playbook in ids()


@EVERY
def test_every_panel_exists(id_: str) -> None:
    """Links to dashboards lead to a panel of that title."""
    titles = {(board.uid, panel.title) for board in boards() for row in board.rows for panel in row.panels}
    assert {(one.uid, one.title) for one in playbook(id_).dashboards} <= titles


def asked(of: Playbook) -> set[str]:
    """Signals and rules that the reading steps of a playbook ask for."""
    found: set[str] = set()
    for step in of.steps:
        if step.run[:2] == ("playbook", "signals"):
            found |= set(step.run[3:])
        elif step.run[0] == "check":
            wanted = [word for option, word in pairwise(step.run) if option == "--only"]
            found |= {id_ for id_ in rules() if any(id_.startswith(one) for one in wanted)}
    return found


@EVERY
def test_every_piece_of_evidence_is_read_by_a_step(id_: str) -> None:
    """Evidence that no step reads could never be seen; a signal or rule that does not exist neither."""
    found = playbook(id_)
    known = signals().keys() | rules().keys()
    verified = {name for one in found.verify for name in one.names}
    assert set(found.wanted) | verified <= asked(found)
    assert asked(found) <= known
    assert {name for case in found.cases for name in case.readings} <= set(found.wanted) | asked(found)


@EVERY
def test_a_step_expects_what_it_reads(id_: str) -> None:
    """What a step should show is among what its command gives: signals, rules, or its exit status."""
    for step in playbook(id_).steps:
        given = asked(replace(playbook(id_), steps=(step,))) | {EXIT}
        assert {name for one in step.expect for name in one.names} <= given, step.id


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
