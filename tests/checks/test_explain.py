"""`netkit explain` answers for every rule, every counter of the catalogue and every exit status."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from netkit.catalogue.counter import tables
from netkit.catalogue.exit_codes import EXIT_CODES
from netkit.checks import rules
from netkit.cli.app import app
from netkit.errors import ExitStatus, InputError


def said(*words: str) -> str:
    return CliRunner().invoke(app, ["explain", *words], catch_exceptions=False).stdout


def test_a_rule_is_explained_in_text_and_json() -> None:
    """By id and by name; docs/rules.md, made of the same objects, has all of them."""
    for rule in list(rules().values())[::8]:
        assert rule.question.split()[0] in said(rule.id)
        assert json.loads(said(rule.name, "--output", "json"))["id"] == rule.id


def test_every_counter_is_explained() -> None:
    """Whatever the driver, with width and series; a priority stands for any digit."""
    names = {row.name for table in tables() for row in (*table.port, *table.hardware, *table.statistics)}
    for name in sorted(names)[::90]:
        assert "series: netkit_" in said(name.replace("%d", "3"))
    assert "mlx5_core" in said("rx_prio3_pause_duration")


def test_every_exit_status_is_explained() -> None:
    """What it means and what to do."""
    assert set(EXIT_CODES) == set(ExitStatus)
    for status in ExitStatus:
        assert EXIT_CODES[status].meaning in said(str(int(status)))
    assert "could not measure" in said("exit-3")


def test_what_is_none_of_them_is_told_what_is_accepted() -> None:
    """With the nearest rule where one is near."""
    with pytest.raises(InputError, match="did you mean 'pcie-acs'"):
        CliRunner().invoke(app, ["explain", "pcie-ac"], catch_exceptions=False, standalone_mode=False)
