"""`netkit probe hosts` through the system's ssh against real sshd, one in each node of a lab."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netkit.errors import ProbeError
from netkit.lab import lifecycle
from netkit.lab.faults import Fault, Place, Where
from netkit.lab.shape import checked_shape
from netkit.lab.state import LabState

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

NODES, RAILS, PORT = 8, 2, 2222


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A lab whose nodes run sshd, and the folder with keys, known hosts and configuration of the person's ssh."""

    lab: LabState
    home: Path

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"node-{number}" for number in range(NODES))

    def hostfile(self, text: str | None = None) -> Path:
        path = self.home / "hosts"
        path.write_text("".join(f"{host} slots=8\n" for host in self.hosts) if text is None else text)
        return path

    def probe(self, *options: str, config: str = "config") -> tuple[int, str, str]:
        """Run from inside the first node, as from a login node on the cluster's network."""
        words = [sys.executable, "-m", "netkit", "probe", "hosts", str(self.home / "hosts")]
        words += ["--ssh-config", str(self.home / config), "--python", sys.executable, "--seed", "4", *options]
        done = subprocess.run([*self.lab.enter("n0"), *words], capture_output=True, text=True, timeout=120, check=False)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    def agents_left(self) -> list[int]:
        """Processes that run the agent, on this machine, outside of any probe."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes()
                network = entry.with_name("ns").joinpath("net").stat().st_ino
            except OSError:
                continue
            if b"netkit-agent" in words and self.lab.keeper and network in self.lab.keeper.inodes:
                found.append(int(entry.parent.name))
        return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if os.geteuid() != 0 or sshd is None or shutil.which("ssh-keygen") is None:
        pytest.skip("sshd in namespaces needs root and openssh-server")
    name = f"e2e-ssh-{os.getpid()}"
    shape = checked_shape(nodes=NODES, rails=RAILS, leaves=2, rate=100e6 / 8, uplink_rate=None)
    try:
        lab = lifecycle.up(shape, name, owner=os.getpid())
    except ProbeError as refused:
        pytest.skip(f"no lab on this machine: {refused}")
    servers: list[subprocess.Popen[bytes]] = []
    try:
        home = tmp_path_factory.mktemp("ssh")
        Path("/run/sshd").mkdir(exist_ok=True)
        found = Cluster(lab=lab, home=home)
        write_client(found)
        for node in range(NODES):
            config = server_config(found, node)
            servers.append(subprocess.Popen([*lab.enter(f"n{node}"), sshd, "-D", "-e", "-f", str(config)]))
        wait_until_listening(found)
        yield found
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait(timeout=10)
        lifecycle.down(name)


def keygen(path: Path) -> str:
    """Make a key pair and return the public half."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)], check=True)
    return path.with_name(f"{path.name}.pub").read_text().strip()


def write_client(cluster: Cluster) -> None:
    """One key, one known host key each, and a configuration that maps names to addresses."""
    home = cluster.home
    (home / "authorized").write_text(keygen(home / "id") + "\n")
    known = {host: keygen(home / f"host-{number}") for number, host in enumerate(cluster.hosts)}
    (home / "known").write_text("".join(f"{host} {key}\n" for host, key in known.items()))
    (home / "known-but-one").write_text("".join(f"{host} {known[host]}\n" for host in cluster.hosts[:-1]))
    (home / "changed").write_text("".join(f"{host} {known['node-0']}\n" for host in cluster.hosts))
    for config, file in (("config", "known"), ("stranger", "known-but-one"), ("imposter", "changed")):
        write_config(cluster, home / config, home / file)


def write_config(cluster: Cluster, path: Path, known: Path) -> None:
    addresses = (cluster.lab.addresses[f"n{number}"][0] for number in range(NODES))
    hosts = "".join(
        f"Host {host}\n  HostName {address}\n  HostKeyAlias {host}\n"
        for host, address in zip(cluster.hosts, addresses, strict=True)
    )
    everywhere = [
        f"Port {PORT}",
        "User root",
        f"IdentityFile {cluster.home / 'id'}",
        "IdentitiesOnly yes",
        f"UserKnownHostsFile {known}",
        "GlobalKnownHostsFile /dev/null",
    ]
    path.write_text(hosts + "Host *\n" + "".join(f"  {line}\n" for line in everywhere))


