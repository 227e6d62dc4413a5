"""What could not be read is never ok, and each check is seen to be silent, to speak and to be incomplete."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from netkit.checks import checks, rules
from netkit.checks.switch_qos import CHECK as SWITCH
from netkit.doctor.context import Wishes, context_of
from netkit.doctor.contract import GangCheck, Member, NodeCheck
from netkit.doctor.judge import judge
from netkit.model.check import Outcome, Result
from netkit.model.environment import Environment, Variable
from netkit.model.node import NodeSnapshot
from netkit.roce.dialects import sonic
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.snapshot import read_node
from netkit.topology.nccl_xml import read_topology
from tests.checks.mutants import mutants
from tests.checks.scenes import JOB, answers, environment, findings, healthy, of, scene
from tests.checks.speaking import Case, cases
from tests.roce.test_switch_dialects import CONFIG_DB
from tests.topology import synthetic_machines

ONLY_ASKED = {
    "env_dangerous",
    "env_fabric",
    "env_files",
    "env_names",
    "env_hca",
    "env_topo_file",
    "switch_qos",
    "traffic_class",
}
"""Checks of what somebody gives: a job's settings, a switch's configuration."""


def blind() -> NodeSnapshot:
    return read_node(MemoryTree({}), 0.0)


def asked(node: NodeSnapshot, wishes: Wishes, check: NodeCheck | None = None) -> tuple[Result, ...]:
    member = Member(name="n", snapshot=node, context=context_of(node, wishes))
    return judge(checks() if check is None else [check], [member], {}).results


def test_a_node_that_shows_nothing_is_neither_healthy_nor_ill() -> None:
    """Every answer is incomplete or not applicable."""
    outcomes = {one.outcome for one in asked(blind(), Wishes())}
    assert outcomes == {Outcome.INCOMPLETE, Outcome.NOT_APPLICABLE}


@pytest.mark.parametrize("check", [one for one in checks() if isinstance(one, NodeCheck)], ids=lambda one: one.id)
def test_a_node_check_is_silent_and_is_incomplete(check: NodeCheck) -> None:
    """Silent on the healthy machine, incomplete on the blind one; what makes each rule speak is below."""
    held = {rule.id for rule in check.rules}
    healthy_answers = [one for one in answers(scene(), [check]) if one.rule in held]
    assert healthy_answers
    assert not [one for one in healthy_answers if one.outcome is Outcome.FINDING and one.severity != "info"]
    if check.id not in ONLY_ASKED:
        assert Outcome.INCOMPLETE in {one.outcome for one in asked(blind(), Wishes(), check)}


OWN = synthetic_machines.system(
    [
        *(synthetic_machines.gpu(number, str(gpu.address)) for number, gpu in enumerate(healthy().accelerators.gpus)),
        *(synthetic_machines.nic(number, str(nic.address)) for number, nic in enumerate(of(healthy().rdma_devices))),
    ]
)
MUTATED = {one.rule for one in mutants(scene(fellows=1))}


def test_gang_checks_say_when_too_few_nodes_tell() -> None:
    """A gang of blind nodes is incomplete."""
    for check in checks():
        if isinstance(check, GangCheck):
            members = [Member(name=str(n), snapshot=blind(), context=context_of(blind(), Wishes())) for n in range(2)]
            found = {one.outcome for one in judge([check], members, {}).results}
            assert found <= {Outcome.INCOMPLETE, Outcome.NOT_APPLICABLE, Outcome.OK}
            assert Outcome.INCOMPLETE in found


def test_two_places_that_disagree_are_named() -> None:
    """The value NCCL uses is the environment's."""
    files = ((Variable(name="NCCL_IB_TC", value="41", source="/etc/nccl.conf"),),)
    wishes = Wishes(environment=replace(environment(JOB), files=files))
    found = [one for one in asked(healthy(), wishes) if one.rule == "E02"]
    assert [one.outcome for one in found] == [Outcome.FINDING]
    assert "NCCL uses 106" in found[0].summary
    assert found[0].evidence == ("106 in job.env", "41 in /etc/nccl.conf")


