"""Roles and their bindings as the YAML that `kubectl apply -f -` takes: rbac.authorization.k8s.io/v1.

Names that come from outside are written as JSON strings, which YAML reads as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from netkit.catalogue.kube_roles import Rule

API = "rbac.authorization.k8s.io"


class SubjectKind(StrEnum):
    """Who can be bound to a role."""

    USER = "User"
    GROUP = "Group"
    SERVICE_ACCOUNT = "ServiceAccount"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One user, group or service account; only the last lives in a namespace."""

    kind: SubjectKind
    name: str
    namespace: str = ""


def role(name: str, rules: Sequence[Rule], namespace: str = "") -> str:
    """Return a Role in a namespace, or a ClusterRole."""
    lines = [_head("Role" if namespace else "ClusterRole", name, namespace), "rules:"]
    return "\n".join([*lines, *(_rule(rule) for rule in rules)])


def namespace(name: str) -> str:
    """Return a namespace."""
    return f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {_text(name)}"


def binding(name: str, subjects: Sequence[Subject], namespace: str = "", called: str = "") -> str:
    """Return what gives a role of the same scope to these subjects; it is called as the role unless told otherwise."""
    kind = "Role" if namespace else "ClusterRole"
    lines = [_head(f"{kind}Binding", called or name, namespace), "subjects:", *(_subject(one) for one in subjects)]
    return "\n".join([*lines, f"roleRef: {{apiGroup: {API}, kind: {kind}, name: {_text(name)}}}"])


def documents(*manifests: str) -> str:
    """Return several manifests as one file."""
    return "\n---\n".join(manifests)


def _head(kind: str, name: str, namespace: str) -> str:
    within = f"\n  namespace: {_text(namespace)}" if namespace else ""
    return f"apiVersion: {API}/v1\nkind: {kind}\nmetadata:\n  name: {_text(name)}{within}"


def _rule(rule: Rule) -> str:
    lines = [f"  # {rule.purpose}", f"  - apiGroups: [{_text(rule.group)}]"]
    lines += [f"    resources: [{', '.join(rule.resources)}]"]
    lines += [f"    resourceNames: [{', '.join(rule.names)}]"] if rule.names else []
    return "\n".join([*lines, f"    verbs: [{', '.join(rule.verbs)}]"])


def _subject(subject: Subject) -> str:
    home = f"namespace: {_text(subject.namespace)}" if subject.namespace else f"apiGroup: {API}"
    return f"  - {{kind: {subject.kind}, name: {_text(subject.name)}, {home}}}"


def _text(value: str) -> str:
    return json.dumps(value)
