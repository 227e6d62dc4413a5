"""Every form of the advice: what programs read is exact, and nothing from outside ends up as a command."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from netkit.cli.app import app
from netkit.errors import InputError
from netkit.model.advice import AdviceReport, assignment
from netkit.report import advice_forms, advice_json, advice_shell, advice_table
from netkit.report.plain_text import plain_text
from tests.checks.scenes import Scene, of, scene, with_bridging, with_netdev
from tests.tuning.advised import advised

NODE = Path(__file__).parents[1] / "nodes" / "roce-two-rails.jsonl"
HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "a b\tc",
    "=mlx5_0",
    "-e x",
    "#",
)


def broken(**job: str) -> AdviceReport:
    node = with_netdev(scene().now, "rail0", mtu_bytes=1500)
    off = replace(of(node.ethernet_links)[0].bridging.flow_control, enabled=(False,) * 8)
    node = with_bridging(node, "rail0", flow_control=off)
    parent: Scene = replace(scene(), now=node)
    return advised(replace(parent, job=parent.job | {"NCCL_IB_TC": "0", "NCCL_ALGO": "Ring"} | job))


def command(*words: str) -> str:
    return CliRunner().invoke(app, ["tune", "advise", "--snapshot", str(NODE), *words], catch_exceptions=False).stdout


def sourced(text: str, name: str, tmp_path: Path) -> str:
    """What a shell has in a variable after it read the text."""
    file = tmp_path / "advice.env"
    file.write_text(text)
    words = ["sh", "-euc", f'. "$1"; printf %s "${{{name}-unset}}"', "sh", str(file)]
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=tmp_path, timeout=30).stdout


def test_json_has_exactly_the_fields_that_were_promised() -> None:
    """netkit.tune/1."""
    document = advice_json.document(broken())
    assert document["schema"] == "netkit.tune/1"
    fields = ["id", "target", "setting", "now", "proposed", "reason", "evidence", "source", "effect", "risk"]
    fields += ["apply", "rollback", "conflicts"]
    assert all(list(row) == fields for row in document["advice"])
    assert {row["target"] for row in document["advice"]} == {"env", "host"}


def test_vendors_that_disagree_stand_side_by_side() -> None:
    """The class proposed is the one this machine's NICs keep lossless; all others are shown with their source."""
    row = next(one for one in advice_json.document(broken())["advice"] if one["setting"] == "NCCL_IB_TC")
    assert row["proposed"] == "106"
    assert {one["value"] for one in row["conflicts"]} == {"41", "52", "104"}
    queue_pairs = next(one for one in broken().unseen if one.id == "nccl-queue-pairs")
    assert {one.value for one in queue_pairs.published} == {"1", "4", "16"}


def test_the_environment_sets_and_unsets(tmp_path: Path) -> None:
    """Sourced by a shell."""
    text = advice_forms.env(broken())
    assert sourced(text, "NCCL_IB_TC", tmp_path) == "106"
    assert sourced("NCCL_ALGO=Ring\n" + text, "NCCL_ALGO", tmp_path) == "unset"


@pytest.mark.parametrize("value", HOSTILE)
def test_values_of_a_job_never_run(value: str, tmp_path: Path) -> None:
    """The way back of a hostile value gives the value, and no file appears."""
    report = broken(NCCL_ALGO=value)
    back = next(one for one in report.advice if one.setting == "NCCL_ALGO").rollback
    assert sourced(back, "NCCL_ALGO", tmp_path) == value
    sourced(advice_forms.env(report), "HOME", tmp_path)
    shown = subprocess.run(
        ["sh", "-s"],
        input=advice_shell.script(report),
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=30,
    )
    assert "pwned" not in shown.stdout
    assert not (tmp_path / "pwned").exists()


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_an_assignment_is_one_word_whatever_the_value(value: str) -> None:
    """Read back by the grammar of a POSIX shell."""
    assert shlex.split(assignment("NCCL_X", value)) == ["export", f"NCCL_X={value}"]


