"""What is deployed: manifests that give nothing away, a unit systemd accepts, fresh files in exporters/deploy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from netkit.errors import InputError
from netkit_exporters.deployment import Deployment, Form, Monitor, render
from netkit_exporters.discovery import collectors
from netkit_exporters.options import address

FOLDER = Path(__file__).parents[2] / "exporters" / "deploy"
FILES = {
    "daemonset.yaml": (Form.KUBERNETES, Deployment(monitor=Monitor.NONE)),
    "daemonset-gpu.yaml": (Form.KUBERNETES, Deployment(gpu=True)),
    "service-monitor.yaml": (Form.KUBERNETES, Deployment(monitor=Monitor.SERVICE)),
    "netkit-exporter.service": (Form.SYSTEMD, Deployment()),
    "Containerfile": (Form.CONTAINER, Deployment()),
}
EVERYTHING = Deployment(
    gpu=True, pods=True, optics=True, platform="hgx-h100", results="/var/lib/netkit", namespace="obs"
)


def documents(wanted: Deployment) -> dict[str, Any]:
    """By kind."""
    return {one["kind"]: one for one in yaml.safe_load_all(render(Form.KUBERNETES, wanted))}


def pod(wanted: Deployment) -> dict[str, Any]:
    found = documents(wanted)["DaemonSet"]["spec"]["template"]["spec"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", FILES)
def test_files_for_reading_are_what_the_command_writes(name: str) -> None:
    """NETKIT_REWRITE_GOLDEN=1 writes them again."""
    path = FOLDER / name
    text = render(*FILES[name])
    if os.environ.get("NETKIT_REWRITE_GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text


def test_a_plain_daemon_set_gives_nothing_away() -> None:
    """Nobody, no capability, no token, nothing writable, no host process, one read-only mount."""
    spec = pod(Deployment())
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert (spec["hostNetwork"], spec["hostPID"]) == (True, False)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] != 0
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert [mount["name"] for mount in container["volumeMounts"]] == ["sys"]
    assert all(mount["readOnly"] is True for mount in container["volumeMounts"])
    assert container["resources"]["limits"].keys() == {"cpu", "memory"}


def test_each_privilege_comes_with_the_option_that_needs_it() -> None:
    """Pods need root and the host's processes, optics one capability, GPUs the runtime class; nothing needs a write."""
    assert pod(Deployment(gpu=True))["runtimeClassName"] == "nvidia"
    named = pod(Deployment(pods=True))
    assert (named["hostPID"], named["securityContext"]["runAsUser"]) == (True, 0)
    optics = pod(Deployment(optics=True))["containers"][0]["securityContext"]["capabilities"]
    assert optics == {"drop": ["ALL"], "add": ["NET_ADMIN"]}
    everything = pod(EVERYTHING)["containers"][0]
    assert all(mount["readOnly"] is True for mount in everything["volumeMounts"])


@pytest.mark.parametrize("wanted", [Deployment(), EVERYTHING], ids=["plain", "everything"])
def test_mounts_have_volumes_and_probes_have_ports(wanted: Deployment) -> None:
    """Names inside one manifest agree."""
    spec = pod(wanted)
    (container,) = spec["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
    ports = {port["name"] for port in container["ports"]}
    assert container["livenessProbe"]["httpGet"]["port"] in ports
    labels = documents(wanted)["DaemonSet"]["spec"]["template"]["metadata"]["labels"]
    assert documents(wanted)["DaemonSet"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert documents(wanted)["PodMonitor"]["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_arguments_are_options_the_exporter_has() -> None:
    """Collectors that exist, an address that parses."""
    said = pod(EVERYTHING)["containers"][0]["args"]
    listen, chosen, *_ = said
    assert address(listen.removeprefix("--listen=").replace("$(HOST_IP)", "10.0.0.1")).port == 9879
    names = chosen.removeprefix("--collectors=").split(",")
    assert set(names) <= {collector.id for collector in collectors()}
    assert {"rdma", "pods", "optics"} <= set(names)
    assert said[2:] == ["--platform=hgx-h100", "--nccl-results=/var/lib/netkit"]


def test_a_monitor_names_the_node_and_the_job() -> None:
    """Alerts join on `node` and ask for job `netkit`; a series that names its node itself keeps that name."""
    for monitor, kind, at in (
        (Monitor.POD, "PodMonitor", "podMetricsEndpoints"),
        (Monitor.SERVICE, "ServiceMonitor", "endpoints"),
    ):
        found = documents(Deployment(monitor=monitor, namespace="obs"))[kind]
        (endpoint,) = found["spec"][at]
        assert [rule["targetLabel"] for rule in endpoint["relabelings"]] == ["node"]
        assert endpoint["honorLabels"] is True
        assert found["spec"]["jobLabel"] == "app.kubernetes.io/part-of"
        assert found["metadata"]["namespace"] == "obs"


@pytest.mark.parametrize(
    "bad",
    [
        {"namespace": "Upper"},
        {"namespace": "a\n---\nkind: Secret"},
        {"image": 'x"\n  evil: true'},
        {"results": "relative"},
        {"results": "/a: b"},
        {"platform": "hgx-h1000"},
    ],
)
def test_bad_values_are_refused_in_one_line(bad: dict[str, str]) -> None:
    """Nothing that could break out of its place in a manifest."""
    with pytest.raises(InputError) as refused:
        Deployment(**bad)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_a_unit_is_what_systemd_accepts(tmp_path: Path) -> None:
    """Verified by systemd, and judged by it as little exposed."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here")
    unit = tmp_path / "netkit-exporter.service"
    unit.write_text(render(Form.SYSTEMD, Deployment()))
    checked = subprocess.run([analyze, "verify", "--man=no", str(unit)], check=False, capture_output=True, text=True)
    assert "Unknown" not in checked.stderr, checked.stderr
    judged = subprocess.run(
        [analyze, "security", "--offline=true", str(unit)], check=False, capture_output=True, text=True
    )
    level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", judged.stdout)
    assert level, judged.stdout + judged.stderr
    assert float(level[1]) <= 3.0


def test_the_container_runs_as_nobody() -> None:
    """By number, so that runAsNonRoot can be checked."""
    text = render(Form.CONTAINER, Deployment())
    assert re.search(r"^USER 65534:65534$", text, re.MULTILINE)
    assert '"netkit-exporter"' in text


def test_the_command_writes_a_manifest() -> None:
    """`netkit deploy exporter`, as it is mounted."""
    import typer

    from netkit_exporters.commands import deploy

    app = typer.Typer()
    app.command()(deploy)
    result = CliRunner().invoke(app, ["-n", "obs", "--gpu"])
    assert result.exit_code == 0, result.output
    assert next(iter(yaml.safe_load_all(result.output)))["metadata"]["namespace"] == "obs"
