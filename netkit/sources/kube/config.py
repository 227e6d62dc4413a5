"""How to reach an API server: the cluster a pod runs in, or a kubeconfig with its contexts and credential plug-ins.

The format is https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/. The Kubernetes
client reads it; what it lacks stands here: a time limit on credential plug-ins, whose failure it only logs, and errors
of one line. The kubeconfig is never written.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from netkit.errors import InputError, SourceError
from netkit.model.kube_object import rows_of, text_of
from netkit.model.text import visible

PLUGIN_LIMIT_S = 30.0
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_ACCEPTED = "a kubeconfig (--kubeconfig FILE, KUBECONFIG or ~/.kube/config), a pod's service account, or --bundle FILE"
_INSTALL = "pip install 'netkit[kubernetes]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A way into one cluster."""

    client: Any
    """An ApiClient of the Kubernetes client; nobody shares it: one for each thread and each exec."""
    server: str
    """The URL without user and password."""
    namespace: str
    warnings: tuple[str, ...]

    def credentials(self) -> dict[str, str]:
        """Return the headers that say who asks, by the client's own word."""
        settings = self.client.configuration.auth_settings()
        return {"user-agent": "netkit"} | {row["key"]: row["value"] for row in settings.values() if row.get("value")}


Open = Callable[[], Access]


def open_access(kubeconfig: Path | None, context: str | None, plugin_limit_s: float = PLUGIN_LIMIT_S) -> Access:
    """Return a fresh way in; reads files and runs plug-ins anew, so rotated credentials are seen."""
    try:
        from kubernetes import client
    except ImportError as fault:
        raise InputError("a cluster without the Kubernetes client", f"{_INSTALL}, or --bundle FILE") from fault
    configuration = client.Configuration()
    paths = _paths(kubeconfig)
    if not paths and context is None and _in_cluster():
        namespace = _load_service_account(configuration)
        warnings: tuple[str, ...] = ()
    else:
        namespace = _load_kubeconfig(paths, context, configuration, plugin_limit_s)
        warnings = tuple(filter(None, map(_exposed, paths)))
    configuration.debug = False
    server = without_userinfo(str(configuration.host))
    return Access(client=client.ApiClient(configuration), server=server, namespace=namespace, warnings=warnings)


def without_userinfo(url: str) -> str:
    """Return a URL as it may be shown: user and password replaced."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return visible(url)
    return visible(urlunsplit(parts._replace(netloc="redacted@" + parts.netloc.rpartition("@")[2])))


def _paths(given: Path | None) -> tuple[Path, ...]:
    if given is not None:
        return (given,)
    named = [Path(part).expanduser() for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return tuple(path for path in named or [Path("~/.kube/config").expanduser()] if _there(path))


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _in_cluster() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ and _there(_SERVICE_ACCOUNT / "token")


def _load_service_account(configuration: Any) -> str:
    from kubernetes import config

    try:
        config.load_incluster_config(client_configuration=configuration)
        return visible((_SERVICE_ACCOUNT / "namespace").read_text().strip()) or "default"
    except (config.ConfigException, OSError) as fault:
        raise SourceError("the service account of this pod", _one_line(fault)) from fault


def _exposed(path: Path) -> str:
    mode = path.stat().st_mode
    if not mode & (stat.S_IRGRP | stat.S_IROTH):
        return ""
    others = "everybody" if mode & stat.S_IROTH else "its group"
    return f"{visible(str(path))} can be read by {others} on this machine and may hold credentials: chmod 600 it"


def _load_kubeconfig(paths: tuple[Path, ...], context: str | None, configuration: Any, limit_s: float) -> str:
    if not paths:
        raise InputError("no cluster", _ACCEPTED)
    name = os.pathsep.join(visible(str(path)) for path in paths)
    merged = _merged(paths, name)
    wanted = _context(merged, context, name)
    try:
        loader = _loader_class(limit_s)(config_dict=merged, active_context=wanted)
        loader.load_and_set(configuration)
    except _kubeconfig_faults() as fault:
        raise InputError(f"kubeconfig {name}: {_one_line(fault)}", "a kubeconfig that is complete") from fault
    configuration.proxy = loader.proxy_url() or configuration.proxy
    namespace = loader.current_context["context"].get("namespace")
    return visible(namespace) if isinstance(namespace, str) and namespace else "default"


def _kubeconfig_faults() -> tuple[type[Exception], ...]:
    from kubernetes.config import ConfigException

    return (ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError)


def _merged(paths: tuple[Path, ...], name: str) -> Any:
    import yaml
    from kubernetes.config.kube_config import KubeConfigMerger

    try:
        for path in paths:
            with path.open("rb"):
                pass
        merged = KubeConfigMerger(os.pathsep.join(map(str, paths))).config
    except OSError as fault:
        raise InputError(f"kubeconfig {name}: {fault.strerror}", "a file that can be read") from fault
    except (yaml.YAMLError, *_kubeconfig_faults()) as fault:
        raise InputError(f"kubeconfig {name}: {_one_line(fault)}", "a kubeconfig in YAML") from fault
    if merged is None:
        raise InputError(f"kubeconfig {name} is empty", _ACCEPTED)
    return merged


def _context(merged: Any, asked: str | None, name: str) -> str:
    """Return the context to use, by name, so that a missing one is named with the nearest."""
    raw = merged.value if isinstance(merged.value, dict) else {}
    known = [visible(text_of(row.get("name"))) for row in rows_of(_plain(_plain(raw.get("contexts"))))]
    wanted = asked or _plain(raw.get("current-context"))
    if not isinstance(wanted, str) or not wanted:
        raise InputError(f"kubeconfig {name} without a current context", _listed(known))
    if wanted not in known:
        near = get_close_matches(wanted, known, n=1)
        raise InputError(f"context {visible(wanted)!r} of {name}", _listed(known), near[0] if near else None)
    return wanted


def _plain(node: Any) -> Any:
    """Return what a node of the client's merged kubeconfig holds."""
    return [_plain(one) for one in node] if isinstance(node, list) else getattr(node, "value", node)