@pytest.mark.parametrize(("text", "outcome"), [("mlx5", "ok"), ("=mlx5_1", "ok"), ("mlx5_1", "finding")])
def test_a_prefix_that_takes_more_than_it_spells_is_named(text: str, outcome: str) -> None:
    """mlx5_1 also takes mlx5_10; mlx5 takes all by intent, and = takes one."""
    node = healthy()
    devices = tuple(replace(one, name="mlx5_10") if one.name == "mlx5_7" else one for one in of(node.rdma_devices))
    job = Environment(given=True, variables=(Variable(name="NCCL_IB_HCA", value=text, source="job.env"),))
    found = [one for one in asked(replace(node, rdma_devices=devices), Wishes(environment=job)) if one.rule == "N09"]
    assert [one.outcome for one in found] == [outcome]


@pytest.mark.parametrize(
    ("path", "file", "outcome"),
    [
        (None, None, "ok"),
        ("", None, "finding"),
        ("/etc/topo.xml", None, "incomplete"),
        ("/etc/topo.xml", "no file", "finding"),
        ("/etc/topo.xml", synthetic_machines.hgx(), "finding"),
        ("/etc/topo.xml", OWN, "ok"),
    ],
)
def test_a_topology_file_must_be_of_this_machine(path: str | None, file: str | None, outcome: str) -> None:
    """Empty, not given, unreadable, of another machine, right."""
    job = JOB if path is None else JOB | {"NCCL_TOPO_FILE": path}
    given = read_topology(file.encode(), "topo.xml") if file is not None and file.startswith("<") else file
    found = asked(healthy(), Wishes(environment=environment(job), topology_file=given))
    assert [one.outcome for one in found if one.rule == "E06"] == [outcome]


def _change(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(config: dict[str, Any]) -> None:
        *above, last = path
        for step in above:
            config = config[step]
        if to is None:
            del config[last]
        else:
            config[last] = to

    return change


SWITCH_FAULTS = (
    ("F01", _change("PORT_QOS_MAP", "Ethernet0,Ethernet8", "pfc_enable", to="4")),
    ("F02", _change("DSCP_TO_TC_MAP", "AZURE", "26", to="1")),
    ("F03", _change("TC_TO_PRIORITY_GROUP_MAP", "AZURE", "3", to="0")),
    ("F03", _change("TC_TO_QUEUE_MAP", "AZURE", "3", to="1")),
    ("F04", _change("BUFFER_PG", "Ethernet0|3-4", to=None)),
    ("F04", _change("BUFFER_PROFILE", "pg_lossless_400000_5m_profile", "xoff", to="0")),
    ("F05", _change("WRED_PROFILE", "LOSSLESS", "ecn", to="ecn_none")),
    ("F05", _change("WRED_PROFILE", "LOSSLESS", "green_max_threshold", to="1000")),
    ("F06", _change("PFC_WD", "Ethernet0", to=None)),
    ("F06", _change("PFC_WD", "Ethernet0", "action", to="alert")),
    ("F08", _change("PORT", "Ethernet0", "mtu", to="1500")),
    ("F11", _change("SCHEDULER", "scheduler.1", "type", to="DWRR")),
    ("F11", _change("DSCP_TO_TC_MAP", "AZURE", "48", to="3")),
)


@pytest.mark.parametrize(("rule", "change"), SWITCH_FAULTS)
def test_one_wrong_line_of_the_switch_is_found_by_its_rule(rule: str, change: Callable[[dict[str, Any]], None]) -> None:
    """The intact configuration is silent; each fault is one rule's, on all eight NICs."""
    intact = asked(healthy(), Wishes(environment=environment(JOB), switches=_switches(CONFIG_DB)), SWITCH)
    assert {one.outcome for one in intact} == {Outcome.OK}
    config = json.loads(json.dumps(CONFIG_DB))
    change(config)
    found = asked(healthy(), Wishes(environment=environment(JOB), switches=_switches(config)), SWITCH)
    assert {one.rule for one in found if one.outcome is Outcome.FINDING} == {rule}


def _switches(config: dict[str, Any]) -> dict[str, Any]:
    return {"*": sonic.parse(json.dumps(config))["Ethernet0"]}


CASES = list(cases(scene(fellows=1)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_rule_speaks_of_its_scene_and_not_of_the_one_beside_it(case: Case) -> None:
    """What no single changed field of one node shows."""
    loud, quiet = ({rule for rule, _, _ in findings(answers(one))} for one in (case.loud, case.quiet))
    assert case.rule in loud
    assert case.rule not in quiet


def test_every_rule_is_made_to_speak() -> None:
    """By a mutant (`test_mutants`), a case, or a wrong line of a switch: a check that cannot fail is none."""
    assert MUTATED | {case.rule for case in CASES} | {rule for rule, _ in SWITCH_FAULTS} == set(rules())