def server_config(cluster: Cluster, node: int) -> Path:
    address = cluster.lab.addresses[f"n{node}"][0]
    path = cluster.home / f"sshd-{node}"
    lines = [
        f"ListenAddress {address}",
        f"Port {PORT}",
        f"HostKey {cluster.home / f'host-{node}'}",
        f"AuthorizedKeysFile {cluster.home / 'authorized'}",
        "PermitRootLogin prohibit-password",
        "StrictModes no",
        "UsePAM no",
        "PidFile none",
        "LogLevel ERROR",
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def wait_until_listening(cluster: Cluster) -> None:
    script = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 1)"
    deadline = time.monotonic() + 10
    for node in range(NODES):
        address = cluster.lab.addresses[f"n{node}"][0]
        words = [*cluster.lab.enter("n0"), sys.executable, "-c", script, address, str(PORT)]
        while subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            assert time.monotonic() < deadline, f"sshd of n{node} does not listen"
            time.sleep(0.1)


RAIL_OPTIONS = ("--subnet", "10.0.0.0/16,10.1.0.0/16")


def leaves(cluster: Cluster) -> Sequence[str]:
    half = NODES // 2
    return (
        *("--leaf", f"{','.join(cluster.hosts[:half])}:left"),
        *("--leaf", f"{','.join(cluster.hosts[half:])}:right"),
    )


def test_a_slow_rail_is_found_over_ssh(cluster: Cluster) -> None:
    """Hostfile, ssh configuration, two rails by subnet, leaves said: the host and rail are named; nothing stays."""
    cluster.hostfile()
    lifecycle.set_fault(cluster.lab.name, Fault(where=Where(place=Place.NODE, node="n5", rail=1), slowdown=0.25))
    try:
        status, out, err = cluster.probe(*RAIL_OPTIONS, *leaves(cluster), "--line-rate", "100mbit", "--output", "json")
    finally:
        lifecycle.clear_faults(cluster.lab.name, None)
    report: dict[str, Any] = json.loads(out)
    assert status == 1, (report["why"], err)
    assert [(found["class"], found["node"], found["rail"]) for found in report["findings"]] == [("rail", "node-5", 1)]
    assert report["transport"] == "ssh"
    assert cluster.agents_left() == []


def test_interfaces_name_the_rails_too(cluster: Cluster) -> None:
    """The lab's devices by name, in the order asked; a healthy cluster is healthy."""
    cluster.hostfile()
    status, out, err = cluster.probe("--interface", "rail1,rail0", "--seconds", "0.4", "--output", "json")
    report = json.loads(out)
    assert (status, report["verdict"]) == (0, "healthy"), (report["why"], err)
    assert report["fabric"]["rails"] == 2


def test_without_a_choice_the_address_ssh_reached_is_the_rail(cluster: Cluster) -> None:
    """One rail: the one that the connection came in on."""
    cluster.hostfile()
    status, out, err = cluster.probe("--seconds", "0.3", "--output", "json")
    report = json.loads(out)
    assert (status, report["fabric"]["rails"]) == (0, 1), (report["why"], err)


@pytest.mark.parametrize("config", ["stranger", "imposter"])
def test_a_host_key_that_is_not_the_known_one_is_refused(cluster: Cluster, config: str) -> None:
    """Nothing is measured on, and nothing sent to, a host that ssh cannot vouch for; the line says which and why."""
    cluster.hostfile()
    status, out, _ = cluster.probe(*RAIL_OPTIONS, "--output", "json", config=config)
    report = json.loads(out)
    assert (status, report["verdict"], report["readings"]) == (3, "inconclusive", [])
    assert "rank 7 (node-7) exited with status 255" in report["why"]
    assert "Host key verification failed" in report["why"]
    assert cluster.agents_left() == []


@pytest.mark.fault("H05")
def test_hosts_that_cannot_be_reached_are_all_listed(cluster: Cluster) -> None:
    """Two names that do not exist among good ones: both are in the verdict, and no agent is left on the good ones."""
    cluster.hostfile("node-0\nnode-1\nno-such-a.invalid\nnode-2\nno-such-b.invalid\n")
    status, out, _ = cluster.probe(*RAIL_OPTIONS, "--output", "json")
    report = json.loads(out)
    assert (status, report["verdict"]) == (3, "inconclusive")
    assert "2 of 5 ranks lost" in report["why"]
    assert "no-such-a.invalid" in report["why"]
    assert "no-such-b.invalid" in report["why"]
    assert cluster.agents_left() == []


def test_a_python_that_is_not_there_is_told(cluster: Cluster) -> None:
    """The last words of the remote shell reach the person."""
    cluster.hostfile("node-0\nnode-1\n")
    status, out, _ = cluster.probe(*RAIL_OPTIONS, "--python", "/no/such/python3", "--output", "json")
    report = json.loads(out)
    assert status == 3
    assert "/no/such/python3" in report["why"]


def test_a_rail_that_a_host_does_not_have_is_one_line(cluster: Cluster) -> None:
    """The error names the host and what it has instead."""
    cluster.hostfile()
    status, out, err = cluster.probe("--interface", "rail7")
    assert (status, out) == (3, "")
    assert "node-0 has no interface rail7 with an address (it has: lo, rail0, rail1)" in err