def _listed(known: list[str]) -> str:
    return f"one of its contexts: {', '.join(known[:20])}" if known else "a kubeconfig with contexts"


def _loader_class(limit_s: float) -> Any:
    from kubernetes.config.dateutil import parse_rfc3339
    from kubernetes.config.kube_config import FileOrData, KubeConfigLoader

    class Loader(KubeConfigLoader):  # type: ignore[misc]  # the client is untyped here
        """The client's loader, whose credential plug-ins could hang for ever and fail in a log line."""

        def _load_from_exec_plugin(self) -> bool:
            if "exec" not in self._user:
                return False
            status = plugin_status(self._user["exec"].value, limit_s)
            if "token" in status:
                self.token = f"Bearer {status['token']}"
            else:
                self.cert_file = self._file(status, "clientCertificateData")
                self.key_file = self._file(status, "clientKeyData")
            if "expirationTimestamp" in status:
                self.expiry = parse_rfc3339(status["expirationTimestamp"])
            return True

        def proxy_url(self) -> str:
            """Return the cluster's own proxy, which clients before 37 pass over in silence."""
            return str(self._cluster["proxy-url"]) if "proxy-url" in self._cluster else ""

        def _file(self, status: dict[str, Any], key: str) -> str:
            return str(FileOrData(status, None, data_key_name=key, base64_file_content=False).as_file())

    return Loader


def plugin_status(row: Any, limit_s: float) -> dict[str, Any]:
    """Run a credential plug-in and return the status of its ExecCredential (client.authentication.k8s.io)."""
    row = row if isinstance(row, dict) else {}
    command = [row.get("command"), *(row.get("args") or [])]
    what = f"credential plug-in {visible(str(row.get('command')), 200)}"
    if not all(isinstance(part, str) for part in command):
        raise InputError(what, "a kubeconfig whose exec has a command and args of text")
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=limit_s, env=_plugin_env(row), stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as fault:
        raise SourceError(what, f"no answer in {limit_s:g} s{_said(fault.stderr)}") from fault
    except OSError as fault:
        raise SourceError(what, "cannot be started", fault.errno) from fault
    if done.returncode:
        raise SourceError(what, f"ended with status {done.returncode}{_said(done.stderr)}")
    return _status(done.stdout, what, done.stderr)


def _plugin_env(row: dict[str, Any]) -> dict[str, str]:
    asked = {"apiVersion": str(row.get("apiVersion")), "kind": "ExecCredential", "spec": {"interactive": False}}
    rows = row.get("env") or []
    named = {str(one["name"]): str(one.get("value")) for one in rows if isinstance(one, dict) and "name" in one}
    return os.environ | named | {"KUBERNETES_EXEC_INFO": json.dumps(asked)}


def _status(printed: bytes, what: str, said: bytes) -> dict[str, Any]:
    try:
        status = json.loads(printed)["status"]
    except (ValueError, KeyError, TypeError, RecursionError):
        status = None
    if not isinstance(status, dict) or not (
        "token" in status or {"clientCertificateData", "clientKeyData"} <= set(status)
    ):
        # What it printed is not shown: half a credential is one too many.
        raise SourceError(what, f"printed no ExecCredential with a token or a certificate{_said(said)}")
    if not all(isinstance(value, str) for value in status.values()) or not str(status.get("token", "")).isprintable():
        raise SourceError(what, "printed a credential that is no line of text")
    return status


def _said(stderr: bytes | None) -> str:
    shown = visible(" ".join((stderr or b"").decode(errors="replace").split()), 300)
    return f"; it said: {shown}" if shown else ""


def _one_line(fault: Exception) -> str:
    text = " ".join(str(fault).split()) or type(fault).__name__
    return visible(text, 300)
