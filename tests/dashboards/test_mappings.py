"""Alerts work on other exporters' names: mapped by recording rules, judged by promtool."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from netkit.catalogue.alerts import alerts
from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.mappings import Other, mapped
from netkit.catalogue.series import exported
from netkit_dashboards.forms import RuleFormat
from netkit_dashboards.rule_delivery import mapping_group, rule_files
from netkit_dashboards.rule_file import Rendering, alerting_rule, recording_rule, recordings_of
from netkit_dashboards.shelf import panel_ids

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
NODE = 'cluster="c1",node="n1",instance="n1:1"'
GPU = f'{NODE},gpu="0",UUID="GPU-1",pci_bus_id="0000:1a:00.0"'
CASES = [
    (
        Other.NODE_EXPORTER,
        "RdmaSymbolErrorRate",
        f'node_infiniband_symbol_error_total{{{NODE},device="mlx5_0",port="1",rail="0"}}',
        "0+600x60",
        {"device": "mlx5_0", "port": "1", "rail": "0", "component": "link", "severity": "warning"},
    ),
    (
        Other.RDMA_EXPORTER,
        "PfcPausedByFabricSevere",
        f'rdma_roce_pfc_pause_duration_total{{{NODE},device="mlx5_0",port="1",netdev="eth0",direction="rx",priority="3"}}',
        "0+28000000x60",
        {"device": "mlx5_0", "netdev": "eth0", "priority": "3", "component": "congestion", "severity": "critical"},
    ),
    (
        Other.DCGM_EXPORTER,
        "GpuThermalThrottle",
        f"DCGM_FI_DEV_THERMAL_VIOLATION{{{GPU}}}",
        "0+15000000x60",
        {"gpu": "0", "pci_bus_id": "0000:1a:00.0", "component": "gpu", "severity": "warning"},
    ),
    (
        Other.DCGM_EXPORTER,
        "NvlinkErrors",
        f"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{{{GPU}}}",
        "0+60x120",
        {"gpu": "0", "pci_bus_id": "0000:1a:00.0", "type": "crc_flit", "component": "gpu", "severity": "warning"},
    ),
]


@pytest.mark.parametrize(("other", "name", "series", "values", "labels"), CASES, ids=lambda one: str(one)[:40])
def test_an_alert_fires_on_anothers_series(
    tmp_path: Path, other: Other, name: str, series: str, values: str, labels: dict[str, str]
) -> None:
    """And is silent where netkit-exporter covers the node, whose own series count."""
    rendering = Rendering(profile=Profile.DCQCN_PFC, panel_ids=panel_ids())
    alert = next(one for one in alerts() if one.name == name)
    rules: list[Any] = [*map(recording_rule, recordings_of(rendering.profile))]
    rules.append({**alerting_rule(alert, rendering), "annotations": {}})
    file = {"groups": [{**mapping_group(other)}, {"name": "alerts", "rules": rules}]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(file, sort_keys=False))
    fires = {"exp_labels": {"cluster": "c1", "node": "n1", "fabric_profile": "dcqcn+pfc", **labels}}
    covered = f"netkit_exporter_build_info{{{NODE}}}"
    tests = [
        {
            "name": state,
            "interval": "30s",
            "input_series": [{"series": series, "values": values}, *more],
            "alert_rule_test": [{"eval_time": "25m", "alertname": name, "exp_alerts": wanted}],
        }
        for state, more, wanted in (
            ("uncovered", [], [fires]),
            ("covered", [{"series": covered, "values": "1x120"}], []),
        )
    ]
    test = {"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "tests": tests}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test, sort_keys=False))
    done = subprocess.run(
        ["promtool", "test", "rules", str(tmp_path / "test.yaml")], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("other", Other)
def test_what_is_mapped_is_a_row(other: Other) -> None:
    """Every recorded name is one the exporter has too."""
    assert {one.row.name for one in mapped(other)} <= exported().keys()


def test_promtool_takes_the_mappings(tmp_path: Path) -> None:
    """Clean for promtool's linter."""
    paths = []
    for name, text in rule_files(RuleFormat.MAPPINGS, Rendering(panel_ids=panel_ids())).items():
        paths.append(tmp_path / name)
        paths[-1].write_text(text)
    command = ["promtool", "check", "rules", "--lint=all", "--lint-fatal", *map(str, paths)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("amtool") is None, reason="amtool is not installed")
def test_alertmanager_takes_the_example(tmp_path: Path) -> None:
    """Routes, inhibitions and receivers are what Alertmanager expects, and name alerts that exist."""
    ((_, text),) = rule_files(RuleFormat.ALERTMANAGER, Rendering(panel_ids=panel_ids())).items()
    (tmp_path / "alertmanager.yaml").write_text(text)
    done = subprocess.run(
        ["amtool", "check-config", str(tmp_path / "alertmanager.yaml")], check=False, capture_output=True, text=True
    )
    names = {one.name for one in alerts()}
    matchers = [m for rule in yaml.safe_load(text)["inhibit_rules"] for m in rule["target_matchers"]]

    assert done.returncode == 0, done.stderr
    for matcher in matchers:
        assert set(matcher.split('"')[1].split("|")) <= names
