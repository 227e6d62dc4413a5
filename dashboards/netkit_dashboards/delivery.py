"""The forms dashboards are delivered in: JSON, a file provider, ConfigMaps for a sidecar, resources of an operator.

https://grafana.com/docs/grafana/latest/administration/provisioning/#dashboards,
https://github.com/kiwigrid/k8s-sidecar, https://grafana.github.io/grafana-operator/docs/dashboards/.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from netkit_dashboards.board import Board
from netkit_dashboards.fields import Json
from netkit_dashboards.finalise import dashboard
from netkit_dashboards.forms import BoardFormat
from netkit_dashboards.shelf import boards
from netkit_dashboards.yaml_text import dump, dump_all

MANAGED = {"app.kubernetes.io/name": "netkit", "app.kubernetes.io/managed-by": "netkit"}
_FOLDER = "netkit"


def files(form: BoardFormat) -> Mapping[str, str]:
    """Return the files of a form by name."""
    return _FORMS[form]()


def json_text(board: Board) -> str:
    """Return the dashboard's JSON as it is committed: two spaces, keys in reading order."""
    return json.dumps(dashboard(board), indent=2, ensure_ascii=False) + "\n"


def _json() -> Mapping[str, str]:
    return {f"{board.uid}.json": json_text(board) for board in boards()}


def _provisioning() -> Mapping[str, str]:
    provider: Json = {
        "name": "netkit",
        "orgId": 1,
        "folder": _FOLDER,
        "type": "file",
        "disableDeletion": False,
        "allowUiUpdates": False,
        "updateIntervalSeconds": 60,
        "options": {"path": "/var/lib/grafana/dashboards/netkit", "foldersFromFilesStructure": False},
    }
    return {"netkit-provider.yaml": dump({"apiVersion": 1, "providers": [provider]}), **_json()}


def _config_maps() -> Mapping[str, str]:
    return {"netkit-dashboards-configmap.yaml": dump_all([config_map(board) for board in boards()])}


def config_map(board: Board) -> Json:
    """Return the ConfigMap Grafana's sidecar picks up; one a dashboard, for a ConfigMap holds 1 MiB at most."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{board.uid}-dashboard",
            "labels": {**MANAGED, "grafana_dashboard": "1"},
            "annotations": {"k8s-sidecar-target-directory": _FOLDER},
        },
        "data": {f"{board.uid}.json": json_text(board)},
    }


def _grafana_dashboards() -> Mapping[str, str]:
    return {"netkit-grafanadashboards.yaml": dump_all([grafana_dashboard(board) for board in boards()])}


def grafana_dashboard(board: Board) -> Json:
    """Return the resource of the Grafana operator."""
    return {
        "apiVersion": "grafana.integreatly.org/v1beta1",
        "kind": "GrafanaDashboard",
        "metadata": {"name": board.uid, "labels": dict(MANAGED)},
        "spec": {
            "folder": _FOLDER,
            "resyncPeriod": "10m",
            "instanceSelector": {"matchLabels": {"dashboards": "grafana"}},
            "json": json_text(board),
        },
    }


_FORMS: Mapping[BoardFormat, Callable[[], Mapping[str, str]]] = MappingProxyType(
    {
        BoardFormat.JSON: _json,
        BoardFormat.CONFIGMAP: _config_maps,
        BoardFormat.GRAFANA_DASHBOARD: _grafana_dashboards,
        BoardFormat.PROVISIONING: _provisioning,
    }
)
