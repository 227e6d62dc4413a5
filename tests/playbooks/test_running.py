"""Running a playbook: which commands run, with which words, and what their answers come to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from netkit_playbooks.ranking import Verdict
from netkit_playbooks.running import Answer, Outcome, fix_of, run
from netkit_playbooks.shelf import playbook
from netkit_playbooks.targets import Target

FROM_PROMETHEUS = Target(node="n1", prometheus="http://prometheus:9090")


class Scripted:
    """Stands in for netkit's commands: answers signals with given values, and keeps what was asked."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, words: tuple[str, ...], timeout_seconds: float) -> Answer:
        assert timeout_seconds > 0
        self.asked.append(words)
        readings = {name: {"value": value, "where": {"device": "mlx5_0"}} for name, value in self.values.items()}
        asked = {name: one for name, one in readings.items() if name in words}
        return Answer(status=0, printed=json.dumps({"schema": "netkit.signals/1", "readings": asked}))


def test_a_run_names_the_cause_and_judges_each_step() -> None:
    """Readings of two steps together name the node's PCIe; the step about the node itself could not run."""
    netkit = Scripted(
        {"storm-errors": 2, "pause-received": 0, "pause-sent": 0.6, "pcie-stall": 0.8, "pause-sent-elsewhere": 0}
    )
    done = run(playbook("pfc-storm"), FROM_PROMETHEUS, netkit)
    assert done.ranking.cause is not None
    assert done.ranking.cause.id == "pcie-stall"
    assert [one.outcome for one in done.steps] == [Outcome.FAIL, Outcome.PASS, Outcome.NOT_RUN]
    assert "--snapshot" in done.steps[2].seen


def test_what_no_command_answers_is_unknown() -> None:
    """A step whose numbers are not there is neither passed nor failed, and nobody can tell the cause."""
    done = run(playbook("pfc-storm"), FROM_PROMETHEUS, Scripted({}))
    assert {one.outcome for one in done.steps} == {Outcome.UNKNOWN, Outcome.NOT_RUN}
    assert done.ranking.verdict is Verdict.CANNOT_TELL
    assert "pause-sent-elsewhere > 0.5" in done.ranking.missing


def test_an_alert_that_is_over_is_said_to_be() -> None:
    """Everything `verify` asks for holds."""
    quiet = {"storm-errors": 0, "storm-warnings": 0, "pause-received": 0, "pause-sent": 0, "pause-sent-elsewhere": 0}
    done = run(playbook("pfc-storm"), FROM_PROMETHEUS, Scripted(quiet))
    assert done.ranking.verdict is Verdict.NOT_NOW


@pytest.mark.parametrize(
    "hostile", ["n1; rm -rf /", "$(reboot)", "--prometheus=http://evil", "a b", "{netdev}", "n\n1"]
)
def test_a_value_from_outside_is_one_word(hostile: str) -> None:
    """Whatever a node is called, it stays the value of one option and fills no other placeholder."""
    netkit = Scripted({})
    run(playbook("pfc-storm"), Target(node=hostile, prometheus="http://p:9090"), netkit)
    assert netkit.asked
    assert all(f"--node={hostile}" in words for words in netkit.asked)
    assert all(words[:4] == ("playbook", "signals", "--prometheus", "http://p:9090") for words in netkit.asked)


def test_a_recording_answers_what_is_asked_of_the_machine(tmp_path: Path) -> None:
    """`{machine}` becomes the options of a recording."""
    netkit = Scripted({})
    place = tmp_path / "node.jsonl"
    done = run(playbook("pfc-storm"), Target(snapshot=place), netkit)
    assert done.steps[2].command[:4] == ("check", "--snapshot", str(place), "--only")


def test_steps_that_change_something_are_not_run() -> None:
    """With everything known, a change is printed and left to the person."""
    netkit = Scripted({})
    target = Target(node="n1", prometheus="http://p:9090", values={"netdev": "eth2"})
    done = run(playbook("rdma-port-down"), target, netkit)
    change = next(one for one in done.steps if one.step.id == "bring-up")
    assert change.outcome is Outcome.NOT_RUN
    assert change.command == ("playbook", "change", "link-up", "--netdev", "eth2")
    assert not any("change" in words for words in netkit.asked)


def test_the_named_cause_offers_its_change_where_everything_is_known() -> None:
    """A port its owner switched off: the step that switches it on, with the interface, or nothing without one."""
    off = {"port-state": 1, "link-up": 0, "link-enabled": 0}
    known = Target(node="n1", prometheus="http://p:9090", values={"netdev": "eth2"})
    done = run(playbook("rdma-port-down"), known, Scripted(off))
    assert fix_of(done, known) == ("playbook", "change", "link-up", "--netdev", "eth2")
    assert fix_of(done, FROM_PROMETHEUS) == ()
    pulled = run(playbook("rdma-port-down"), known, Scripted({"port-state": 1, "link-up": 0, "link-enabled": 1}))
    assert pulled.ranking.cause is not None
    assert fix_of(pulled, known) == ()
