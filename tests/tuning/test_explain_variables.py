"""`netkit explain NCCL_IB_TC` answers for every variable the catalogue knows."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from netkit.catalogue.nccl_variables import ALIASES, OTHER_NAMES, nccl_variables
from netkit.catalogue.nccl_variables.traps import TRAPS
from netkit.catalogue.vendor_settings import PROFILES
from netkit.cli.app import app
from netkit.errors import InputError
from netkit.report.variable_text import blocks, describe


def said(*words: str) -> str:
    return CliRunner().invoke(app, ["explain", *words], catch_exceptions=False).stdout


def test_the_traffic_class_is_explained_with_everything_known() -> None:
    """Meaning, range, default, version, who publishes which value, and why cma_roce_tos does not help."""
    text = " ".join(said("nccl_ib_tc").split())
    for expected in ("ToS byte", "-1 to 255", "since: 2.1.15", "106: NVIDIA Cumulus", "41: OCI", "cma_roce_tos"):
        assert expected in text


def test_defaults_are_given_by_version() -> None:
    """The newest first."""
    assert "default: 20 since 2.23, before that 18 since 2.14, before that 14" in said("NCCL_IB_TIMEOUT")


def test_every_documented_variable_has_a_meaning() -> None:
    """And every variable there is has an explanation of some kind."""
    assert [one.name for one in nccl_variables().values() if one.documented and not one.meaning] == []
    for name in (*nccl_variables(), *ALIASES, *OTHER_NAMES):
        described = describe(name)
        assert described is not None
        assert tuple(blocks(described))


def test_traps_and_profiles_are_about_variables_that_exist() -> None:
    """No typing error in what warns of typing errors."""
    known = {*nccl_variables(), *OTHER_NAMES}
    assert set(TRAPS) <= known
    assert {name for profile in PROFILES for name in profile.settings} <= known


def test_json_holds_the_same() -> None:
    """One object, with the schema of every explanation."""
    found = json.loads(said("NCCL_IB_QPS_PER_CONNECTION", "--output", "json"))
    assert found["schema"] == "netkit.explain/1"
    assert {one["value"] for one in found["published"]} == {"1", "4", "16"}


def test_a_name_that_gave_way_names_its_successor() -> None:
    """NCCL_MIN_NRINGS is NCCL_MIN_CTAS today."""
    assert "instead: NCCL_MIN_CTAS" in said("NCCL_MIN_NRINGS")


def test_a_misspelt_variable_is_bad_input_with_the_nearest_name() -> None:
    """Rather than an explanation of something else."""
    with pytest.raises(InputError, match="did you mean 'NCCL_IB_GID_INDEX'"):
        CliRunner().invoke(app, ["explain", "NCCL_IB_GID_IDX"], catch_exceptions=False, standalone_mode=False)
