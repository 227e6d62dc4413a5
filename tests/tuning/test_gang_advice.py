"""Advice about the pods of a gang, and what a machine's own vendor publishes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from netkit.catalogue.nccl_variables import nccl_variables
from netkit.catalogue.platforms import platform
from netkit.catalogue.vendor_settings import PROFILES
from netkit.cli.app import app
from netkit.gangs.rules import gang_rules
from netkit.report.advice_forms import pod_patch
from netkit.sources.kube.bundle import dump
from netkit.tuning.pods import RECOMMENDATIONS, advise_pods
from tests.checks.scenes import scene
from tests.gangs.synthetic_cluster import snapshot
from tests.gangs.test_gang_rules import answers, member
from tests.tuning.advised import advised
from tests.tuning.applied import apply


@pytest.mark.parametrize("one", RECOMMENDATIONS, ids=lambda one: one.id)
def test_every_recommendation_about_pods_is_complete(one: Any) -> None:
    """Reason, source, effect, risk, and a way back that differs from the way there; its rules exist."""
    assert all((one.reason, one.source, one.effect, one.risk))
    assert one.change.apply != one.change.rollback
    assert set(one.rules) <= set(gang_rules())


def test_a_gang_that_is_right_gets_no_advice() -> None:
    """Two members of one good template."""
    assert advise_pods("job", answers(member(0), member(1))).advice == ()


def test_missing_shared_memory_becomes_a_patch_that_mends_it() -> None:
    """Merged into the pods, the rule finds nothing any more; its undo deletes what it added."""
    without = {"shm_at": "/elsewhere"}
    report = advise_pods("job", answers(member(0, **without), member(1, **without)))
    (advice,) = report.advice
    assert (advice.id, advice.target.value) == ("pod-shared-memory", "pod")
    patch = json.loads(pod_patch(report, "main"))["spec"]["template"]["spec"]
    assert patch["containers"][0]["volumeMounts"] == [{"name": "shared-memory", "mountPath": "/dev/shm"}]
    bodies = [_patched(member(at, **without), patch) for at in range(2)]
    assert advise_pods("job", answers(*bodies)).advice == ()
    assert '"$patch": "delete"' in advice.rollback


def _patched(body: Any, patch: Any) -> Any:
    """A strategic merge of volumes by name, and of mounts into the container of the patch's name."""
    spec = body["spec"]
    spec["volumes"] = [*spec["volumes"], *patch["volumes"]]
    spec["containers"][0]["volumeMounts"] += patch["containers"][0]["volumeMounts"]
    return body


def test_a_member_that_may_not_lock_memory_and_other_settings_are_named() -> None:
    """Each with the member it was seen at."""
    odd = member(2, capabilities=[], env={"NCCL_IB_TC": "41"})
    report = advise_pods("job", answers(member(0), member(1), odd))
    assert {one.id for one in report.advice} == {"pod-memlock", "pod-settings"}
    assert all("job-2" in " ".join(one.evidence) for one in report.advice)


def test_the_command_advises_about_a_gang_from_a_bundle(tmp_path: Path) -> None:
    """No node is read: only the pods were asked about."""
    path = tmp_path / "bundle.jsonl"
    path.write_text("".join(dump(snapshot(member(0, shm_at="/x"), member(1, shm_at="/x")))))
    words = ["tune", "advise", "--gang", "job", "--bundle", str(path), "--format", "json"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 1
    assert [one["id"] for one in json.loads(done.stdout)["advice"]] == ["pod-shared-memory"]


def test_what_the_vendor_of_the_machine_publishes_is_proposed_with_its_page() -> None:
    """On a machine named as OCI's: what netkit does not judge better; never its fixed GID index or class."""
    oci = replace(scene(), wishes={"platform": platform("oci-h100")})
    rows = {one.setting: one for one in advised(oci).advice if one.id == "vendor-profile"}
    assert rows["NCCL_IB_TIMEOUT"].proposed == "22"
    assert "oracle-quickstart" in " ".join(rows["NCCL_IB_TIMEOUT"].evidence)
    assert not {"NCCL_IB_GID_INDEX", "NCCL_IB_TC"} & set(rows)
    followed = replace(oci, job=oci.job | {name: row.proposed for name, row in rows.items()})
    assert advised(followed).advice == ()


@pytest.mark.parametrize("name", sorted({name for one in PROFILES for name in one.platforms}))
@pytest.mark.parametrize("version", [(2, 27, 3), (2, 30, 0)])
def test_a_machine_that_follows_its_vendor_gets_no_advice(name: str, version: tuple[int, int, int]) -> None:
    """Nothing that was proposed is taken back by another recommendation; defaults are not proposed."""
    node = replace(scene(), wishes={"platform": platform(name)}, version=version)
    report = advised(node)
    assert advised(apply(node, report)).advice == ()
    rows = nccl_variables()
    assert not [one for one in report.advice if one.proposed == rows[one.setting].default(version)]


def test_another_vendors_machine_gets_none_of_it() -> None:
    """A node no profile is meant for."""
    assert not [one for one in advised(scene()).advice if one.id == "vendor-profile"]
