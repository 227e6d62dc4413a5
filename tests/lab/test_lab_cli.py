"""`netkit lab` as a person types it, on emulated labs, which every machine has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from netkit.cli.lab import app
from netkit.errors import ExitStatus, InputError, NetkitError


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "netkit"


def lab(*words: str) -> str:
    """Run a command that must succeed, and return its standard output."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.exception
    return result.stdout


def refused(*words: str) -> NetkitError:
    """Run a command that must be refused, and return the refusal."""
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, NetkitError), (result.output, result.exception)
    assert result.stdout == ""
    return result.exception


def lab_json(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lab(*words, "--output", "json"))
    return found


@pytest.fixture
def emulated() -> None:
    lab("up", "--nodes", "8", "--rails", "2", "--rate", "200mbit", "--emulate")


def test_up_says_shape_rates_and_transport() -> None:
    """One line a lab, and `emulated` is never left out."""
    said = lab("up", "--nodes", "8", "--rails", "2", "--rate", "200mbit", "--emulate", "--output", "plain")
    assert said == (
        "lab lab: 8 nodes x 2 rails, 200 Mbit/s a port, 2 leaves a rail, 800 Mbit/s an uplink (emulated)\n"
        "  no fault active\n"
    )


def test_up_in_json_holds_what_a_probe_needs() -> None:
    """Schema, transport, rates in bytes per second, addresses and leaves by node."""
    found = lab_json("up", "--nodes", "4", "--rails", "2", "--rate", "1gbit", "--uplink-rate", "500mbit", "--emulate")
    assert (found["schema"], found["transport"], found["alive"]) == ("netkit.lab/1", "emulated", True)
    assert (found["rate_bytes_per_second"], found["uplink_rate_bytes_per_second"]) == (125e6, 62.5e6)
    assert found["addresses"]["n3"] == ["127.1.0.4", "127.2.0.4"]
    assert found["leaf_of"] == {"n0": "l0", "n1": "l0", "n2": "l1", "n3": "l1"}


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--node", "n3", "--rail", "1", "--slowdown", "0.2"), "node n3 rail 1: slowdown 20%"),
        (("--node", "n3", "--slowdown", "5%", "--direction", "rx"), "node n3 every rail: slowdown 5.0% (rx)"),
        (("--node", "n3", "--rail", "1", "--down"), "node n3 rail 1: down"),
        (("--leaf", "r1l0", "--slowdown", "0.2"), "leaf r1l0: slowdown 20%"),
        (("--uplink", "r1l1", "--slowdown", "0.2"), "uplink r1l1: slowdown 20%"),
        (("--pair", "n1:n5", "--rail", "0", "--slowdown", "0.2"), "pair n1:n5 rail 0: slowdown 20%"),
    ],
)
def test_a_fault_is_listed_and_cleared_by_its_part(words: tuple[str, ...], shown: str) -> None:
    """Status shows the fault in the words it was set with; the same part with --clear takes it off."""
    assert f"  fault: {shown}\n" in lab("fault", *words)
    assert f"  fault: {shown}\n" in lab("status")
    part = words[: words.index("--rail") + 2] if "--rail" in words else words[:2]
    assert "no fault active" in lab("fault", *part, "--clear")
    assert lab_json("status", "--name", "lab")["faults"] == []


@pytest.mark.usefixtures("emulated")
def test_clear_alone_takes_every_fault_off() -> None:
    """And says so when nothing was there."""
    lab("fault", "--node", "n1", "--slowdown", "0.2")
    lab("fault", "--leaf", "r0l0", "--slowdown", "0.2")
    assert len(lab_json("status", "--name", "lab")["faults"]) == 2
    for _ in range(2):
        assert "no fault active" in lab("fault", "--clear")


