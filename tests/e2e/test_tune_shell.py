"""The script of `netkit tune advise --format shell` on a real kernel: it shows, applies, and restores every byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netkit.model.advice import KernelFile
from netkit.model.counter import Setting
from netkit.report.advice_shell import script
from tests.checks.scenes import Scene, scene, with_netdev, with_port
from tests.tuning.advised import advised

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

NAMESPACE = f"netkit-tune-{os.getpid()}"
ARP = {"arp_ignore": 0, "arp_announce": 0, "rp_filter": 1}
BROKEN = {"mtu": 1500, "tx_queue_len": 1000}


def run(*words: str, inside: bool = True, **more: Any) -> str:
    prefix = ("ip", "netns", "exec", NAMESPACE) if inside else ()
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [*prefix, *words], check=False, capture_output=True, text=True, timeout=30, **more
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def broken() -> Iterator[Scene]:
    """A made-up node with a wrong MTU, queue and ARP settings, and a namespace whose rail0 really has them."""
    if os.geteuid() or not shutil.which("ip") or not shutil.which("tc"):
        pytest.skip("needs root, ip and tc")
    run("ip", "netns", "add", NAMESPACE, inside=False)
    try:
        run("ip", "link", "add", "rail0", "mtu", str(BROKEN["mtu"]), "type", "veth", "peer", "name", "leaf0")
        run("ip", "link", "set", "rail0", "txqueuelen", "1000")
        run("ip", "link", "set", "rail0", "up")
        run("tc", "qdisc", "replace", "dev", "rail0", "root", "pfifo_fast")
        for name, value in ARP.items():
            run("sh", "-c", f"echo {value} > /proc/sys/net/ipv4/conf/all/{name}")
        yield made_up()
    finally:
        run("ip", "netns", "delete", NAMESPACE, inside=False)


def made_up() -> Scene:
    node = with_netdev(scene().now, "rail0", mtu_bytes=BROKEN["mtu"], queue_length=BROKEN["tx_queue_len"])
    node = with_port(node, "mlx5_1", _in_the_network_of_rail0)
    settings = tuple(Setting(name=name, value=value) for name, value in ARP.items())
    for name in ("rail0", "rail1"):
        node = with_netdev(node, name, address_resolution=settings)
    sysctls = tuple(
        replace(one, value=ARP[one.name.rpartition(".")[2]]) if ".conf.all." in one.name else one
        for one in node.host.sysctls
    )
    return replace(scene(), now=replace(node, host=replace(node.host, sysctls=sysctls)))


def _in_the_network_of_rail0(port: Any) -> Any:
    gids = tuple(replace(gid, gid=gid.gid.replace("0a01:0001", "0a00:0002")) for gid in port.gid_table.gids)
    return replace(port, gid_table=replace(port.gid_table, gids=gids))


def state() -> str:
    """Everything the script may touch, as the kernel prints it."""
    arp = "".join(run("cat", f"/proc/sys/net/ipv4/conf/all/{name}") for name in ARP)
    return run("ip", "-d", "link", "show", "dev", "rail0") + run("tc", "qdisc", "show", "dev", "rail0") + arp


def test_the_script_shows_applies_and_restores_every_byte(broken: Scene, tmp_path: Path) -> None:
    """Shown: nothing changes. Applied, twice: every value is the proposed one. Rolled back: byte for byte as before."""
    report = advised(broken)
    changes = [change for one in report.advice for change in one.changes]
    assert {one.id for one in report.advice} == {"roce-mtu", "transmit-queue", "arp-flux"}
    assert len(changes) == 5
    file = tmp_path / "tune.sh"
    file.write_text(script(report))
    kept: dict[str, Any] = {"env": {**os.environ, "NETKIT_KEPT": str(tmp_path / "kept")}}

    before = state()
    shown = run("sh", str(file), **kept)
    assert state() == before
    assert "/sys/class/net/rail0/mtu: 1500 -> 9000" in shown
    assert not (tmp_path / "kept").exists()

    for _ in range(2):  # the second must not take the new values for the old ones
        run("sh", str(file), "apply", **kept)
    for change in changes:
        assert isinstance(change, KernelFile)
        assert run("cat", change.path).strip() == change.proposed
    assert state() != before

    run("sh", str(file), "rollback", **kept)
    assert state() == before
    run("sh", str(file), "rollback", **kept)
    assert state() == before


def test_what_is_restored_is_what_was_there_not_what_the_snapshot_said(broken: Scene, tmp_path: Path) -> None:
    """Somebody changed the MTU since the recording: rollback gives back theirs."""
    run("ip", "link", "set", "rail0", "mtu", "1400")
    before = state()
    file = tmp_path / "tune.sh"
    file.write_text(script(advised(broken)))
    kept: dict[str, Any] = {"env": {**os.environ, "NETKIT_KEPT": str(tmp_path / "kept")}}
    run("sh", str(file), "apply", **kept)
    assert run("cat", "/sys/class/net/rail0/mtu").strip() == "9000"
    run("sh", str(file), "rollback", **kept)
    assert state() == before
