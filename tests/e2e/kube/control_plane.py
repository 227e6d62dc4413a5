"""A Kubernetes control plane of real parts on the loopback, and kwok in the place of nodes and kubelets.

Flags: https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ and https://kwok.sigs.k8s.io.
One self-signed certificate serves everybody, its key also signs service-account tokens; users are static tokens.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError

from tests.e2e.kube.api import Api, RefusedError
from tests.e2e.kube.go_tools import UnavailableError, module_folder, program
from tests.e2e.kube.processes import Processes, free_port

READY_SECONDS = 60
ADMIN = "admin"
# Only what a user may do is judged from the log, so the first of the stages of a request is enough.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["ResponseStarted", "ResponseComplete", "Panic"],
    "rules": [{"level": "Metadata"}],
}
# Pods come from jobs, go with their owners and namespaces, and are bound; gangs of Kubernetes' own are alpha in 1.36.
CONTROLLERS = "job-controller,namespace-controller,garbage-collector-controller,statefulset-controller"
GATES = "GenericWorkload=true,GangScheduling=true"
# kwok plays these parts of a kubelet: nodes are ready and stay so, pods run until deleted.
STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-delete.yaml",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""

    chain: Path
    key: Path

    @classmethod
    def make(cls, folder: Path) -> Certificate:
        made = cls(chain=folder / "tls.crt", key=folder / "tls.key")
        subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
        files = ["-keyout", str(made.key), "-out", str(made.chain)]
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, *files]
        subprocess.run(words, check=True, capture_output=True, timeout=60)
        return made


@dataclass(kw_only=True, slots=True)
class ControlPlane:
    """A running control plane; `folder` holds everything it writes."""

    folder: Path
    processes: Processes
    certificate: Certificate
    server: str
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def admin(self) -> Api:
        return self.user(ADMIN)

    def user(self, name: str) -> Api:
        return Api(server=self.server, certificate=self.certificate.chain, token=self.tokens[name])

    def kubeconfig(self, user: str) -> Path:
        """Write the file that client tools of this user read."""
        place = self.folder / f"{user}.kubeconfig"
        place.write_text(json.dumps(_kubeconfig(self.server, self.certificate.chain, user, self.tokens[user])))
        place.chmod(0o600)
        return place

    def requests_of(self, user: str) -> list[dict[str, Any]]:
        """Return what the server's audit log says this user asked for, oldest first."""
        lines = (self.folder / "audit.log").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["user"].get("username") == user]


@contextmanager
def api_server(folder: Path, users: tuple[str, ...] = ()) -> Iterator[ControlPlane]:
    """Run an API server alone: it knows an administrator and these users, who may do nothing yet."""
    _demand("etcd", "openssl", "setpriv")
    binary = program("kube-apiserver")
    processes = Processes(folder=folder)
    certificate = Certificate.make(folder)
    tokens = {name: secrets.token_hex(16) for name in (ADMIN, *users)}
    try:
        etcd = _start_etcd(processes)
        server = _start_apiserver(processes, binary, etcd, certificate, tokens)
        plane = ControlPlane(folder=folder, processes=processes, certificate=certificate, server=server, tokens=tokens)
        processes.wait_for("kube-apiserver", lambda: _is_ready(plane.admin), READY_SECONDS)
        yield plane
    finally:
        processes.stop_all()


def start_controllers(plane: ControlPlane) -> None:
    """Start what makes pods of jobs, binds them, and plays their nodes."""
    flags = {"kubeconfig": plane.kubeconfig(ADMIN), "leader-elect": "false", "secure-port": 0, "feature-gates": GATES}
    manager, scheduler, kwok = map(program, ("kube-controller-manager", "kube-scheduler", "kwok"))
    plane.processes.start("kube-controller-manager", words(manager, {**flags, "controllers": CONTROLLERS}))
    plane.processes.start("kube-scheduler", words(scheduler, flags))
    _start_kwok(plane, kwok)


def _demand(*programs: str) -> None:
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        raise UnavailableError(f"no {', '.join(missing)} here: .ci/run names the Debian packages")


def _start_etcd(processes: Processes) -> str:
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    processes.start(
        "etcd",
        [
            *("etcd", "--name", "tests", "--data-dir", processes.folder / "etcd", "--log-level", "warn"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"tests={peer}"),
        ],
    )
    return client


def _start_apiserver(
    processes: Processes, binary: Path, etcd: str, certificate: Certificate, tokens: dict[str, str]
) -> str:
    folder, port = processes.folder, free_port()
    (folder / "tokens.csv").write_text("".join(map(_token_line, tokens.items())))
    (folder / "audit-policy.json").write_text(json.dumps(AUDIT_POLICY))
    flags = {
        "etcd-servers": etcd,
        "bind-address": "127.0.0.1",
        "advertise-address": "192.0.2.1",  # documentation range: pods here never call home
        "endpoint-reconciler-type": "none",
        "secure-port": port,
        "cert-dir": folder,
        "tls-cert-file": certificate.chain,
        "tls-private-key-file": certificate.key,
        "service-account-issuer": "https://tests.invalid",
        "service-account-key-file": certificate.key,
        "service-account-signing-key-file": certificate.key,
        "service-cluster-ip-range": "10.96.0.0/16",
        "token-auth-file": folder / "tokens.csv",
        "anonymous-auth": "false",
        "authorization-mode": "RBAC",
        # Their controllers are not run: pods would wait for an account, and nodes for the end of a taint.
        "disable-admission-plugins": "ServiceAccount,TaintNodesByCondition",
        "audit-policy-file": folder / "audit-policy.json",
        "audit-log-path": folder / "audit.log",
        "audit-log-mode": "blocking-strict",  # a request is in the log before it is answered
        # etcd 3.4 has no progress notifications, without which a watch cannot begin with a list.
        "feature-gates": f"{GATES},WatchList=false",
        "runtime-config": "scheduling.k8s.io/v1alpha2=true",
    }
    processes.start("kube-apiserver", words(binary, flags))
    return f"https://127.0.0.1:{port}"


def _token_line(row: tuple[str, str]) -> str:
    name, token = row
    group = "system:masters" if name == ADMIN else "tests"
    return f'{token},{name},{name},"{group}"\n'


def _is_ready(api: Api) -> bool:
    try:
        return bool(api.get("/readyz")["text"] == "ok")
    except (RefusedError, URLError, ConnectionError):
        return False


def _start_kwok(plane: ControlPlane, binary: Path) -> None:
    stages = module_folder("kubernetes", "sigs.k8s.io/kwok") / "kustomize" / "stage"
    config = plane.folder / "stages.yaml"
    config.write_text("\n---\n".join((stages / name).read_text() for name in STAGES))
    port = free_port()
    flags = {
        "config": config,
        "kubeconfig": plane.kubeconfig(ADMIN),
        "manage-all-nodes": "true",
        "enable-crds": "Exec",  # what a command in a pod runs as: a process here
        "node-ip": "127.0.0.1",
        "node-port": port,
        "server-address": f"127.0.0.1:{port}",
        "tls-cert-file": plane.certificate.chain,
        "tls-private-key-file": plane.certificate.key,
    }
    plane.processes.start("kwok", words(binary, flags))


def words(binary: Path, flags: dict[str, Any]) -> list[str | Path]:
    """Return a command line in the form that every program here takes: --name=value."""
    return [binary, *(f"--{name}={value}" for name, value in flags.items())]


def _kubeconfig(server: str, certificate: Path, user: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": {"server": server, "certificate-authority": str(certificate)}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": user, "namespace": "default"}}],
        "current-context": "tests",
    }