@pytest.mark.parametrize("name", ["-s", "..", "a/../b", "$(touch x)", "rail0;id", "a b"])
def test_interfaces_of_hostile_names_are_left_to_people(name: str) -> None:
    """No path and no command holds such a name; that it was left out is said."""
    node = scene().now
    netdevs = tuple(replace(one, name=name, mtu_bytes=1500) if one.name == "rail0" else one for one in of(node.netdevs))
    first, *rest = of(node.rdma_devices)
    renamed = replace(first, ports=tuple(replace(port, netdev=name) for port in first.ports))
    odd = replace(node, netdevs=netdevs, rdma_devices=(renamed, *rest))
    report = advised(replace(scene(), now=odd))
    assert not any(name in line for one in report.advice for line in (one.apply + one.rollback).splitlines())
    assert name in {one.subject for one in report.unseen}


def test_nccl_conf_and_config_map_hold_what_is_set() -> None:
    """What should not be set is a comment: neither form can unset."""
    report = broken()
    assert "NCCL_IB_TC=106\n" in advice_forms.nccl_conf(report)
    assert re.search(r"^# remove NCCL_ALGO", advice_forms.nccl_conf(report), re.MULTILINE)
    assert '  NCCL_IB_TC: "106"\n' in advice_forms.config_map(report, "x")


def test_a_pod_patch_sets_and_deletes_variables_of_one_container() -> None:
    """A strategic merge patch."""
    spec = json.loads(advice_forms.pod_patch(broken(), "worker"))["spec"]["template"]["spec"]
    rows = {row["name"]: row for row in spec["containers"][0]["env"]}
    assert spec["containers"][0]["name"] == "worker"
    assert rows["NCCL_IB_TC"]["value"] == "106"
    assert rows["NCCL_ALGO"]["$patch"] == "delete"


def test_the_difference_shows_both_sides() -> None:
    """Of variables, files and commands."""
    lines = advice_forms.difference(broken()).splitlines()
    for line in (
        "-NCCL_IB_TC=0",
        "+NCCL_IB_TC=106",
        "-NCCL_ALGO=Ring",
        "+/sys/class/net/rail0/mtu 9000",
        "+PFC of rail0: 3",
    ):
        assert line in lines


def test_the_script_changes_nothing_until_told_to(tmp_path: Path) -> None:
    """Without an argument it shows; another word is bad input; it is a script a POSIX shell accepts."""
    text = advice_shell.script(broken())
    assert "step_2" in text
    file = tmp_path / "tune.sh"
    file.write_text(text)
    subprocess.run(["sh", "-n", str(file)], check=True, timeout=30)
    wrong = subprocess.run(["sh", str(file), "aply"], check=False, capture_output=True, text=True, timeout=30)
    assert (wrong.returncode, "usage" in wrong.stderr) == (2, True)


def test_the_table_tells_reason_evidence_and_the_way_back() -> None:
    """For people."""
    text = plain_text(tuple(advice_table.blocks(broken())))
    for expected in ("ADVICE", "roce-mtu [host]", "Way back", "Others publish", "Could not see", "risk:"):
        assert expected in text


def test_every_form_of_the_command_answers() -> None:
    """From a recorded node; a node without a job has nothing to advise about it, and says so."""
    for form in ("table", "env", "nccl.conf", "configmap", "podpatch", "shell", "json", "diff"):
        assert command("--format", form).strip(), form
    assert json.loads(command("--output", "json"))["schema"] == "netkit.tune/1"


def test_a_script_for_two_nodes_is_bad_input() -> None:
    """A script runs on one host."""
    with pytest.raises(InputError, match="one node"):
        CliRunner().invoke(
            app,
            ["tune", "advise", "--snapshot", str(NODE), "--snapshot", str(NODE), "--format", "shell"],
            catch_exceptions=False,
            standalone_mode=False,
        )