@pytest.mark.fault("I14")
@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fault", "--node", "n33", "--slowdown", "0.2"), "node 'n33': accepted is n0 to n7 (did you mean 'n3'?)"),
        (("fault", "--node", "n3", "--rail", "2", "--slowdown", "0.2"), "--rail 2: accepted is 0 to 1"),
        (("fault", "--leaf", "r0", "--slowdown", "0.2"), "leaf 'r0': accepted is r0l0 to r1l1"),
        (("fault", "--node", "n3", "--slowdown", "1.2"), "fraction '1.2': accepted is a number above 0 and below 1"),
        (("fault", "--node", "n3", "--slowdown", "-1"), "fraction '-1': accepted is"),
        (("fault", "--node", "n3", "--slowdown", "1e400"), "fraction '1e400': accepted is"),
        (("fault", "--node", "n3", "--delay", "1x"), "duration '1x': accepted is"),
        (("fault", "--node", "n3", "--loss", "1%"), "--loss or --delay in an emulated lab: accepted is"),
        (("fault", "--node", "n3"), "a fault without an effect: accepted is one of --slowdown"),
        (("fault", "--slowdown", "0.2"), "a fault without a part: accepted is one of --node"),
        (("fault", "--node", "n1", "--leaf", "r0l0", "--down"), "--node with --leaf: accepted is one of"),
        (("fault", "--leaf", "r0l0", "--rail", "1", "--down"), "--rail 1: accepted is --rail with --node"),
        (("fault", "--clear", "--down"), "--clear with a new fault: accepted is"),
        (("fault", "--clear", "--node", "n9"), "node 'n9': accepted is n0 to n7"),
        (("fault", "--pair", "n1", "--slowdown", "0.2"), "--pair 'n1': accepted is two nodes as A:B"),
        (("fault", "--name", "la", "--clear"), "lab 'la': accepted is a lab that is up, at present lab (did you mean"),
        (("exec", "n9", "--", "true"), "node 'n9': accepted is n0 to n7"),
        (("up", "--emulate"), "lab 'lab', which is already up: accepted is another --name"),
        (("up", "--name", "b", "--rate", "4 GiB"), "rate '4 GiB': accepted is"),
        (("up", "--name", "b", "--nodes", "1"), "--nodes 1: accepted is 2 to 256"),
        (("up", "--name", "../b"), "lab name '../b': accepted is"),
        (("up", "--name", "b", "--emulate", "--while", "1"), "--while with --emulate: accepted is"),
        (("up", "--name", "b", "--while", "0"), "--while 0: accepted is the PID of a running process"),
        (("status", "--output", "html"), "--output html: accepted is table, plain, json or jsonl"),
    ],
)
def test_bad_input_ends_in_one_line_with_what_is_accepted(words: tuple[str, ...], said: str) -> None:
    """Status 2 and nothing on standard output."""
    fault = refused(*words)
    assert isinstance(fault, InputError)
    assert fault.exit_status is ExitStatus.BAD_INPUT
    assert str(fault).startswith(said)
    assert "\n" not in str(fault)


@pytest.mark.fault("J01")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1).filter(lambda text: text[0] not in "-n"))
def test_hostile_names_come_back_as_visible_text(name: str) -> None:
    """Escape sequences, line breaks and bidirectional marks in a name never reach the terminal as such."""
    lab("down", "--name", "lab")
    lab("up", "--emulate")
    for words in (("fault", "--node", name, "--down"), ("fault", "--leaf", name, "--down"), ("exec", name, "true")):
        assert str(refused(*words)).isprintable()


def test_down_twice_is_a_quiet_success() -> None:
    """The second says that nothing was up."""
    lab("up", "--emulate")
    results = [CliRunner().invoke(app, ["down"]) for _ in range(2)]
    assert [(result.exit_code, result.stdout, result.stderr) for result in results] == [
        (0, "", "lab 'lab' is down\n"),
        (0, "", "no lab 'lab' is up\n"),
    ]


def test_status_lists_every_lab_and_names_leftovers(state_directory: Path) -> None:
    """One that cannot be read does not hide the others."""
    lab("up", "--emulate", "--name", "good")
    (state_directory / "bad.lab.json").write_text("{")
    said = lab("status")
    assert "lab bad: ended without `netkit lab down`; clear it: netkit lab down --name bad\n" in said
    assert "lab good: 8 nodes x 2 rails" in said
    assert [row["alive"] for row in lab_json("status")["labs"]] == [False, True]
