"""Advice about the switch port behind a NIC: one wrong line of its configuration, one setting named."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from netkit.cli.app import app
from netkit.model.advice import AdviceReport, Target
from netkit.roce.dialects import sonic
from tests.checks.scenes import scene
from tests.checks.test_blind_nodes import SWITCH_FAULTS
from tests.roce.test_switch_dialects import CONFIG_DB
from tests.tuning.advised import advised

NAMED = {
    "F01": "PFC of",
    "F02": "class of the DSCP of",
    "F03": "group and queue of the class of",
    "F04": "lossless buffer of",
    "F05": "ECN marking of",
    "F06": "PFC watchdog of",
    "F08": "MTU of",
    "F11": "queue of notifications of",
}


def about(config: dict[str, Any]) -> AdviceReport:
    switches = {"*": sonic.parse(json.dumps(config))["Ethernet0"]}
    return advised(replace(scene(), wishes={"switches": switches}))


def test_a_switch_that_fits_gets_no_advice() -> None:
    """The intact configuration."""
    assert about(CONFIG_DB).advice == ()


@pytest.mark.parametrize(("rule", "change"), SWITCH_FAULTS)
def test_one_wrong_line_is_named_once_for_all_nics(rule: str, change: Callable[[dict[str, Any]], None]) -> None:
    """With the command that prints the right declaration, and a way back."""
    config = json.loads(json.dumps(CONFIG_DB))
    change(config)
    (one,) = (advice for advice in about(config).advice if advice.target is Target.SWITCH)
    assert one.setting == f"{NAMED[rule]} Ethernet0"
    assert len(one.evidence) >= 8
    assert "config reload" in one.rollback


def test_the_command_it_names_exists_with_its_options() -> None:
    """Every option of the printed command is one of `netkit tune switch`."""
    config = json.loads(json.dumps(CONFIG_DB))
    SWITCH_FAULTS[0][1](config)
    words = shlex.split(about(config).advice[0].apply.partition("netkit ")[2])
    shown = CliRunner().invoke(app, [*words[:2], "--help"], catch_exceptions=False).stdout
    options = {word for word in words if word.startswith("--")}
    assert options
    assert not [option for option in options if option not in shown]
