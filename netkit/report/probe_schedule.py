"""A probe by the clock as manifests: a CronJob (batch/v1), the account it runs as, what that may do, and the budget.

The account gets bindings of its own, so that applying this takes nothing from anybody who is bound already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netkit.catalogue.kube_roles import (
    ATTACH,
    CONFIG_MAP,
    LOCKS,
    PROBER,
    VIEWER,
    Rule,
    attach_rules,
    lock_rules,
    prober_rules,
    viewer_rules,
)
from netkit.report.kube_manifests import Subject, SubjectKind, binding, documents, namespace, role

# A probe takes minutes; whatever happens, the next one is not kept waiting.
_DEADLINE_SECONDS = 3600
_LATE_SECONDS = 600
_KEPT_SECONDS = 7 * 24 * 3600
_USER = 65534
_LABELS = {"app.kubernetes.io/managed-by": "netkit"}
# The one folder that may be written to: the client puts certificates there.
_SCRATCH = "/tmp"  # noqa: S108 - inside the container, on a volume of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What runs when, as whom and where. `words` are those of `netkit`."""

    name: str
    namespace: str
    cron: str
    image: str
    words: tuple[str, ...]
    lock_namespace: str
    acts_in: str
    """The namespace where the probe creates its gang, or enters pods."""
    enters_pods: bool
    looks_in: str
    """The namespace it reads gangs of; empty for the whole cluster."""
    budget: Mapping[str, str] = field(default_factory=dict)


def render(schedule: Schedule) -> str:
    """Return everything as one file; nothing of it touches a cluster by itself."""
    account = Subject(kind=SubjectKind.SERVICE_ACCOUNT, name=schedule.name, namespace=schedule.namespace)
    return documents(
        namespace(schedule.lock_namespace),
        *([_json(_budget(schedule))] if schedule.budget else []),
        _json(_account(schedule)),
        *(
            one
            for name, rules, within in _roles(schedule)
            for one in (
                role(name, rules, within),
                binding(name, [account], within, f"{schedule.namespace}-{schedule.name}-{name}"),
            )
        ),
        _json(_cron_job(schedule)),
    )


def _roles(schedule: Schedule) -> list[tuple[str, tuple[Rule, ...], str]]:
    """Return name, rules and namespace of each role that is needed."""
    inside, outside = viewer_rules(namespaced=True), viewer_rules(namespaced=False)
    viewing = [(VIEWER, outside if schedule.looks_in else (*inside, *outside), "")]
    viewing += [(VIEWER, inside, schedule.looks_in)] if schedule.looks_in else []
    acting = (ATTACH, attach_rules()) if schedule.enters_pods else (PROBER, prober_rules())
    return [*viewing, (*acting, schedule.acts_in), (LOCKS, lock_rules(), schedule.lock_namespace)]


def _metadata(schedule: Schedule) -> dict[str, Any]:
    return {"name": schedule.name, "namespace": schedule.namespace, "labels": _LABELS}


def _account(schedule: Schedule) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(schedule)}


def _budget(schedule: Schedule) -> dict[str, Any]:
    named = {"name": CONFIG_MAP, "namespace": schedule.lock_namespace, "labels": _LABELS}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": dict(schedule.budget)}


def _cron_job(schedule: Schedule) -> dict[str, Any]:
    job = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": _DEADLINE_SECONDS,
        "ttlSecondsAfterFinished": _KEPT_SECONDS,
        "template": {"metadata": {"labels": _LABELS}, "spec": _pod(schedule)},
    }
    spec = {
        "schedule": schedule.cron,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": _LATE_SECONDS,
        "jobTemplate": {"spec": job},
    }
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": _metadata(schedule), "spec": spec}


def _pod(schedule: Schedule) -> dict[str, Any]:
    return {
        "serviceAccountName": schedule.name,
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "netkit",
                "image": schedule.image,
                "command": ["netkit"],
                "args": list(schedule.words),
                "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "scratch", "mountPath": _SCRATCH}],
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "64Mi"}}],
    }


def _json(manifest: dict[str, Any]) -> str:
    """Return a manifest as JSON, which is YAML too: text from outside cannot be anything but text."""
    return json.dumps(manifest, indent=2)
